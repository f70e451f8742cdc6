"""Processes that train one model together: each works on its rows of every batch, and gradients are summed over all.

All hold the same table and the same weights, and draw the same random numbers: what a process does to its rows of a
batch is what one process alone would have done to them. An all-reduce gives every process the same sums, bit for bit,
so that weights stay equal, and every process comes to the same decisions. Against a process alone, sums are of other
parts, and differ by their rounding.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

_current: ContextVar[Team] = ContextVar("team")


class Team:
    """The processes of a `torch.distributed` group, seen from one of them; without a group it is alone.

    Examples
    --------
    >>> Team().part(10), Team().sum(torch.ones(2))
    (slice(0, 10, None), tensor([1., 1.]))
    """

    def __init__(self, group: Any = None) -> None:
        self.group = group
        self.rank: int = 0 if group is None else group.rank()
        self.size: int = 1 if group is None else group.size()

    @property
    def is_alone(self) -> bool:
        """Whether there are no messages: a step that waits for some is not captured, nor done beside another."""
        return self.group is None

    @classmethod
    def current(cls) -> Team:
        """The team that a training belongs to: that of `as_current`, or a team of its own."""
        return _current.get(ALONE)

    @contextmanager
    def as_current(self) -> Iterator[None]:
        """Inside, trainings begun by this thread are this team's."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def part(self, n: int) -> slice:
        """Which of n rows are this process's."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def share(self, n: int) -> Share:
        """The same, with what is done to them."""
        return Share(self, n)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.group is not None:
            try:
                self.group.allreduce([values]).wait()
            except RuntimeError as error:
                raise ConnectionError(f"another process of this fit has ended; fit again ({error})") from error
        return values

    def agreed(self, number: int) -> int:
        """The number that the first process has."""
        return int(self.sum(torch.tensor([number if self.rank == 0 else 0])))

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Give all processes the sum of their gradients, in one message."""
        if self.group is None:
            return
        gradients = [weight.grad for weight in parameters if weight.grad is not None]
        total = self.sum(torch.cat([gradient.flatten() for gradient in gradients]))
        parts = total.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def require_same(self, values: Tensor, what: str) -> None:
        """Raise where processes were given different numbers."""
        if self.group is None:
            return
        seen = torch.zeros(self.size, dtype=torch.long, device=values.device)
        seen[self.rank] = zlib.crc32(values.detach().cpu().contiguous().numpy().data)
        if len(self.sum(seen).unique()) > 1:
            raise ValueError(f"the processes were given different {what}; give all the same table and random_state")


ALONE = Team()


@dataclass(frozen=True)
class Share:
    """The part of rows, that a team works on together, which is this process's."""

    team: Team
    total: int  # rows, of all processes

    @property
    def first(self) -> int:
        """The number of its first row."""
        return self.team.part(self.total).start

    @property
    def weight(self) -> float:
        """The share of the rows: a mean over own rows times this, summed over the team, is the mean over all."""
        part = self.team.part(self.total)
        return (part.stop - part.start) / self.total if self.team.size > 1 else 1.0

    def own(self, values: Tensor, axis: int) -> Tensor:
        """Of values of all rows, those of own rows."""
        if self.team.size == 1:
            return values
        part = self.team.part(self.total)
        return values.narrow(axis, part.start, part.stop - part.start)

    def drawn(self, draw: Callable[[Sequence[int]], Tensor], shape: Sequence[int], axis: int) -> Tensor:
        """Random numbers for own rows, which `axis` of the shape counts.

        Those of the other rows are drawn too, and left: the processes' generators stay in step.
        """
        if self.team.size == 1:
            return draw(shape)
        whole = list(shape)
        whole[axis] = self.total
        return self.own(draw(whole), axis)

    def rand(self, shape: Sequence[int], axis: int, generator: torch.Generator) -> Tensor:
        """Uniform ones."""
        return self.drawn(lambda size: torch.rand(size, generator=generator, device=generator.device), shape, axis)

    def together(self, values: Tensor, axis: int) -> Tensor:
        """The values of all rows, from those of own rows."""
        if self.team.size == 1:
            return values
        shape = list(values.shape)
        shape[axis] = self.total
        whole = values.new_zeros(shape)
        self.own(whole, axis).copy_(values)
        return self.team.sum(whole)

    def rolled(self, values: Tensor, axis: int) -> Tensor:
        """Each row the values of the row before; the first of all rows those of the last."""
        if self.team.size == 1:
            return values.roll(1, axis)
        lasts = Share(self.team, self.team.size).together(values.narrow(axis, values.shape[axis] - 1, 1), axis)
        before = lasts.narrow(axis, (self.team.rank - 1) % self.team.size, 1)
        return torch.cat([before, values.narrow(axis, 0, values.shape[axis] - 1)], axis)


WHOLE = Share(ALONE, 0)
