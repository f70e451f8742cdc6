"""Syn1-6, the six synthetic data sets of instance-wise feature selection, in the two versions papers quote.

P(y = 1 | x) = 1 / (1 + exp(gamma)). In Syn4-6 the sign of x11 says which of two formulas makes gamma, so the
relevant features differ by row; x11 itself is always relevant there. Each formula stands once, below.

Comparing papers needs care: this paper's text has Syn2 on x1..x3 and Syn3 with sin(2 x7) and 2|x8|, while the
code of the INVASE authors, from which most published numbers stem, has them on x3..x6 and with sin(0.2 x7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class Formula:
    """One gamma and the features (counted from 1) that it reads."""

    features: tuple[int, ...]
    gamma: Callable[..., np.ndarray]


PRODUCT = Formula((1, 2), lambda a, b: a * b)
SQUARES_OF_THREE = Formula((1, 2, 3), lambda *x: sum(v**2 for v in x) - 4)
SQUARES_OF_FOUR = Formula((3, 4, 5, 6), lambda *x: sum(v**2 for v in x) - 4)
SINE_FAST = Formula((7, 8, 9, 10), lambda a, b, c, e: -10 * np.sin(2 * a) + 2 * np.abs(b) + c + np.exp(-e))
SINE_SLOW = Formula((7, 8, 9, 10), lambda a, b, c, e: -10 * np.sin(0.2 * a) + np.abs(b) + c + np.exp(-e) - 2.4)

SWITCH = 11  # the feature whose sign chooses the formula, counted from 1

# name -> (formula where x11 < 0, formula elsewhere); one formula twice needs no switch.
VARIANTS: dict[str, dict[str, tuple[Formula, Formula]]] = {
    variant: {
        "syn1": (PRODUCT, PRODUCT),
        "syn2": (squares, squares),
        "syn3": (sine, sine),
        "syn4": (PRODUCT, SQUARES_OF_FOUR),
        "syn5": (PRODUCT, sine),
        "syn6": (SQUARES_OF_FOUR, sine),
    }
    for variant, squares, sine in (
        ("paper", SQUARES_OF_THREE, SINE_FAST),
        ("invase", SQUARES_OF_FOUR, SINE_SLOW),
    )
}
SYNTHETIC_NAMES = tuple(VARIANTS["paper"])


def make_synthetic(
    name: str,
    n_samples: int = 10_000,
    n_features: int = 11,
    correlation: float = 0.0,
    variant: str = "paper",
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw one of Syn1-6.

    Parameters
    ----------
    name : "syn1" to "syn6" (or "Syn1" to "Syn6")
    n_samples : number of rows
    n_features : at least 11; those after the eleventh are noise
    correlation : rho in Cov(x_i, x_j) = rho^|i - j|, from 0 up to (not including) 1
    variant : "paper" (the copula paper's text) or "invase" (the INVASE authors' code)
    random_state : seed or generator; two different seeds give independent train and test rows

    Returns
    -------
    X : float (n_samples, n_features), standard normal columns
    y : int (n_samples,), 0 or 1
    relevant : bool (n_samples, n_features), the features that decide each row

    Examples
    --------
    >>> X, y, relevant = make_synthetic("syn4", n_samples=100, random_state=0)
    >>> X.shape, y.shape
    ((100, 11), (100,))
    >>> sorted(set(relevant.sum(axis=1).tolist()))  # x1, x2 and x11, or x3..x6 and x11
    [3, 5]
    """
    below, above = _formulas(name, variant)
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; got {n_samples}")
    if n_features < SWITCH:
        raise ValueError(f"n_features must be at least {SWITCH}; got {n_features}")
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation must be in [0, 1); got {correlation}")
    rng = np.random.default_rng(random_state)
    X = _gaussian_rows(rng, n_samples, n_features, correlation)
    is_below = X[:, SWITCH - 1] < 0
    gamma = np.where(is_below, _evaluate(below, X), _evaluate(above, X))
    y = (rng.random(n_samples) < expit(-gamma)).astype(np.int64)
    relevant = np.zeros(X.shape, dtype=bool)
    for rows, formula in ((is_below, below), (~is_below, above)):
        relevant[np.ix_(rows, np.array(formula.features) - 1)] = True
    relevant[:, SWITCH - 1] |= below is not above
    return X, y, relevant


def _formulas(name: str, variant: str) -> tuple[Formula, Formula]:
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {tuple(VARIANTS)}; got {variant!r}")
    formulas = VARIANTS[variant].get(str(name).lower())
    if formulas is None:
        raise ValueError(f"name must be one of {SYNTHETIC_NAMES}; got {name!r}")
    return formulas


def _evaluate(formula: Formula, X: np.ndarray) -> np.ndarray:
    return formula.gamma(*(X[:, i - 1] for i in formula.features))


def _gaussian_rows(rng: np.random.Generator, n: int, d: int, correlation: float) -> np.ndarray:
    """Standard normal columns with Cov(x_i, x_j) = rho^|i-j|: x_i = rho x_(i-1) + sqrt(1 - rho^2) e_i."""
    X = rng.standard_normal((n, d))
    for i in range(1, d if correlation else 0):
        X[:, i] = correlation * X[:, i - 1] + np.sqrt(1 - correlation**2) * X[:, i]
    return X
