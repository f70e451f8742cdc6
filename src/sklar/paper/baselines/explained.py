"""A PredictNet trained on all features, for the baselines that explain a finished predictor: LIME and SHAP."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import clone
from torch import Tensor, nn

from sklar.model.networks import PredictNet
from sklar.paper.baselines.base import above_average, top_k
from sklar.paper.baselines.networks import PredictsFromMask, adam, descend
from sklar.params import Count
from sklar.training.engine.loop import BestWeights, progress_bar

FEWEST_ROWS_TO_SPLIT = 50  # with fewer, all are needed to train
CHECK_EVERY, PATIENCE = 20, 20  # steps between looks at the held-out rows, and looks without a better one


class ExplainedPredictor(PredictsFromMask):
    """Trains the predictor and goes through the rows; a subclass fills `_explainer` and `_explain`.

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

    def _explainer(self, seed: int) -> Any:
        """What explains single rows; built when needed, from `background_`."""
        raise NotImplementedError

    def _explain(self, explainer: Any, row: np.ndarray, label: int) -> np.ndarray:
        """Signed contributions of one scaled row's features to output `label`: (d,)."""
        raise NotImplementedError

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

    def _black_box(self, rows: np.ndarray) -> np.ndarray:
        """What is explained: class probabilities, or values, (n, out)."""
        outputs = self._answer(np.asarray(rows, dtype=np.float64), lambda model, x: model(x))
        return softmax(outputs, axis=1) if self.task_ == "classification" else outputs

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        labels = self._black_box(rows).argmax(axis=1)
        explainer = self._explainer(self.seed_)
        progress = progress_bar(len(rows), type(self).__name__.lower(), bool(self.verbose))
        scores = np.empty(rows.shape)
        for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
            scores[i] = np.abs(self._explain(explainer, row, int(label)))
            progress.update()
        progress.close()
        return scores

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return above_average(scores) if self.k is None else top_k(scores, self.k)

    def _row_outputs(self, X: Any) -> np.ndarray:
        return self._answer(self._check_rows(X), lambda model, x: model(x))  # all features: the predictor explained
