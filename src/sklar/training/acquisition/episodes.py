"""Many rows that are asked side by side, each at a place of its own: a row that has shown k features is replaced."""

from __future__ import annotations

import torch
from torch import Tensor

from sklar.training.engine.state import State
from sklar.training.honest.folds import Folds


class Episodes:
    """Rows of all folds of one problem with what each has shown; changed in place, as a captured graph needs.

    Most begin with nothing shown, the share `given` of them with a random set: a person may come with any measurements.
    """

    def __init__(self, folds: Folds, rows: int, k: int, given: float, generator: torch.Generator) -> None:
        self.folds, self.k, self.given, self.generator = folds, k, given, generator
        x, y = folds.batch(rows, folds.n_train, generator)
        self.x, self.y = x.clone(), y.clone()  # (1, F, b, D), (1, F, b)
        self.mask = self._started(1.0)  # at all places, so that each of them is learned from the first step on

    @property
    def state(self) -> State:
        """All that changes."""
        return {"x": self.x, "y": self.y, "mask": self.mask}

    def advance(self, chosen: Tensor) -> None:
        """Show the features `chosen` (F, b, 1); rows that show k make room for new ones."""
        self.mask.scatter_(-1, chosen.view(*self.mask.shape[:3], 1), 1.0)
        x, y = self.folds.batch(self.x.shape[2], self.folds.n_train, self.generator)
        done = self.mask.sum(-1) > self.k - 0.5
        self.x.copy_(torch.where(done.unsqueeze(-1), x, self.x))
        self.y.copy_(torch.where(done, y, self.y))
        self.mask.copy_(torch.where(done.unsqueeze(-1), self._started(self.given), self.mask))

    def _started(self, given: float) -> Tensor:
        """Masks to begin with: forced features and, for a share of the rows, others, fewer than k in all."""
        like, forced = self.folds.gates.like(self.x), self.folds.gates.forced
        chance = torch.rand(like.shape, generator=self.generator, device=like.device)
        if forced is not None:
            chance = chance.masked_fill(forced, 2.0)  # always among the largest
        drawn, size = torch.rand(2, *like.shape[:-1], 1, generator=self.generator, device=like.device)
        size = (size * self.k).long() * (drawn < given)
        largest, order = chance.topk(self.k, -1)
        shown = (torch.arange(self.k, device=like.device) < size) | (largest > 1.0)
        return torch.zeros_like(like).scatter(-1, order, shown.to(like.dtype))
