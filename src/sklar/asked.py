"""The network of a fitted model that is asked at another penalty, or for fewer features, than it was fitted with."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from sklar.model.selection import GateModel
from sklar.training.penalty_path import PenaltyPath


def is_close(penalty: float, fitted: float) -> bool:
    """Whether a penalty is that of fit, but for rounding."""
    return isinstance(penalty, Real) and bool(np.isclose(float(penalty), fitted, rtol=1e-5, atol=0))


def at_penalty(priced: GateModel | None, path: PenaltyPath, fitted: float, penalty: float) -> GateModel:
    """The network at a penalty within the path's; the logarithm of the penalty is one of the inputs of `priced`."""
    if priced is None:
        raise ValueError(
            "this model knows one penalty: it was given, or the objective is 'joint'; fit with penalty='auto' to ask "
            "at others"
        )
    low, high = min(path["penalty"]), max(path["penalty"])
    if not isinstance(penalty, Real) or not low * (1 - 1e-6) <= penalty <= high * (1 + 1e-6):
        raise ValueError(
            f"penalty must be a number from {low:.3g} to {high:.3g}, the range that this model was trained for; got "
            f"{penalty!r}; to use another one, give it to a new fit"
        )
    return priced.at_penalty(float(np.log(penalty / fitted)))


def told_k(network: GateModel, priced: GateModel | None, path: PenaltyPath, k: int) -> GateModel:
    """The ranker that is better at k, by rows judged out of fold: one that is told k, or the fitted one."""
    most, least = network.architecture.k or 0, max(1, len(network.architecture.forced))
    if not isinstance(k, Integral) or not least <= k <= most:
        raise ValueError(f"k must be a whole number from {least} to {most}, that of fit; got {k!r}")
    if priced is None:
        return network.with_k(int(k))
    nearest = int(np.argmin(np.abs(np.log(np.array(path["k"]) / k))))
    better = path["loss"][nearest] < path["prefix_loss"][nearest]
    return priced.with_k(int(k), told=True) if better else network.with_k(int(k))
