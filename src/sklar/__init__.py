"""Instance-wise feature selection and ranking that knows features depend on each other.

Names are loaded on first use, so that `import sklar` needs neither torch nor scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklar import datasets, metrics
    from sklar.estimators import (
        CopulaRankerClassifier,
        CopulaRankerRegressor,
        CopulaSelectorClassifier,
        CopulaSelectorRegressor,
        load,
    )
    from sklar.export.storage import ModelFileError
    from sklar.report import plots
    from sklar.training.engine.checkpoint import CheckpointError

__version__ = "0.1.0"

_HOMES = {
    "CheckpointError": "sklar.training.engine.checkpoint",
    "CopulaRankerClassifier": "sklar.estimators",
    "CopulaRankerRegressor": "sklar.estimators",
    "CopulaSelectorClassifier": "sklar.estimators",
    "CopulaSelectorRegressor": "sklar.estimators",
    "load": "sklar.estimators",
    "ModelFileError": "sklar.export.storage",
}
_MODULES = {"datasets": "sklar.datasets", "metrics": "sklar.metrics", "plots": "sklar.report.plots"}

__all__ = [
    "CheckpointError",
    "CopulaRankerClassifier",
    "CopulaRankerRegressor",
    "CopulaSelectorClassifier",
    "CopulaSelectorRegressor",
    "ModelFileError",
    "datasets",
    "load",
    "metrics",
    "plots",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sklar' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
