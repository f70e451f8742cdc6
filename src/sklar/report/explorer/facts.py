"""What the page knows: a model's answers on a table, as plain values."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np

from sklar.audit import AuditReport
from sklar.explain import LINKED, PLACES_LEVEL, SURE, selection_shares
from sklar.fitted import FittedModel
from sklar.report.explorer.tables import cells, four_digits, spread_rows
from sklar.report.ordering import linked_order, strongest
from sklar.table.adapter import adapt
from sklar.table.cells import show_value
from sklar.table.sparse import dense

MOST_COLUMNS = 200  # of the mask table: the most selected features
MOST_LINKED = 40  # features on the map of links
MOST_AVERAGED = 100  # rows whose correlation is averaged for it, where rows differ in theirs (joint training)
MOST_GROUPS = 12  # classes with a column of their own in the table of features
# Of the mask table, so that a page stays below 3 MB; and what a row and its cells take.
MOST_BYTES = 2_500_000
BYTES_OF_ROW, BYTES_OF_NUMBER, BYTES_OF_TEXT = 80, 11, 25
SELECTED, SURELY = 1, 2  # bits of a cell's state


def collect(fitted: FittedModel, X: Any, y: Any, *, max_rows: int, audit: AuditReport | None) -> dict[str, Any]:
    """Everything that the page shows, as JSON can hold it. Numbers are of all rows, the table of at most `max_rows`."""
    names, classes, everything = list(fitted.schema.names), fitted.target.classes, fitted.read(X)
    masks, predictions, target = dense(fitted.masks(everything)), fitted.predictions(everything), np.asarray(y)
    _require_one_target(target, predictions)
    groups, codes = _groups(target, classes)
    shown_rows = spread_rows(len(masks), min(max_rows, _rows_that_fit(masks, fitted.schema.encoding.has_text)))
    some = adapt(adapt(X).take(shown_rows))
    rows = everything[shown_rows]
    certainty = _certainty(fitted, rows)
    shown = _columns(masks[shown_rows], certainty)
    state = _state(masks[shown_rows], certainty)
    return {
        "model": _model(fitted),
        "score": _score(target, predictions, classes),
        "sizes": _sizes(masks),
        "sure_choices": float((state == SELECTED + SURELY).sum() / max(1, masks[shown_rows].sum())),
        "n_rows": len(masks),
        "groups": groups,
        "group_title": "third of the target" if classes is None else "class",
        "features": _features(names, masks, codes, len(groups), shown),
        "columns": [{"feature": int(j), "values": cells(some, int(j))} for j in shown],
        "rows": {
            "label": some.row_labels(shown_rows),
            "group": codes[shown_rows].tolist(),
            "target": [_shown(value, classes) for value in target[shown_rows]],
            "prediction": [_shown(value, classes) for value in predictions[shown_rows]],
            "right": None if classes is None else (target == predictions)[shown_rows].tolist(),
            "proba": _proba(fitted, rows),
            "order": _order(fitted, rows, shown, masks[shown_rows]),
            "places": _places(fitted, rows),
        },
        "cells": {
            "certainty": _packed(np.round(100 * certainty[:, shown])),
            "state": _packed(state[:, shown]),
        },
        "links": _links(fitted, rows[spread_rows(len(shown_rows), MOST_AVERAGED)], names),
        "path": _path(fitted, float(masks.sum(axis=1).mean())),
        "audit": None if audit is None else audit.to_dict(),
        "thresholds": {"sure": SURE, "linked": LINKED},
    }


def _rows_that_fit(masks: np.ndarray, has_text: bool) -> int:
    """Rows of the table that a page can hold: as many as `MOST_BYTES` are enough for."""
    columns = min(MOST_COLUMNS, int(masks.any(axis=0).sum()))
    return MOST_BYTES // (BYTES_OF_ROW + columns * (BYTES_OF_TEXT if has_text else BYTES_OF_NUMBER))


def _require_one_target(target: np.ndarray, predictions: np.ndarray) -> None:
    if target.dtype.names or predictions.ndim != 1:
        raise ValueError("a report takes one class or one value a row; this y, or this model, has several")
    if target.shape != predictions.shape:
        raise ValueError(
            f"y must have one value for each of the {len(predictions)} rows of X; got shape {target.shape}"
        )


def _model(fitted: FittedModel) -> dict[str, Any]:
    return {
        "name": fitted.name,
        "objective": fitted.objective,
        "penalty": float(fitted.penalty),
        "n_features": fitted.schema.n_columns,
        "n_models": fitted.n_models,
        "ranked": fitted.k is not None,
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
    lower, upper = show_value(float(low)), show_value(float(high))
    return [f"lowest (to {lower})", f"middle (to {upper})", f"highest (above {upper})"], codes


def _certainty(fitted: FittedModel, rows: Any) -> np.ndarray:
    """P(selected), or the share of models where there are several: (n, d)."""
    shares = selection_shares(fitted, rows)
    return dense(fitted.selection_proba(rows)).astype(float) if shares is None else shares


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


def _proba(fitted: FittedModel, rows: Any) -> list[float] | None:
    """P of the predicted class, percent."""
    if fitted.target.classes is None:
        return None
    return [round(100 * float(p), 1) for p in fitted.probabilities(rows).max(axis=1)]


def _order(fitted: FittedModel, rows: Any, shown: np.ndarray, masks: np.ndarray) -> list[list[int]] | None:
    """A ranker's columns, best first, where they are selected; None for a selector."""
    if fitted.k is None:
        return None
    places = {int(j): place for place, j in enumerate(shown)}
    ranked = zip(fitted.ranks(rows).tolist(), masks, strict=True)
    return [[places[j] for j in row if j in places and mask[j]] for row, mask in ranked]


def _places(fitted: FittedModel, rows: Any) -> list[list[list[int]]] | None:
    """The places that a ranker's models give the features of `order`, from and to; None for one model."""
    return None if fitted.k is None or fitted.n_models == 1 else fitted.places(rows, PLACES_LEVEL).tolist()


def _links(fitted: FittedModel, rows: Any, names: list[str]) -> dict[str, Any]:
    """The map of links, reordered, and the pairs and groups beyond the threshold, strongest first."""
    correlation, groups = fitted.correlation(rows), fitted.interchangeable(LINKED, rows)
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


def _path(fitted: FittedModel, mean_features: float) -> dict[str, Any] | None:
    """The path; at the chosen penalty with the features per row of the page's rows, as everywhere on the page."""
    if not fitted.path:
        return None
    columns = {key: [four_digits(float(v)) for v in values] for key, values in fitted.path.items()}
    chosen = int(np.argmin(np.abs(np.log(np.array(fitted.path["penalty"]) / fitted.penalty))))
    columns["mean_features"][chosen] = four_digits(mean_features)
    return {**columns, "chosen": chosen}


def _shown(value: Any, classes: np.ndarray | None) -> Any:
    return str(value) if classes is not None else four_digits(float(value))


def _packed(values: np.ndarray) -> str:
    """Small whole numbers, a byte each, row by row."""
    return b64encode(values.astype(np.uint8).tobytes()).decode("ascii")
