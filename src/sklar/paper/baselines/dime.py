"""DIME (Gadgil, Covert, Lee, ICLR 2024): what the next feature would tell, learned as a value.

A network values every unseen feature by the fall of the predictor's loss that it brings, which estimates the mutual
information with the target, given what is seen. The feature of highest value per cost comes next. Because a value has
a unit, a row can stop by itself: when nothing is worth its price, or when the predictor is sure.
"""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from sklar.model.networks import StackedLinear
from sklar.paper.baselines.networks import n_replicas
from sklar.paper.baselines.plateau import BestReplicas
from sklar.paper.baselines.sequential import NEVER, Rows, SequentialBaseline, Trunk, add_feature, see
from sklar.params import Count, Interval, NonNegative, Positive

EXPLORE, DECAY = (
    0.05,
    0.2,
)  # the chance of a random feature at first, and its factor when training stalls

Confidence = Annotated[float, Interval(Real, 0, 1, closed="both")]


class ValuesAndPredictor(nn.Module):
    """A predictor and the values of features, on shared layers that read [x * mask, mask]."""

    def __init__(self, trunk: Trunk, predict: StackedLinear, value: StackedLinear) -> None:
        super().__init__()
        self.trunk, self.predict, self.value = trunk, predict, value

    def output(self, seen: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """The prediction alone: (R, n, 2 d) -> (R, n, out)."""
        return self.predict(self.trunk(seen, noise))

    def both(self, x: Tensor, mask: Tensor, noise: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Predictions (R, n, out) and the values of all features (R, n, d).

        Of classes, a value is a share of the prediction's entropy: no feature can tell more. Else it is positive.
        """
        h = self.trunk(see(x, mask), noise)
        output, value = self.predict(h), self.value(h)
        if output.shape[-1] == 1:
            return output, softplus(value)
        return output, torch.sigmoid(value) * entropy(output.detach()).unsqueeze(-1)


def entropy(logits: Tensor) -> Tensor:
    """Of the classes that logits (..., classes) stand for, in nats."""
    logs = torch.log_softmax(logits, dim=-1)
    return -(logs.exp() * logs).sum(-1)


class Dime(SequentialBaseline):
    """Instance-wise selection by the estimated information of each next feature.

    Takes the parameters of `SequentialBaseline` too. Without one of `budget`, `penalty` and `confidence`, a row keeps
    `k` features.

    Parameters
    ----------
    hidden : int, default 512
        Width of the two layers that the predictor and the values share.
    n_levels : int, default 10
        How often exploration is lowered, from 5% by a factor of .2, each time training has stalled.
    costs : array of d positive numbers, or None
        What a feature costs; None is 1 for all. The next feature is that of highest value per cost.
    budget : float or None
        Stop before the cost of a row's features exceeds this.
    penalty : float or None
        Stop when no feature's value per cost exceeds this.
    confidence : float or None
        Stop when the predicted class has this probability.

    Examples
    --------
    >>> from sklar.paper.baselines import Dime
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> dime = Dime(k=2, iterations=10, warmup=5, hidden=16, random_state=0).fit(X, y)
    >>> set(dime.select(X).sum(axis=1).tolist())
    {2}
    >>> int(dime.set_params(penalty=10.0).select(X).sum())
    0
    """

    hidden: Count = 512
    n_levels: Count = 10
    costs: Annotated[Any, "array-like", None] = None
    budget: Positive | None = None
    penalty: NonNegative | None = None
    confidence: Confidence | None = None

    def _prepare(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        rows, target = super()._prepare(X, y)
        self._check_rules(rows.shape[1])
        return rows, target

    def _check_rules(self, n_features: int) -> None:
        """Refuse costs that are not one positive number per feature, and more than one rule for stopping."""
        if self.costs is not None:
            costs = np.asarray(self.costs, dtype=np.float64)
            if costs.shape != (n_features,) or not (costs > 0).all() or not np.isfinite(costs).all():
                raise ValueError(f"costs must be {n_features} positive numbers, one per column; got {self.costs!r}")
        given = [name for name in ("budget", "penalty", "confidence") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give one rule for stopping, not {' and '.join(given)}")

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        return ValuesAndPredictor(
            Trunk(n_features, self.hidden, self.dropout, replicas, generator),
            StackedLinear(replicas, self.hidden, n_outputs, generator),
            StackedLinear(replicas, self.hidden, n_features, generator),
        )

    def _train(self, model: ValuesAndPredictor, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        rows = self._split(x, y, generator)
        self._warm_up(model, model.output, rows, generator)
        levels = [EXPLORE * DECAY**level for level in range(self.n_levels)]
        best = BestReplicas(model)
        self._in_stages(levels, partial(self._train_at, model, rows, best, generator))
        best.restore()

    def _train_at(
        self,
        model: ValuesAndPredictor,
        rows: Rows,
        best: BestReplicas,
        generator: torch.Generator,
        explore: float,
        steps: int,
    ) -> int:
        replicas = n_replicas(model)

        def loss_of(batch: Tensor) -> Tensor:
            x_rows, y_rows = rows.of(batch, replicas)
            masks, picks = self._rollout(model, x_rows, explore, generator)  # (R, (k + 1) b, d), (R, k b, d)
            x_all, n_steps = x_rows.repeat(1, self.k + 1, 1), self.k + 1
            output, values = model.both(x_all, masks, generator)
            y_all = y_rows.repeat(*[1] * (y_rows.ndim - 1), n_steps)
            losses = self._losses(output, y_all)  # (R, (k + 1) b)
            n_before = picks.shape[1]
            gain = (losses[:, :n_before] - losses[:, -n_before:]).detach()  # what each pick took off the loss
            of_pick = (values[:, :n_before] * picks).sum(-1)
            value_loss = (of_pick - gain).square().mean(-1) * self.k / n_steps
            return (losses.mean(-1) + value_loss).sum()

        def held() -> Tensor:
            return self._held_losses(model, rows)

        return self._train_until_flat(model, loss_of, held, rows, steps, generator, best)

    @torch.no_grad()
    def _rollout(
        self, model: ValuesAndPredictor, x: Tensor, explore: float, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """The k + 1 masks of every row on its way, and the k features asked for, a seen one perhaps again."""
        mask, masks, picks = torch.zeros_like(x), [], []
        for _ in range(self.k):
            masks.append(mask)
            best = self._per_cost(model.both(x, mask, generator)[1]).argmax(-1)  # (R, b)
            drawn = torch.rand(x.shape, generator=generator, device=x.device).argmax(-1)
            is_random = torch.rand(best.shape, generator=generator, device=x.device) < explore
            pick = torch.where(is_random, drawn, best).unsqueeze(-1)
            picks.append(torch.zeros_like(x).scatter(-1, pick, 1.0))
            mask = torch.maximum(mask, picks[-1])
        return torch.cat([*masks, mask], dim=1), torch.cat(picks, dim=1)

    @torch.no_grad()
    def _held_losses(self, model: ValuesAndPredictor, rows: Rows) -> Tensor:
        """Mean loss of the predictions after 0 to k features on the rows kept aside: (R,)."""
        x, y = rows.of(rows.held, n_replicas(model))
        mask, losses = torch.zeros_like(x), []
        for _ in range(self.k):
            output, values = model.both(x, mask)
            losses.append(self._losses(output, y).mean(-1))
            mask = add_feature(mask, self._per_cost(values))
        losses.append(self._losses(model.output(see(x, mask)), y).mean(-1))
        return torch.stack(losses).mean(0)

    def _per_cost(self, values: Tensor) -> Tensor:
        return values if self.costs is None else values / self._costs(values)

    def _costs(self, like: Tensor) -> Tensor:
        """What each feature costs: (d,)."""
        if self.costs is None:
            return like.new_ones(like.shape[-1])
        return torch.as_tensor(np.asarray(self.costs, dtype=np.float64), dtype=like.dtype, device=like.device)

    def _preference(self, model: Any, x: Tensor, mask: Tensor) -> Tensor:
        return self._per_cost(model.both(x, mask)[1])

    def _masks(self, rows: np.ndarray, k: int | None = None) -> np.ndarray:
        self._check_rules(rows.shape[1])
        if k is not None or (self.budget is None and self.penalty is None and self.confidence is None):
            return super()._masks(rows, k)
        return self._answer(rows, self._until_stopped) > 0.5

    def _until_stopped(self, model: ValuesAndPredictor, x: Tensor) -> Tensor:
        """The masks at which the rule says stop: (R, n, d)."""
        mask = torch.zeros_like(x)
        goes_on = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        for _ in range(x.shape[-1]):
            output, values = model.both(x, mask)
            wanted = torch.where(mask > 0.5, NEVER, self._per_cost(values))
            after = add_feature(mask, wanted)
            goes_on &= self._accepts(output, wanted, after)
            if not goes_on.any():
                break
            mask = torch.where(goes_on.unsqueeze(-1), after, mask)
        return mask

    def _accepts(self, output: Tensor, wanted: Tensor, after: Tensor) -> Tensor:
        """Which rows take one more feature: bool (R, n)."""
        if self.penalty is not None:
            return wanted.amax(-1) > self.penalty
        if self.budget is not None:
            return after @ self._costs(after) <= self.budget
        assert self.confidence is not None
        if output.shape[-1] == 1:
            raise ValueError("confidence is a rule for classes; this was fitted to real numbers")
        return torch.softmax(output, dim=-1).amax(-1) < self.confidence

    def _outputs(self, model: ValuesAndPredictor, x: Tensor, mask: Tensor) -> Tensor:
        return model.output(see(x, mask))
