"""Every baseline of the paper, under one contract: `REGISTRY[name]` gives a class.

Each class has `fit(X, y)`, `scores(X)` (float, n x d), `select(X, k=None)` (bool, n x d), `is_instance_wise`,
and `predict(X)` where the method predicts. A baseline's file is loaded on first use, so that importing this
package needs neither torch nor an optional package.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

_HOMES = {
    "invase": ("invase", "Invase"),
    "invase-minus": ("invase", "InvaseMinus"),
    "l2x": ("l2x", "L2X"),
    "stg": ("stg", "StochasticGates"),
    "cae": ("cae", "ConcreteAutoencoder"),
    "realx": ("realx", "RealX"),
    "gdfs": ("gdfs", "GreedyDynamicSelection"),
    "dime": ("dime", "Dime"),
    "suwr": ("suwr", "Suwr"),
    "lspin": ("lspin", "Lspin"),
    "llspin": ("lspin", "Llspin"),
    "protogate": ("protogate", "ProtoGate"),
    "tabnet": ("tabnet", "TabNet"),
    "lime": ("lime", "Lime"),
    "shap": ("shap", "Shap"),
    "gradient-shap": ("gradient_shap", "GradientShap"),
    "treeshap": ("treeshap", "TreeShap"),
    "knockoff": ("knockoff", "Knockoff"),
    "tree": ("trees", "Tree"),
    "forest": ("trees", "Forest"),
    "boosting": ("trees", "Boosting"),
    "lasso": ("lasso", "L1"),
    "scfs": ("scfs", "CorrelationSelection"),
    "nola": ("nola", "Nola"),
    "constant-union": ("yardsticks", "ConstantUnion"),
    "random": ("yardsticks", "RandomMasks"),
}


class Registry(Mapping[str, type]):
    """The baselines by name; a baseline's file is imported when it is first used.

    Examples
    --------
    >>> from sklar.paper.baselines import REGISTRY
    >>> "invase" in REGISTRY
    True
    >>> REGISTRY["tree"].__name__
    'Tree'
    """

    def __getitem__(self, name: str) -> type:
        if name not in _HOMES:
            raise KeyError(f"no baseline is called {name!r}; there are {', '.join(_HOMES)}")
        module, cls = _HOMES[name]
        return getattr(importlib.import_module(f"{__name__}.{module}"), cls)

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)

    def __contains__(self, name: object) -> bool:
        return name in _HOMES

    def __repr__(self) -> str:
        return f"Registry({', '.join(_HOMES)})"


REGISTRY = Registry()

_CLASSES = {cls: name for name, (_, cls) in _HOMES.items()}

__all__ = ["REGISTRY"]


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return REGISTRY[_CLASSES[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_CLASSES])
