"""Greedy dynamic feature selection (Covert, Qiu, Lu, Kim, White, Lee, ICML 2023): features one by one.

A policy looks at the features seen so far and names the next; a predictor answers from whatever is seen. The
policy never sees a feature it has not acquired, so its choice cannot carry what it has not paid for.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sklar.paper.baselines.networks import gumbel_like, n_replicas
from sklar.paper.baselines.plateau import BestReplicas
from sklar.paper.baselines.sequential import NEVER, Rows, SequentialBaseline, TrunkAndHead, add_feature, see
from sklar.params import Count

HOTTEST, COLDEST = 1.0, 0.1  # temperatures of the concrete relaxation
SHARPNESS = 5.0  # the policy's outputs times this are the logits, as in the authors' code


class PolicyAndPredictor(nn.Module):
    """Two networks that read [x * mask, mask]: one names the next feature, one predicts."""

    def __init__(self, policy: TrunkAndHead, predictor: TrunkAndHead) -> None:
        super().__init__()
        self.policy, self.predictor = policy, predictor

    def logits(self, x: Tensor, mask: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """Of the next feature, also of those already seen: (R, n, d)."""
        return SHARPNESS * self.policy(see(x, mask), noise)


class GreedyDynamicSelection(SequentialBaseline):
    """Instance-wise selection, one feature after another from those already seen.

    Takes the parameters of `SequentialBaseline` too. The temperature of the relaxed choices falls in steps; at each,
    training goes on until the held-out loss no longer falls. The weights kept are the best with hard choices.

    Parameters
    ----------
    policy_hidden, predictor_hidden : int, default 512
        Widths of the policy 2d-512-512-d and the predictor 2d-512-512-out.
    n_temperatures : int, default 5
        From 1 to .1.

    Examples
    --------
    >>> from sklar.paper.baselines import GreedyDynamicSelection
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> gdfs = GreedyDynamicSelection(k=2, iterations=10, warmup=5, policy_hidden=16, random_state=0).fit(X, y)
    >>> set(gdfs.select(X, k=3).sum(axis=1).tolist())
    {3}
    """

    policy_hidden: Count = 512
    predictor_hidden: Count = 512
    n_temperatures: Count = 5

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        def network(hidden: int, n_out: int) -> TrunkAndHead:
            return TrunkAndHead(n_features, hidden, n_out, self.dropout, replicas, generator)

        return PolicyAndPredictor(network(self.policy_hidden, n_features), network(self.predictor_hidden, n_outputs))

    def _train(self, model: PolicyAndPredictor, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        rows = self._split(x, y, generator)
        self._warm_up(model.predictor, model.predictor, rows, generator)
        hard_best = BestReplicas(model)
        temperatures = np.geomspace(HOTTEST, COLDEST, self.n_temperatures).tolist()
        self._in_stages(temperatures, partial(self._train_at, model, rows, hard_best, generator))
        hard_best.restore()

    def _train_at(
        self,
        model: PolicyAndPredictor,
        rows: Rows,
        hard_best: BestReplicas,
        generator: torch.Generator,
        temperature: float,
        steps: int,
    ) -> int:
        replicas = n_replicas(model)

        def loss_of(batch: Tensor) -> Tensor:
            x_rows, y_rows = rows.of(batch, replicas)
            masks = self._rollout(model, x_rows, generator)  # (R, k b, d)
            x_all, y_all = x_rows.repeat(1, self.k, 1), y_rows.repeat(*[1] * (y_rows.ndim - 1), self.k)
            logits = model.logits(x_all, masks, generator)
            shown = torch.maximum(masks, relaxed(logits, temperature, generator))
            return self._losses(model.predictor(see(x_all, shown), generator), y_all).mean(-1).sum()

        def held() -> Tensor:
            soft, hard = self._held_losses(model, rows, temperature, generator)
            hard_best.see(hard.double().cpu())
            return soft

        return self._train_until_flat(model, loss_of, held, rows, steps, generator)

    @torch.no_grad()
    def _rollout(self, model: PolicyAndPredictor, x: Tensor, generator: torch.Generator) -> Tensor:
        """The masks before each of the k choices, drawn by the policy's odds: (R, k b, d).

        Greedy: no gradient goes from one step to the next, so that the steps' losses can be computed together.
        """
        mask, masks = torch.zeros_like(x), []
        for step in range(self.k):
            masks.append(mask)
            if step < self.k - 1:
                logits = model.logits(x, mask, generator)
                mask = add_feature(mask, logits + gumbel_like(logits, tuple(logits.shape), generator))
        return torch.cat(masks, dim=1)

    @torch.no_grad()
    def _held_losses(
        self, model: PolicyAndPredictor, rows: Rows, temperature: float, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Mean loss over the k steps on the rows kept aside, with relaxed and with hard choices: (R,) each."""
        x, y = rows.of(rows.held, n_replicas(model))
        mask, soft, hard = torch.zeros_like(x), [], []
        for _ in range(self.k):
            pick = relaxed(torch.where(mask > 0.5, NEVER, model.logits(x, mask)), temperature, generator)
            soft.append(self._losses(model.predictor(see(x, torch.maximum(mask, pick))), y).mean(-1))
            mask = add_feature(mask, pick)
            hard.append(self._losses(model.predictor(see(x, mask)), y).mean(-1))
        return torch.stack(soft).mean(0), torch.stack(hard).mean(0)

    def _preference(self, model: Any, x: Tensor, mask: Tensor) -> Tensor:
        return model.logits(x, mask)

    def _outputs(self, model: PolicyAndPredictor, x: Tensor, mask: Tensor) -> Tensor:
        return model.predictor(see(x, mask))


def relaxed(logits: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    """A concrete draw of one feature: (R, n, d), every row summing to 1."""
    return torch.softmax((logits + gumbel_like(logits, tuple(logits.shape), generator)) / temperature, dim=-1)
