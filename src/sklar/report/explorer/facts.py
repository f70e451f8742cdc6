"""What the page knows: a model's answers on a table, as plain values."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np

from sklar.audit import AuditReport
from sklar.explain import LINKED, SURE, selection_shares
from sklar.report.explorer.tables import cells, four_digits, row_labels, spread_rows
from sklar.report.ordering import linked_order, strongest
from sklar.table.cells import dense, take_rows

MOST_COLUMNS = 200  # of the mask table: the most selected features
MOST_LINKED = 40  # features on the map of links
MOST_AVERAGED = 100  # rows whose correlation is averaged for it, where rows differ in theirs (joint training)
MOST_GROUPS = 12  # classes with a column of their own in the table of features
SELECTED, SURELY = 1, 2  # bits of a cell's state


def collect(estimator: Any, X: Any, y: Any, *, max_rows: int, audit: AuditReport | None) -> dict[str, Any]:
    """Everything that the page shows, as JSON can hold it. Numbers are of all rows, the table of at most `max_rows`."""
    names = [str(name) for name in estimator._names()]
    masks, predictions, target = dense(estimator.select(X)), estimator.predict(X), np.asarray(y)
    if target.dtype.names or predictions.ndim != 1:
        raise ValueError("a report takes one class or one value a row; this y, or this model, has several")
    if target.ndim != 1 or len(target) != len(masks):
        raise ValueError(f"y must have one value for each of the {len(masks)} rows of X; got shape {target.shape}")
    classes = getattr(estimator, "classes_", None)
    groups, codes = _groups(target, classes)
    rows = spread_rows(len(masks), max_rows)
    some = take_rows(X, rows)
    certainty = _certainty(estimator, some)
    shown = _columns(masks[rows], certainty)
    state = _state(masks[rows], certainty)
    return {
        "model": _model(estimator, len(names)),
        "score": _score(target, predictions, classes),
        "sizes": _sizes(masks),
        "sure_choices": float((state == SELECTED + SURELY).sum() / max(1, masks[rows].sum())),
        "n_rows": len(masks),
        "groups": groups,
        "group_title": "third of the target" if classes is None else "class",
        "features": _features(names, masks, codes, len(groups), shown),
        "columns": [{"feature": int(j), "values": cells(some, int(j))} for j in shown],
        "rows": {
            "label": row_labels(some, rows),
            "group": codes[rows].tolist(),
            "target": [_told(value, classes) for value in target[rows]],
            "prediction": [_told(value, classes) for value in predictions[rows]],
            "right": None if classes is None else (target == predictions)[rows].tolist(),
            "proba": _proba(estimator, some),
            "order": _order(estimator, some, shown),
            "places": _places(estimator, some),
        },
        "cells": {
            "certainty": _packed(np.round(100 * certainty[:, shown])),
            "state": _packed(state[:, shown]),
        },
        "links": _links(estimator, take_rows(some, spread_rows(len(rows), MOST_AVERAGED)), names),
        "path": _path(estimator),
        "audit": None if audit is None else audit.to_dict(),
        "thresholds": {"sure": SURE, "linked": LINKED},
    }


def _model(estimator: Any, n_features: int) -> dict[str, Any]:
    return {
        "name": type(estimator).__name__,
        "objective": estimator.objective,
        "penalty": float(estimator.penalty_),
        "n_features": n_features,
        "n_models": getattr(estimator, "n_models_", 1),
        "ranked": callable(getattr(estimator, "rank", None)),
    }


def _groups(target: np.ndarray, classes: np.ndarray | None) -> tuple[list[str], np.ndarray]:
    """Names to filter rows by, and each row's: its class, or the third of the target it lies in."""
    if classes is not None:
        labels = [str(label) for label in classes]
        place = {label: code for code, label in enumerate(labels)}
        unknown = sorted({str(value) for value in target} - set(labels))  # a class that the model never saw
        place |= {label: len(labels) + code for code, label in enumerate(unknown)}
        return [*labels, *unknown], np.array([place[str(value)] for value in target])
    low, high = np.quantile(target.astype(float), [1 / 3, 2 / 3])
    codes = (target > low).astype(int) + (target > high)
    return [f"lowest (to {low:.4g})", f"middle (to {high:.4g})", f"highest (above {high:.4g})"], codes


def _certainty(estimator: Any, some: Any) -> np.ndarray:
    """P(selected), or the share of models where there are several: (n, d)."""
    shares = selection_shares(estimator, some)
    return dense(estimator.selection_proba(some)).astype(float) if shares is None else shares


def _state(masks: np.ndarray, certainty: np.ndarray) -> np.ndarray:
    """Bits of every cell: is the feature selected, and is that sure."""
    sure = np.where(masks, certainty, 1 - certainty) >= SURE
    return (SELECTED * masks + SURELY * sure).astype(np.uint8)


def _columns(masks: np.ndarray, certainty: np.ndarray) -> np.ndarray:
    """The features worth a column: selected, or not surely left out, in some row; the most selected if many."""
    worth = np.flatnonzero(masks.any(axis=0) | (certainty > 1 - SURE).any(axis=0))
    most_selected = worth[np.argsort(-masks[:, worth].mean(axis=0), kind="stable")[:MOST_COLUMNS]]
    return np.sort(most_selected)


def _features(
    names: list[str], masks: np.ndarray, codes: np.ndarray, n_groups: int, shown: np.ndarray
) -> list[dict[str, Any]]:
    """Each feature with its share of rows, overall and by group; `column` is its place in the table or -1."""
    places = {int(j): place for place, j in enumerate(shown)}
    overall = 100 * masks.mean(axis=0)
    by_group = np.full((n_groups, masks.shape[1]), np.nan)
    for group in np.unique(codes):
        by_group[group] = 100 * masks[codes == group].mean(axis=0)
    several = 1 < n_groups <= MOST_GROUPS
    return [
        {
            "name": name,
            "share": round(float(overall[j]), 1),
            "by_group": [None if np.isnan(v) else round(float(v), 1) for v in by_group[:, j]] if several else [],
            "column": places.get(j, -1),
        }
        for j, name in enumerate(names)
    ]


def _score(target: np.ndarray, predictions: np.ndarray, classes: np.ndarray | None) -> dict[str, Any]:
    """Accuracy beside the best constant guess, or R^2 (whose guess is 0), in percent."""
    if classes is not None:
        _, counts = np.unique(target, return_counts=True)
        accuracy = 100 * float(np.mean(target == predictions))
        return {"name": "accuracy", "value": accuracy, "guess": 100 * float(counts.max() / len(target))}
    left = float(np.mean((target - predictions) ** 2) / (np.var(target) or 1.0))
    return {"name": "R²", "value": 100 * (1 - left), "guess": 0.0}


def _sizes(masks: np.ndarray) -> dict[str, Any]:
    sizes = masks.sum(axis=1)
    return {
        "mean": float(sizes.mean()),
        "least": int(sizes.min()),
        "most": int(sizes.max()),
        "ever": int(masks.any(axis=0).sum()),
    }


def _proba(estimator: Any, some: Any) -> list[float] | None:
    """P of the predicted class, percent."""
    if not hasattr(estimator, "classes_"):
        return None
    return [round(100 * float(p), 1) for p in estimator.predict_proba(some).max(axis=1)]


def _order(estimator: Any, some: Any, shown: np.ndarray) -> list[list[int]] | None:
    """A ranker's columns, best first; None for a selector."""
    if not callable(getattr(estimator, "rank", None)):
        return None
    places = {int(j): place for place, j in enumerate(shown)}
    return [[places[int(j)] for j in row if int(j) in places] for row in estimator.rank(some)]


def _places(estimator: Any, some: Any) -> list[list[list[int]]] | None:
    """The places that a ranker's models give the features of `order`, from and to; None for one model."""
    if not callable(getattr(estimator, "rank", None)) or getattr(estimator, "n_models_", 1) == 1:
        return None
    return estimator.rank_interval(some).tolist()


def _links(estimator: Any, some: Any, names: list[str]) -> dict[str, Any]:
    """The map of links, reordered, and the pairs and groups beyond the threshold, strongest first."""
    correlation, groups = dense(estimator.correlation(some)), estimator.interchangeable(LINKED, some)
    shown = strongest(correlation, MOST_LINKED)
    shown = shown[linked_order(correlation[np.ix_(shown, shown)])]
    first, second = np.nonzero(np.triu(np.abs(correlation) > LINKED, 1))
    by_strength = np.argsort(-np.abs(correlation[first, second]), kind="stable")
    pairs = [[int(first[i]), int(second[i]), round(float(correlation[first[i], second[i]]), 2)] for i in by_strength]
    place = {name: j for j, name in enumerate(names)}
    return {
        "features": shown.tolist(),
        "values": np.round(correlation[np.ix_(shown, shown)], 2).tolist(),
        "pairs": pairs,
        "interchangeable": [[place[name] for name in group] for group in groups],
    }


def _path(estimator: Any) -> dict[str, Any] | None:
    if not estimator.path_:
        return None
    columns = {key: [four_digits(float(v)) for v in values] for key, values in estimator.path_.items()}
    chosen = int(np.argmin(np.abs(np.log(np.array(estimator.path_["penalty"]) / estimator.penalty_))))
    return {**columns, "chosen": chosen}


def _told(value: Any, classes: np.ndarray | None) -> Any:
    return str(value) if classes is not None else four_digits(float(value))


def _packed(values: np.ndarray) -> str:
    """Small whole numbers, a byte each, row by row."""
    return b64encode(values.astype(np.uint8).tobytes()).decode("ascii")
