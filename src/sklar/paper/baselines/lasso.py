"""The lasso (Tibshirani, 1996): L1 logistic regression for classes, L1 least squares for real targets.

The fit stands as a function of its own because knockoffs use it too.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from sklearn.svm import l1_min_c
from sklearn.utils.fixes import parse_version

from sklar.paper.baselines.base import Baseline, top_k
from sklar.params import Count, at_least
from sklar.training.engine.loop import progress_bar
from sklar.training.engine.runtime import spawn_seeds

N_STRENGTHS = 8
# scikit-learn 1.8 spells the L1 penalty as a ratio and warns about the older name.
L1_PARAMS: dict[str, Any] = (
    {"l1_ratio": 1} if parse_version(sklearn.__version__) >= parse_version("1.8") else {"penalty": "l1"}
)


class L1(Baseline):
    """L1-penalised linear model, its strength chosen by cross-validation; predicts from all features.

    Takes the parameters of `Baseline` too.

    Parameters
    ----------
    k : int or None
        Features to keep; None keeps those whose coefficient is not 0.
    n_folds : int, default 5
        Folds of the cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import L1
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> L1(random_state=0).fit(X, 3 * X[:, 1] - X[:, 2]).select(X, k=2)[0]
    array([False,  True,  True, False])
    """

    k: Count | None = None
    n_folds: Annotated[int, at_least(2)] = 5

    def predict(self, X: Any) -> np.ndarray:
        """The class or value of each row, from all features: (n,)."""
        return self._decoded(self.linear_.predict(self._check_rows(X)))

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        seed = spawn_seeds(self.random_state, 1)[0]
        self.linear_ = fit_l1(rows, target, self.task_, self.n_folds, seed, bool(self.verbose))
        sizes = coefficient_sizes(self.linear_)
        # Where a coefficient is 0, how near it is to entering: at most 0, so that these rank below and in order.
        nearness = self._pull(rows, target)
        self.sizes_ = np.where(sizes > 0, sizes, nearness / max(nearness.max(), 1e-300) - 1)

    def _pull(self, rows: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The gradient of the loss at each coefficient, the largest over classes: (d,)."""
        if self.task_ == "regression":
            residual = (target - self.linear_.predict(rows))[:, None]
        else:
            residual = (target[:, None] == np.arange(len(self.classes_))) - self.linear_.predict_proba(rows)
        return np.abs(rows.T @ residual).max(axis=1)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self.sizes_

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores > 0 if self.k is None else top_k(scores, self.k)


def fit_l1(rows: np.ndarray, target: np.ndarray, task: str, n_folds: int, seed: int, verbose: bool = False) -> Any:
    """The L1 model whose strength has the best held-out loss over `n_folds` folds."""
    folds = KFold(min(n_folds, len(rows)), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the weakest penalties, which are not chosen
        if task == "regression":
            return LassoCV(cv=folds, random_state=seed).fit(rows, target)
        # From the strength at which the first coefficient appears to a thousandth of it.
        strengths = l1_min_c(rows, target, loss="log") * np.geomspace(1.5, 1500, N_STRENGTHS)
        labels = np.unique(target)
        losses = np.zeros(N_STRENGTHS)
        progress = progress_bar(folds.get_n_splits() * N_STRENGTHS, "lasso", verbose)
        for kept, held in folds.split(rows):
            if len(np.unique(target[kept])) < len(labels):
                continue  # a class too rare to be in every fold has no coefficient there
            for i, strength in enumerate(strengths):
                model = _logistic(strength, len(labels), seed).fit(rows[kept], target[kept])
                losses[i] += log_loss(target[held], model.predict_proba(rows[held]), labels=labels)
                progress.update()
        progress.close()
        return _logistic(strengths[int(np.argmin(losses))], len(labels), seed).fit(rows, target)


def coefficient_sizes(model: Any) -> np.ndarray:
    """|coefficient| of each feature, the largest over classes: (d,)."""
    return np.abs(np.atleast_2d(model.coef_)).max(axis=0)


def _logistic(strength: float, n_classes: int, seed: int) -> LogisticRegression:
    solver = "liblinear" if n_classes == 2 else "saga"
    return LogisticRegression(C=strength, solver=solver, random_state=seed, **L1_PARAMS)
