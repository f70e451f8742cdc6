"""Every constant of the training of acquisition, and why it has its value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sklar.training.data import with_defaults

DEFAULTS: dict[str, Any] = {"learning_rate": 1e-3, "weight_decay": 0.01, "max_epochs": None}
MOST_AT_ONCE = 8.0  # times `batch_size` rows are asked side by side, at most


@dataclass(frozen=True)
class AcquisitionSettings:
    """How the network of the features' worth and the predictors learn."""

    k: int
    hidden: int = 128  # of the predictors
    worth_hidden: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    predictor_decay: float = 0.1
    ema_decay: float = 0.99
    batch_size: int = 1000
    n_folds: int = 4
    warm_steps: int = 1000  # predictors learn from random masks alone
    steps: int = 4000
    candidates: int = 12  # features a state whose gains are learned: half those that look best, half random
    exploration: tuple[float, float] = (0.3, 0.02)  # share of the questions asked at random, at first and at last
    random_share: float = 0.1  # of the masks that predictors learn from beside the states
    given: float = 0.1  # share of the rows that begin with random features shown
    memory: float = 0.99  # of the averages of what gains are like
    least_chance: float = 0.05  # of a feature that never gained, to be tried, beside one that gains as usual

    @classmethod
    def from_params(cls, params: dict[str, Any], n_rows: int, n_features: int, k: int) -> AcquisitionSettings:
        """What an estimator's parameters stand for."""
        own = with_defaults(params, DEFAULTS)
        width = min(512, max(128, 2 * n_features))
        # Many values have many states: MNIST gained more by four times the rows a step than by more steps or
        # candidates a state (single fits).
        longer = max(1.0, n_rows * n_features / 1e6) ** 0.5
        settings = cls(
            k=k,
            hidden=params["predict_hidden"] or width,
            worth_hidden=width,
            learning_rate=own["learning_rate"],
            weight_decay=own["weight_decay"],
            batch_size=round(params["batch_size"] * min(MOST_AT_ONCE, longer)),
            n_folds=params["n_folds"],
        )
        share = longer**0.5 * min(1.0, max(0.1, n_rows / 3000))
        if params["max_epochs"] is not None:
            total = settings.warm_steps + settings.steps
            share = min(share, params["max_epochs"] * -(-n_rows // settings.batch_size) / total)
        return settings.scaled(share)

    def scaled(self, share: float) -> AcquisitionSettings:
        """The same in so many times the steps."""
        return replace(self, warm_steps=max(2, round(self.warm_steps * share)), steps=max(2, round(self.steps * share)))
