"""One gate a feature: which inputs of a network a gate opens.

A column of numbers is one input; an encoded column (categories, numbers with missing values) is several, and so is a
group of columns that are selected together. Networks read D inputs and have d <= D gates; `of_input` says which gate
each input belongs to. Where every input has a gate of its own it is None, and nothing is looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

DEAREST = 1e30  # cost of a gate; higher ones would not be finite in float32 when multiplied
OPEN = 1e8  # the score of a gate that is forced: no noise shuts it


@dataclass(frozen=True)
class Gates:
    """The gates of a table: how they open inputs, which are always open, and what they cost."""

    n: int
    of_input: Tensor | None = None  # (D,), the gate of each input, ascending; None: input i has gate i
    forced: Tensor | None = None  # bool (n,): always open
    cost: Tensor | None = None  # (n,): the penalty is lambda times this; None is 1 for all

    @classmethod
    def of(
        cls,
        n: int,
        of_input: Sequence[int] | None = None,
        forced: Sequence[int] = (),
        cost: Sequence[float] | None = None,
    ) -> Gates:
        """From plain numbers; what says nothing becomes None."""
        alone = of_input is None or list(of_input) == list(range(n))
        is_forced = torch.zeros(n, dtype=torch.bool)
        is_forced[list(forced)] = True
        return cls(
            n,
            None if alone else torch.tensor(of_input, dtype=torch.long),
            is_forced if len(forced) else None,
            None
            if cost is None or all(price == 1 for price in cost)
            else torch.tensor(cost, dtype=torch.float64).clamp_max(DEAREST).float(),
        )

    def to(self, device: torch.device) -> Gates:
        """The same on a device."""
        of_input, forced, cost = (
            None if value is None else value.to(device) for value in (self.of_input, self.forced, self.cost)
        )
        return Gates(self.n, of_input, forced, cost)

    @property
    def plain(self) -> bool:
        """Whether every gate is one input, none is forced, and all have one price."""
        return all(value is None for value in (self.of_input, self.forced, self.cost))

    @property
    def n_inputs(self) -> int:
        """D."""
        return self.n if self.of_input is None else len(self.of_input)

    def like(self, x: Tensor) -> Tensor:
        """An empty tensor with a gate where x (..., D) has an input: (..., d)."""
        return x if self.of_input is None else x.new_empty(*x.shape[:-1], self.n)

    def only(self, keep: Tensor) -> Gates:
        """The gates `keep` (w,) alone, numbered anew in that order."""
        of_input = None
        if self.of_input is not None:
            of_input = renumbered(self.of_input, keep)
            of_input = None if len(of_input) == len(keep) else of_input
        forced, cost = (None if value is None else value[keep] for value in (self.forced, self.cost))
        return Gates(len(keep), of_input, forced, cost)


def open_forced(scores: Tensor, forced: Tensor | None) -> Tensor:
    """The scores (..., d) with those of forced gates out of reach."""
    return scores if forced is None else scores.masked_fill(forced, OPEN)


def to_inputs(gates: Tensor, of_input: Tensor | None) -> Tensor:
    """What each input gets from its gate: (..., d) -> (..., D)."""
    if of_input is None:
        return gates
    if gates.device.type == "cpu":  # which selects from the last axis more slowly
        return gates.gather(-1, of_input.expand(*gates.shape[:-1], -1))
    return gates.index_select(-1, of_input)


def sum_by_gate(values: Tensor, of_input: Tensor | None, n: int) -> Tensor:
    """Values of inputs summed by gate: (..., D) -> (..., d)."""
    if of_input is None:
        return values
    return values.new_zeros(*values.shape[:-1], n).index_add(-1, of_input, values)


def group_size(of_input: Tensor, n: int) -> Tensor:
    """Inputs of each gate, as a number to multiply with: float (n,)."""
    return torch.zeros(n, device=of_input.device).index_add(
        0, of_input, torch.ones(len(of_input), device=of_input.device)
    )


def largest_by_gate(values: Tensor, of_input: Tensor | None, n: int) -> Tensor:
    """The largest value of each gate's inputs: (..., D) -> (..., d)."""
    if of_input is None:
        return values
    lowest = values.new_full((*values.shape[:-1], n), -torch.inf)
    return lowest.scatter_reduce(-1, of_input.expand_as(values), values, "amax")


def inputs_of(of_input: Tensor | None, keep: Tensor) -> Tensor:
    """The inputs of the gates `keep` (w,), gate by gate: (W,)."""
    if of_input is None:
        return keep
    return torch.cat([torch.nonzero(of_input == gate).squeeze(1) for gate in keep])


def renumbered(of_input: Tensor, keep: Tensor) -> Tensor:
    """The gate of each input of `inputs_of`, when the gates `keep` (w,) are numbered from 0: (W,)."""
    sizes = torch.bincount(of_input, minlength=int(keep.max()) + 1)[keep]
    return torch.repeat_interleave(torch.arange(len(keep), device=keep.device), sizes)
