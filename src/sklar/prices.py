"""Which price gives so many features: questions about a path of penalties."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from sklar.fitted import FittedModel

HALVINGS = 20  # of the interval of log-penalties


def features_at(fitted: FittedModel, n: float, X: Any = None) -> float:
    """The penalty that gives about n features per row; the nearest end of the path where none does.

    Counted on the rows of X, or else as the path says, which warns where it has nothing near n. On rows of X the
    penalty of fit, which the fit itself answers and not the selector for other penalties, is the answer where it comes
    nearest to n.
    """
    if not isinstance(n, Real) or not n >= 0:
        raise ValueError(f"n must be a number of features from 0; got {n!r}")
    if fitted.priced is None:
        raise ValueError("this model knows one penalty; features_at needs a selector fitted with penalty='auto'")
    if X is None and "mean_features" not in fitted.path:
        raise ValueError("no rows were held out to count features on: pass some as X")
    log_penalties = np.log(fitted.path["penalty"])
    if X is None:
        # more features for less: smallest first, as interpolation wants it, and never falling
        sizes = np.maximum.accumulate(np.array(fitted.path["mean_features"])[::-1])
        _warn_beyond(n, sizes[0], sizes[-1])
        return _within(fitted, np.interp(n, sizes, log_penalties[::-1]))
    rows = fitted.read(X)

    def size(log_penalty: float) -> float:
        return float(fitted.at(penalty=float(np.exp(log_penalty))).masks(rows).sum() / rows.shape[0])

    found = _within(fitted, _crossing(size, float(log_penalties[0]), float(log_penalties[-1]), n))
    is_nearer = abs(size(float(np.log(fitted.penalty))) - n) < abs(size(float(np.log(found))) - n)
    return float(fitted.penalty) if is_nearer else found


def _warn_beyond(n: float, least: float, most: float) -> None:
    """Say so where the nearest end of the path is far from n."""
    if not least - 0.5 <= n <= most + 0.5:
        end = least if n < least else most
        said = f"no price of this model gives {n:g} features per row; the nearest gives {end:.2g}"
        warnings.warn(said, stacklevel=3)


def _within(fitted: FittedModel, log_penalty: float) -> float:
    """A penalty of the path, of which rounding makes no other."""
    return float(np.clip(np.exp(log_penalty), min(fitted.path["penalty"]), max(fitted.path["penalty"])))


def _crossing(falling: Callable[[float], float], low: float, high: float, level: float) -> float:
    """Where a falling function comes below a level, between two points; the nearer point if it does not."""
    if falling(high) >= level:
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) >= level else (low, middle)
    return low
