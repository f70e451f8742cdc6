"""A PredictNet trained on all features, for what explains a network by its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor, nn

from sklar.model.networks import PredictNet
from sklar.paper.baselines.base import above_average, top_k
from sklar.paper.baselines.networks import PredictsFromMask, adam, descend
from sklar.params import Count
from sklar.training.engine.loop import BestWeights

FEWEST_ROWS_TO_SPLIT = 50  # with fewer, all are needed to train
CHECK_EVERY, PATIENCE = 20, 20  # steps between looks at the held-out rows, and looks without a better one


class ExplainedPredictor(PredictsFromMask):
    """Trains the predictor; a subclass fills `_scores`.

    Parameters
    ----------
    k : int or None
        Features per row; None keeps those whose score exceeds their row's mean.
    predictor_hidden : int, default 200
        Width of the predictor d-200-BN-200-BN-out, trained on all features.
    iterations : int, default 2000
        Of the predictor, and so are the other parameters of `NetworkBaseline`.
    """

    is_instance_wise = True
    k: Count | None = None
    predictor_hidden: Count = 200
    iterations: Count = 2000

    def fit_problems(self, problems: list[tuple[Any, Any]], random_states: list[int]) -> list[Any]:
        """Train one model per data set (X, y), one after the other: each stops when its own held-out rows say so."""
        makers = [clone(self).set_params(random_state=random_state) for random_state in random_states]
        return [maker.fit(X, y) for maker, (X, y) in zip(makers, problems, strict=True)]

    def _train_replicas(self, rows: np.ndarray, target: np.ndarray, replicas: int, seed: int) -> nn.Module:
        self.seed_, self.background_ = seed, self._background(rows, seed)
        return super()._train_replicas(rows, target, replicas, seed)

    def _background(self, rows: np.ndarray, seed: int) -> np.ndarray:
        """The training rows that the explainer needs: all, or `n_background` of them at random."""
        wanted = getattr(self, "n_background", len(rows))
        return rows if wanted >= len(rows) else rows[np.random.default_rng(seed).permutation(len(rows))[:wanted]]

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        return PredictNet(n_features, self.predictor_hidden, n_outputs, replicas=replicas, generator=generator)

    def _train(self, model: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        """Cross-entropy or squared error, the weights kept that do best on a fifth of the rows.

        An over-fitted predictor is explained by features that do not matter.
        """
        task = self._task()
        optimiser = adam([model], self.learning_rate, self.weight_decay)
        order = torch.randperm(x.shape[1], generator=generator, device=x.device)
        n_held = x.shape[1] // 5 if x.shape[1] >= FEWEST_ROWS_TO_SPLIT else 0
        held, kept = order[:n_held], order[n_held:]
        keeper = BestWeights(model, PATIENCE)
        for step, index in enumerate(self._batches(len(kept), generator, "predictor")):
            model.train()
            rows = kept[index]
            descend(optimiser, task.row_loss(model(x[:, rows]), y[..., rows]).mean(-1).sum())
            if n_held and step % CHECK_EVERY == CHECK_EVERY - 1:
                with torch.no_grad():
                    keeper.see(task.row_loss(model.eval()(x[:, held]), y[..., held]).mean(-1).sum().item())
            if keeper.exhausted:
                break
        keeper.restore()

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return above_average(scores) if self.k is None else top_k(scores, self.k)

    def _row_outputs(self, X: Any) -> np.ndarray:
        return self._answer(self._check_rows(X), lambda model, x: model(x))  # all features: the predictor explained
