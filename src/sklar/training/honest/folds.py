"""Rows dealt to folds, for predictors that never saw the rows they judge.

Axes: P problems (independent data sets of one size, trained side by side; a user's fit has one), F folds, m rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property

import torch
from torch import Tensor

from sklar.model.gates import Gates, inputs_of, to_inputs
from sklar.training.engine.renewal import NewRows
from sklar.training.engine.team import WHOLE, Share
from sklar.training.honest.settings import NOISE_RANGE, ROWS_OF_SETTINGS


@dataclass(frozen=True)
class Folds:
    """Rows of P problems in F folds; the first `n_train` rows of every fold train, the rest are held out."""

    x: Tensor  # (P, F, m, D)
    y: Tensor  # (P, F, m)
    n_train: int
    gates: Gates
    weight: Tensor | None = None  # what each row counts, (P, F, m)
    row: Tensor | None = None  # its number among those that were dealt, (P, F, m)
    inputs: Tensor | None = None  # which of the inputs that were dealt these are, (P, D); None: all of them
    alive: Tensor | None = None  # which of these are not zero, (P, D)

    @property
    def noise(self) -> float:
        """How much noisier means over rows are than with 10,000 rows: what regularises must be so much stronger."""
        least, most = NOISE_RANGE
        return min(most, max(least, math.sqrt(ROWS_OF_SETTINGS / self.n_rows)))

    @property
    def n_rows(self) -> int:
        """Of each problem, those that fill up short folds counted too."""
        return self.x.shape[1] * self.x.shape[2]

    @property
    def has_held_out(self) -> bool:
        """Whether any rows are held out."""
        return self.n_train < self.x.shape[2]

    @property
    def n_folds(self) -> int:
        """F."""
        return self.x.shape[1]

    @property
    def held_out(self) -> tuple[Tensor, Tensor]:
        """The rows that no network trained on: (P, n, d), (P, n)."""
        return self.x[:, :, self.n_train :].flatten(1, 2), self.y[:, :, self.n_train :].flatten(1, 2)

    @property
    def training(self) -> tuple[Tensor, Tensor]:
        """The rows that train: (P, F, n_train, d), (P, F, n_train)."""
        return self.x[:, :, : self.n_train], self.y[:, :, : self.n_train]

    @property
    def training_weight(self) -> Tensor | None:
        """What the rows of `training` count: (P, F n_train)."""
        return None if self.weight is None else self.weight[:, :, : self.n_train].flatten(1)

    @property
    def held_out_weight(self) -> Tensor | None:
        """What the rows of `held_out` count: (P, n)."""
        return None if self.weight is None else self.weight[:, :, self.n_train :].flatten(1)

    def kept_out(self) -> Folds:
        """The held-out rows alone, in their folds, as if they trained."""
        weight, row = (None if t is None else t[:, :, self.n_train :] for t in (self.weight, self.row))
        x, y = self.x[:, :, self.n_train :], self.y[:, :, self.n_train :]
        return replace(self, x=x, y=y, n_train=x.shape[2], weight=weight, row=row)

    def batch(self, size: int, n_first: int, generator: torch.Generator, share: Share = WHOLE) -> tuple[Tensor, Tensor]:
        """`size` rows of every fold, drawn from its first `n_first`, by weight: (P, F, size, D), (P, F, size).

        Of a team's batch, this process's share of them.
        """
        return self._drawn(size, 0, n_first, generator, share)

    def held_out_batch(self, size: int, generator: torch.Generator, share: Share = WHOLE) -> tuple[Tensor, Tensor]:
        """The same, drawn from the rows that are held out."""
        return self._drawn(size, self.n_train, self.x.shape[2], generator, share)

    def _drawn(
        self, size: int, first_row: int, end: int, generator: torch.Generator, share: Share
    ) -> tuple[Tensor, Tensor]:
        problems, folds, m, d = self.x.shape
        shape = (problems, folds, size)
        if self.weight is None:
            pick = torch.randint(first_row, end, shape, generator=generator, device=self.x.device)
        else:
            upto = self.weight[:, :, first_row:end].cumsum(-1)
            place = torch.rand(shape, generator=generator, device=self.x.device) * upto[..., -1:]
            pick = first_row + torch.searchsorted(upto, place, right=True).clamp_max(end - first_row - 1)
        pick = share.own(pick, 2)
        first = torch.arange(0, problems * folds * m, m, device=pick.device).view(problems, folds, 1)
        whole_rows = self.x.view(-1, d).index_select(0, (first + pick).flatten())  # a copy each, not a number each
        return whole_rows.view(*pick.shape, d), self.y.gather(2, pick)

    def fold_of_row(self, problem: int = 0) -> Tensor:
        """The fold that each row of a problem was dealt to, in the order of the table: int (n,)."""
        assert self.row is not None
        row = self.row[problem]
        folds = row.new_zeros(int(row.max()) + 1)
        folds[row.flatten()] = torch.arange(len(row), device=row.device).repeat_interleave(row.shape[1])
        return folds

    def only(self, keep: Tensor, alive: Tensor) -> Folds:
        """The same rows with the features `keep` (P, w); those not `alive` (P, w) are zero.

        Several problems keep different features, so their gates must be plain.
        """
        if len(keep) > 1 and not self.gates.plain:
            raise ValueError("several problems side by side must have one input a gate, and no forced or priced gates")
        gates = self.gates.only(keep[0])
        inputs = keep if self.gates.of_input is None else inputs_of(self.gates.of_input, keep[0])[None]
        alive = to_inputs(alive, gates.of_input)
        index = inputs[:, None, None].expand(-1, *self.x.shape[1:3], -1)
        x = self.x.gather(3, index) * alive[:, None, None]
        if self.inputs is not None and self.alive is not None:
            inputs, alive = self.inputs.gather(1, inputs), self.alive.gather(1, inputs) & alive
        return replace(self, x=x, gates=gates, inputs=inputs, alive=alive)

    @torch.no_grad()
    def put(self, new: NewRows) -> None:
        """Replace training rows, by their numbers, where they stand: a new row is of the fold of the one before it.

        Rows that are held out stay, so that what is decided on them was never learned from.
        """
        device = self.x.device
        places, x, y = (torch.from_numpy(values).to(device) for values in new[:3])
        for problem, place in enumerate(self._places[:, places]):
            trains = place >= 0
            rows = x[trains]
            if self.inputs is not None and self.alive is not None:
                rows = rows[:, self.inputs[problem]] * self.alive[problem]
            self.x.view(-1, self.x.shape[-1])[place[trains]] = rows
            self.y.view(-1)[place[trains]] = y[trains]

    @cached_property
    def _places(self) -> Tensor:
        """Where the rows (P, n) stand among those of all problems and folds; -1 where they are held out.

        A row that fills up its fold, too, is found once.
        """
        assert self.row is not None
        problems, row = len(self.row), self.row.cpu()  # where of two places the later one is found, on any device
        numbers = torch.arange(row.numel()).view_as(row)
        places = torch.full((problems, int(row.max()) + 1), -1)
        training = (part[:, :, : self.n_train].flatten(1) for part in (row, numbers))
        return places.scatter_(1, *training).to(self.x.device)


def deal(
    x: Tensor,
    y: Tensor,
    n_folds: int,
    held_fraction: float,
    generator: torch.Generator,
    shuffle: bool = True,
    gates: Gates | None = None,
    weight: Tensor | None = None,
) -> Folds:
    """Deal rows (P, n, D), (P, n) to folds, at random or (row i to fold i mod F) as they come.

    Short folds are filled up with training rows of their own.
    """
    problems, n, d = x.shape
    n_folds = min(n_folds, n)
    m = -(-n // n_folds)
    n_held = max(0, min(round(m * held_fraction), m - 2))
    order = torch.arange(n, device=x.device).expand(problems, n)
    if shuffle:
        order = torch.rand(problems, n, generator=generator, device=x.device).argsort(1)
    place = torch.arange(m * n_folds, device=x.device).view(m, n_folds).T  # fold f holds f, f + F, f + 2F, ...
    place = torch.where(place < n, place, place - n_folds).flip(1)  # the filled-up row first: never held out
    order = order[:, place.reshape(-1)]
    dealt_x = x.gather(1, order.unsqueeze(-1).expand(-1, -1, d)).view(problems, n_folds, m, d)
    dealt_y = y.gather(1, order).view(problems, n_folds, m)
    dealt_weight = None if weight is None else weight.gather(1, order).view(problems, n_folds, m)
    row = order.view(problems, n_folds, m)
    return Folds(dealt_x.contiguous(), dealt_y, m - n_held, gates or Gates(d), dealt_weight, row)


def of_other_folds(t: Tensor) -> Tensor:
    """For predictor f, the rows of all folds but f: (P, F, b, ...) -> (P, F, (F - 1) b, ...)."""
    n_folds = t.shape[1]
    return t.index_select(1, _others(n_folds, t.device)).unflatten(1, (n_folds, n_folds - 1)).flatten(2, 3)


@cache
def _others(n_folds: int, device: torch.device) -> Tensor:
    """For every fold the others, beginning with the next: (F (F - 1),)."""
    fold = torch.arange(n_folds, device=device)
    return ((fold.unsqueeze(1) + fold[1:]) % n_folds).flatten()
