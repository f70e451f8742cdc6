"""What the baselines share that ask for one feature after another: GDFS, DIME and SUWR.

Their networks read [x * mask, mask], so that "absent" and "zero" differ. The predictor first learns on random masks;
then both learn from the masks that the method itself comes to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sklar.model.networks import StackedLinear
from sklar.paper.baselines.base import check_k, top_k
from sklar.paper.baselines.networks import BatchSize, PredictsFromMask, dropped, n_replicas
from sklar.paper.baselines.plateau import BestReplicas, Pace, train_until_flat
from sklar.params import Count, Interval, NonNegative, at_least

NEVER = -1e6  # the logit of a feature that is already seen
HELD = 6  # one row of so many is kept aside
FEWEST_ROWS_TO_SPLIT = 50  # with fewer, the training rows say when to stop

Share = Annotated[float, Interval(Real, 0, 1, closed="left")]


class Rows(NamedTuple):
    """A table and its target, each shared by the replicas or one for each, and which rows are kept aside."""

    x: Tensor  # (1 or R, n, d)
    y: Tensor  # (n,) or (R, n)
    kept: Tensor
    held: Tensor

    def of(self, numbers: Tensor, replicas: int) -> tuple[Tensor, Tensor]:
        """Some rows and their target: (R, b, d), (b,) or (R, b)."""
        return self.x[:, numbers].expand(replicas, -1, -1), self.y[..., numbers]


def see(x: Tensor, mask: Tensor) -> Tensor:
    """What a network is shown: [x * mask, mask]: (R, n, 2 d)."""
    return torch.cat([x * mask, mask.expand_as(x * mask)], dim=-1)


def add_feature(mask: Tensor, preference: Tensor) -> Tensor:
    """The mask with its most preferred unseen feature added: (R, n, d)."""
    winner = torch.where(mask > 0.5, NEVER, preference).argmax(-1, keepdim=True)
    return mask.scatter(-1, winner, 1.0)


class Trunk(nn.Module):
    """2d - h - h, with ReLU and dropout after each layer; without a generator there is no dropout."""

    def __init__(
        self, n_features: int, hidden: int, dropout: float, replicas: int, generator: torch.Generator | None
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.first = StackedLinear(replicas, 2 * n_features, hidden, generator)
        self.second = StackedLinear(replicas, hidden, hidden, generator)

    def forward(self, seen: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """(R, n, 2 d) -> (R, n, h)."""
        for layer in (self.first, self.second):
            seen = dropped(layer(seen).relu(), self.dropout, noise)
        return seen


class TrunkAndHead(nn.Module):
    """2d - h - h - out."""

    def __init__(
        self,
        n_features: int,
        hidden: int,
        n_outputs: int,
        dropout: float,
        replicas: int,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__()
        self.trunk = Trunk(n_features, hidden, dropout, replicas, generator)
        self.head = StackedLinear(replicas, hidden, n_outputs, generator)

    def forward(self, seen: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """(R, n, 2 d) -> (R, n, out)."""
        return self.head(self.trunk(seen, noise))


class SequentialBaseline(PredictsFromMask):
    """One feature after another, each from what the earlier ones say. Fills `_train`, `_preference` and `_outputs`.

    Parameters
    ----------
    k : int, default 4
        Features per row, and steps of a row in training.
    dropout : float, default 0.3
    warmup : int, default 40,000
        Most steps in which the predictor alone learns, on random masks, until its held-out loss no longer falls.
    iterations : int, default 100,000
        Most steps of the training that follows, likewise.
    patience : int, default 5
        Epochs without a better held-out loss before the learning rate falls, and a little later training stops.
    batch_size, weight_decay : default 128 and 0
    """

    is_instance_wise = True
    k: Count = 4
    dropout: Share = 0.3
    warmup: Annotated[int, at_least(0)] = 40_000
    iterations: Count = 100_000
    patience: Annotated[int, at_least(0)] = 5
    batch_size: BatchSize = 128
    weight_decay: NonNegative = 0.0

    def _preference(self, model: Any, x: Tensor, mask: Tensor) -> Tensor:
        """How much each unseen feature is wanted next: (R, n, d)."""
        raise NotImplementedError

    def _split(self, x: Tensor, y: Tensor, generator: torch.Generator) -> Rows:
        """A sixth of the rows aside, as MNIST's 10,000 of 60,000."""
        n = x.shape[1]
        order = torch.randperm(n, generator=generator, device=x.device)
        n_held = n // HELD if n >= FEWEST_ROWS_TO_SPLIT else 0
        return Rows(x, y, order[n_held:], order[:n_held] if n_held else order)

    def _losses(self, output: Tensor, y: Tensor) -> Tensor:
        """Loss of every row: (R, b, out), (b,) or (R, b) -> (R, b)."""
        return self._task().row_loss(output, y)

    def _warm_up(
        self, predictor: nn.Module, outputs: Callable[..., Tensor], rows: Rows, generator: torch.Generator
    ) -> None:
        """The predictor alone, on random masks whose rate is drawn row by row from U(0, 1)."""
        replicas = n_replicas(predictor)

        def losses(numbers: Tensor, noise: torch.Generator | None) -> Tensor:
            x, y = rows.of(numbers, replicas)
            rate = torch.rand((*x.shape[:2], 1), generator=generator, device=x.device)
            mask = torch.bernoulli(rate.expand_as(x), generator=generator)
            return self._losses(outputs(see(x, mask), noise), y).mean(-1)

        def held() -> Tensor:
            with torch.no_grad():
                return losses(rows.held, None)

        if self.warmup:
            self._train_until_flat(
                predictor, lambda batch: losses(batch, generator).sum(), held, rows, self.warmup, generator
            )

    def _train_until_flat(
        self,
        model: nn.Module,
        loss_of: Callable[[Tensor], Tensor],
        held: Callable[[], Tensor],
        rows: Rows,
        iterations: int,
        generator: torch.Generator,
        keeper: BestReplicas | None = None,
    ) -> int:
        pace = Pace(self.learning_rate, iterations, self.batch_size, self.patience)
        with quick_products():
            return train_until_flat(model, loss_of, held, rows.kept, pace, generator, bool(self.verbose), keeper)

    def _in_stages(self, stages: Sequence[float], train_at: Callable[[float, int], int]) -> None:
        """`train_at(stage, steps)` for each; a stage may take its share of `iterations`, and what others left over."""
        left = self.iterations
        for done, stage in enumerate(stages):
            left -= train_at(float(stage), max(1, left // (len(stages) - done)))

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self._acquired(rows, self.k)

    def _masks(self, rows: np.ndarray, k: int | None = None) -> np.ndarray:
        check_k(k, rows.shape[1])
        return top_k(self._acquired(rows, k or self.k), k or self.k)

    def _acquired(self, rows: np.ndarray, n_steps: int) -> np.ndarray:
        """Scores n_steps, n_steps - 1, ..., 1 in the order of acquisition; below 1, what is wanted of the rest."""

        def ask(model: Any, x: Tensor) -> Tensor:
            mask, scores = torch.zeros_like(x), torch.zeros_like(x)
            for step in range(n_steps):
                after = add_feature(mask, self._preference(model, x, mask))
                scores += (after - mask) * (n_steps - step)
                mask = after
            rest = torch.where(mask > 0.5, NEVER, self._preference(model, x, mask))
            return torch.where(mask > 0.5, scores, torch.softmax(rest, dim=-1) / 2)

        return self._answer(rows, ask)


@contextmanager
def quick_products() -> Iterator[None]:
    """Inside, a GPU rounds the factors of float32 products to 10 bits (TF32), as is usual for such networks."""
    settings: Any = torch.backends.cuda.matmul
    name, quick = ("fp32_precision", "tf32") if hasattr(settings, "fp32_precision") else ("allow_tf32", True)
    before = getattr(settings, name)
    setattr(settings, name, quick)
    try:
        yield
    finally:
        setattr(settings, name, before)
