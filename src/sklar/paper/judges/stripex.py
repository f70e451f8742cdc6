"""STRIPE-X (Puli, Nguyen, Ranganath, NeurIPS 2024): EVAL-X less what a selection tells beyond the values it shows.

A selection encodes where "these are the features that were selected" tells about the target although their values are
known. ENCODE-METER measures it: with v a selection that may be another row's, I(y; [this row's own is v] | x_v), here
with as many own ones as others. STRIPE-X is the mean log-likelihood of EVAL-X, less alpha times ENCODE-METER; with
alpha large enough, every selection that does not encode comes before every one that does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklar.paper.judges.boosting import Boosting, Rows, boosted

TREES = Boosting(rounds_without_held_out=60)
FOLDS = 2


class StripexScore(NamedTuple):
    """What STRIPE-X says of a selection, in nats per row."""

    score: float  # evalx - alpha * encode_meter; higher is better
    evalx: float  # mean log-likelihood of the target, by a judge of random masks
    encode_meter: float  # at least 0; 0 is no encoding


def stripex(
    X: np.ndarray, y: np.ndarray, masks: np.ndarray, alpha: float = 20.0, random_state: int = 0
) -> StripexScore:
    """Judge the selection `masks`, bool (n, d), of rows X (n, d) with labels y (n,); rows are cross-fitted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> plain = np.tile([True, False, False], (2000, 1))
    >>> code = np.column_stack([np.zeros(2000, dtype=bool), y == 1, y == 0])  # names the class by a noise column
    >>> stripex(X, y, plain).score > stripex(X, y, code).score
    True
    """
    X, masks = np.asarray(X, dtype=np.float64), np.asarray(masks, dtype=bool)
    classes, codes = np.unique(y, return_inverse=True)
    rng = np.random.default_rng(random_state)
    fold = rng.permutation(len(X)) % FOLDS
    random = rng.random(X.shape) < rng.random((len(X), 1))  # what the judge learns from
    others = masks[rng.permutation(len(X))]  # selections of other rows, shown for these
    # half of the rows are shown their own, so that both answers to "is it its own?" are known
    shown = np.where(rng.random((len(X), 1)) < 0.5, masks, others)
    is_own = (shown == masks).all(axis=1)
    evalx, meter = np.empty(len(X)), np.empty(len(X))
    for f in range(FOLDS):
        learn, test = fold != f, fold == f

        def fit(inputs: np.ndarray, rows: np.ndarray = learn, judged: np.ndarray = test) -> np.ndarray:
            trees = boosted("classes", len(classes), Rows(inputs[rows], codes[rows]), None, TREES, random_state)
            return trees(inputs[judged])

        judge = boosted("classes", len(classes), Rows(_seen(X, random)[learn], codes[learn]), None, TREES, random_state)
        evalx[test] = _of_target(judge(_seen(X, masks)[test]), codes[test])
        without, with_flag = fit(_seen(X, shown)), fit(np.column_stack([_seen(X, shown), is_own]))
        meter[test] = _of_target(with_flag, codes[test]) - _of_target(without, codes[test])
    encode_meter = max(0.0, float(meter.mean()))
    return StripexScore(float(evalx.mean()) - alpha * encode_meter, float(evalx.mean()), encode_meter)


def _seen(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Values where shown, NaN where hidden, which trees take as it is."""
    return np.where(mask, X, np.nan)


def _of_target(log_p: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The log-probability of each row's class: (n,)."""
    return np.clip(log_p[np.arange(len(codes)), codes], -20, 0)
