"""Greedy dynamic feature selection (Covert, Qiu, Lu, Kim, White, Lee, ICML 2023): features one by one.

A policy looks at the features seen so far and names the next; a predictor answers from whatever is seen. The
policy never sees a feature it has not acquired, so its choice cannot carry what it has not paid for.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from sklar.model.networks import PredictNet, StackedLinear
from sklar.paper.baselines.base import check_k, top_k
from sklar.paper.baselines.networks import BatchSize, PredictsFromMask, adam, descend, gumbel_like, n_replicas
from sklar.params import Count, NonNegative, at_least

HOTTEST, COLDEST = 1.0, 0.1  # the range of the concrete relaxation's temperature over training
NEVER = -1e6  # the logit of a feature that is already seen


class Policy(nn.Module):
    """2d - h - h - d, each layer normalised row by row: before the first choice all rows of a batch look alike."""

    def __init__(self, n_features: int, hidden: int, replicas: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = StackedLinear(replicas, 2 * n_features, hidden, generator)
        self.second = StackedLinear(replicas, hidden, hidden, generator)
        self.last = StackedLinear(replicas, hidden, n_features, generator)

    def forward(self, seen: Tensor) -> Tensor:
        """A logit for every feature: (R, n, 2 d) -> (R, n, d)."""
        h = seen
        for layer in (self.first, self.second):
            h = layer(h).relu()
            h = layer_norm(h, h.shape[-1:])
        return self.last(h)


class PolicyAndPredictor(nn.Module):
    """Two networks that read [x * mask, mask]: one names the next feature, one predicts."""

    def __init__(self, policy: Policy, predictor: PredictNet) -> None:
        super().__init__()
        self.policy, self.predictor = policy, predictor

    def next_logits(self, x: Tensor, mask: Tensor) -> Tensor:
        """Logits of the next feature, those already seen excluded: (R, n, d)."""
        logits = self.policy(see(x, mask))
        return torch.where(mask > 0.5, NEVER, logits)


def see(x: Tensor, mask: Tensor) -> Tensor:
    """What a network is shown: [x * mask, mask], so that "absent" and "zero" differ: (R, n, 2 d)."""
    return torch.cat([x * mask, mask.expand_as(x * mask)], dim=-1)


class GreedyDynamicSelection(PredictsFromMask):
    """Instance-wise selection, one feature after another from those already seen.

    Takes the parameters of `NetworkBaseline` too.

    Parameters
    ----------
    k : int, default 4
        Features per row.
    policy_hidden, predictor_hidden : int, default 128
        Widths of the policy 2d-128-LN-128-LN-d and the predictor 2d-128-BN-128-BN-out.
    warmup : int, default 1000
        Iterations in which the predictor alone learns, on random masks of random size.
    iterations : int, default 3000
        An iteration acquires k features, with a step after each.
    batch_size, weight_decay : default 256 and 0

    Examples
    --------
    >>> from sklar.paper.baselines import GreedyDynamicSelection
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> gdfs = GreedyDynamicSelection(k=2, iterations=10, warmup=5, batch_size=100, random_state=0).fit(X, y)
    >>> set(gdfs.select(X, k=3).sum(axis=1).tolist())
    {3}
    """

    is_instance_wise = True
    k: Count = 4
    policy_hidden: Count = 128
    predictor_hidden: Count = 128
    warmup: Annotated[int, at_least(0)] = 1000
    batch_size: BatchSize = 256
    weight_decay: NonNegative = 0.0

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        policy = Policy(n_features, self.policy_hidden, replicas, generator)
        width = self.predictor_hidden
        predictor = PredictNet(2 * n_features, width, n_outputs, replicas=replicas, generator=generator)
        return PolicyAndPredictor(policy, predictor)

    def _train(self, model: PolicyAndPredictor, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        self._warm_up(model, x, y, generator)
        optimiser = adam([model], self.learning_rate, self.weight_decay)
        model.train()
        temperature = x.new_tensor(HOTTEST)

        def learn(rows: Tensor) -> Tensor:
            x_rows, y_rows = x[:, rows].expand(n_replicas(model), -1, -1), y[..., rows]
            mask = torch.zeros_like(x_rows)
            for _ in range(self.k):
                logits = model.next_logits(x_rows, mask)
                gumbel = gumbel_like(logits, tuple(logits.shape), generator)
                pick = torch.softmax((logits + gumbel) / temperature, dim=-1)  # (R, b, d)
                output = model.predictor(see(x_rows, torch.maximum(mask, pick)))
                loss = descend(optimiser, self._task().row_loss(output, y_rows).mean(-1).sum())
                mask = add_feature(mask, pick.detach())  # greedy: no gradient from one step to the next
            return loss

        def cool(index: int) -> None:
            temperature.fill_(HOTTEST * (COLDEST / HOTTEST) ** (index / self.iterations))

        self._learn(learn, x.shape[1], self.iterations, generator, before=cool)

    def _warm_up(self, model: PolicyAndPredictor, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        """The predictor alone, on random masks whose rate is drawn row by row from U(0, 1)."""
        optimiser = adam([model.predictor], self.learning_rate, self.weight_decay)
        model.train()

        def learn(rows: Tensor) -> Tensor:
            x_rows = x[:, rows].expand(n_replicas(model), -1, -1)
            rate = torch.rand((*x_rows.shape[:2], 1), generator=generator, device=x.device)
            mask = torch.bernoulli(rate.expand_as(x_rows), generator=generator)
            output = model.predictor(see(x_rows, mask))
            return descend(optimiser, self._task().row_loss(output, y[..., rows]).mean(-1).sum())

        self._learn(learn, x.shape[1], self.warmup, generator)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self._acquired(rows, self.k)

    def _masks(self, rows: np.ndarray, k: int | None = None) -> np.ndarray:
        check_k(k, rows.shape[1])
        return top_k(self._acquired(rows, k or self.k), k or self.k)

    def _acquired(self, rows: np.ndarray, n_steps: int) -> np.ndarray:
        """Scores n_steps, n_steps - 1, ..., 1 in the order of acquisition; below 1, the policy's odds for the rest."""

        def ask(model: Any, x: Tensor) -> Tensor:
            mask, scores = torch.zeros_like(x), torch.zeros_like(x)
            for step in range(n_steps):
                after = add_feature(mask, model.next_logits(x, mask))
                scores += (after - mask) * (n_steps - step)
                mask = after
            return torch.where(mask > 0.5, scores, torch.softmax(model.next_logits(x, mask), dim=-1) / 2)

        return self._answer(rows, ask)

    def _outputs(self, model: PolicyAndPredictor, x: Tensor, mask: Tensor) -> Tensor:
        return model.predictor(see(x, mask))


def add_feature(mask: Tensor, preference: Tensor) -> Tensor:
    """The mask with its most preferred unseen feature added: (R, n, d)."""
    winner = torch.where(mask > 0.5, NEVER, preference).argmax(-1, keepdim=True)
    return mask.scatter(-1, winner, 1.0)
