"""L2X (Chen, Song, Wainwright, Jordan, ICML 2018): the k features that tell most about the response.

A selector draws k relaxed one-hot choices per row (Gumbel softmax) and shows their maximum to a predictor; both
minimise one loss. The predictor learns from the very masks the selector draws, so the choice itself can carry the
answer: with a small k, L2X encodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.paper.baselines.networks import SelectorAndPredictor, SelectorPredictorBaseline, adam, descend, gumbel_like
from sklar.paper.baselines.plateau import BestReplicas
from sklar.params import Count, Positive

HELD_SHARE = 10  # one row of so many says which weights to keep
FEWEST_ROWS_TO_SPLIT = 50  # with fewer, the training rows do


def gumbel_subset(logits: Tensor, k: int, temperature: float, generator: torch.Generator | None = None) -> Tensor:
    """Relaxed subset of about k features: the maximum of k Gumbel-softmax draws, (R, n, d) -> (R, n, d)."""
    gumbel = gumbel_like(logits, (k, *logits.shape), generator)
    return torch.softmax((logits + gumbel) / temperature, dim=-1).amax(0)


def best_k(logits: Tensor, k: int) -> Tensor:
    """The k highest logits of each row, as 0 and 1: (R, n, d)."""
    return torch.zeros_like(logits).scatter(-1, logits.topk(k, dim=-1).indices, 1.0)


class L2X(SelectorPredictorBaseline):
    """Instance-wise top-k selection through k Gumbel-softmax draws.

    Takes the parameters of `SelectorPredictorBaseline` too.

    Parameters
    ----------
    k : int, default 4
        Features per row; at test the k highest logits.
    temperature : float, default 0.1
        tau of the Gumbel softmax.
    check_every : int, default 100
        Steps between looks at a tenth of the rows, kept aside: the weights kept are those of the lowest loss there.

    Examples
    --------
    >>> from sklar.paper.baselines import L2X
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> l2x = L2X(k=2, iterations=20, batch_size=100, random_state=0).fit(X, y)
    >>> set(l2x.select(X).sum(axis=1).tolist())
    {2}
    """

    k: Count = 4
    temperature: Positive = 0.1
    check_every: Count = 100

    def fit(self, X: Any, y: Any, soft_labels: Any = None) -> L2X:
        """Learn from y or, where given, from another model's probabilities.

        Parameters
        ----------
        X : table of numbers, (n, d)
        y : target, (n,)
        soft_labels : P(class | x) of the model to explain, (n, classes), columns in the order of the sorted labels

        Returns
        -------
        self
        """
        rows, target = self._prepare(X, y)
        self._soft = None if soft_labels is None else self._check_soft(soft_labels, len(rows))
        try:
            self._fit(rows, target)
        finally:
            del self._soft
        return self

    def _check_soft(self, soft_labels: Any, n_rows: int) -> Tensor:
        if self.task_ != "classification":
            raise ValueError("soft_labels are class probabilities, and y holds real numbers")
        soft = torch.from_numpy(np.asarray(soft_labels, dtype=np.float32))
        if soft.shape != (n_rows, len(self.classes_)):
            wanted = (n_rows, len(self.classes_))
            raise ValueError(f"soft_labels must have the shape {wanted}; got {tuple(soft.shape)}")
        return soft

    def _train(self, model: SelectorAndPredictor, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        soft = getattr(self, "_soft", None)
        soft = None if soft is None else soft.to(x.device)
        optimiser = adam([model], self.learning_rate, self.weight_decay, free=("norm", "selector.scores"))
        order = torch.randperm(x.shape[1], generator=generator, device=x.device)
        n_held = len(order) // HELD_SHARE if len(order) >= FEWEST_ROWS_TO_SPLIT else 0
        held, kept = order[:n_held] if n_held else order, order[n_held:]
        best = BestReplicas(model)

        def losses(rows: Tensor, mask_of: Callable[[Tensor], Tensor]) -> Tensor:
            mask = mask_of(model.selector(x[:, rows]).scores)  # (R, b, d)
            output = model.predictor(x[:, rows] * mask)  # (R, b, out)
            if soft is None:
                return self._task().row_loss(output, y[..., rows]).mean(-1)
            return -(soft[rows] * torch.log_softmax(output, dim=-1)).sum(-1).mean(-1)  # with soft labels

        def learn(batch: Tensor) -> Tensor:
            def drawn(logits: Tensor) -> Tensor:
                return gumbel_subset(logits, self.k, self.temperature, generator)

            return descend(optimiser, losses(kept[batch], drawn).sum())

        def look(step: int) -> None:
            if step % self.check_every == 0 or step == self.iterations:
                with torch.no_grad():
                    model.eval()
                    best.see(losses(held, lambda logits: best_k(logits, self.k)).double().cpu())
                model.train()

        self._learn(learn, len(kept), self.iterations, generator, before=look)
        look(self.iterations)
        best.restore()

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self._answer(rows, lambda model, x: model.selector(x).scores)
