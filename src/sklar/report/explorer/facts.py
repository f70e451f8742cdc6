"""What the page knows: a model's answers on a table, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.audit import AuditReport
from sklar.explain import LINKED, SURE
from sklar.fitted import FittedModel
from sklar.report.explorer.choices import choices
from sklar.report.explorer.levels import Level, asked_at, level_facts, levels_of, rows_asked
from sklar.report.explorer.tables import cells, four_digits, spread_rows
from sklar.report.ordering import linked_order, strongest
from sklar.rules import MOST_ROWS as MOST_RULED
from sklar.table.adapter import adapt
from sklar.table.cells import show_value
from sklar.table.sparse import dense
from sklar.table.target_values import check_outcomes
from sklar.target import spelled_as

MOST_COLUMNS = 200  # of the mask table: the most selected features
MOST_LINKED = 40  # features on the map of links
MOST_AVERAGED = 100  # rows whose correlation is averaged for it, where rows differ in theirs (joint training)
# Of the mask table, so that a page stays below 3 MB; and what a row and its cells take, alone and at every price.
MOST_BYTES = 2_500_000
BYTES_OF_ROW, BYTES_OF_NUMBER, BYTES_OF_TEXT = 60, 8, 22
ROW_AT_PRICE, CELL_AT_PRICE = 20, 3


def collect(fitted: FittedModel, X: Any, y: Any, *, max_rows: int, audit: AuditReport | None) -> dict[str, Any]:
    """Everything that the page shows, as JSON can hold it. Numbers are of all rows, the table of at most `max_rows`.

    Rules, and the share of sure choices, are of some of very many.
    """
    names, classes, everything = list(fitted.schema.names), fitted.target.classes, fitted.read(X)
    target = np.asarray(y)
    _require_one_target(target, fitted.predictions(everything))
    if classes is not None:
        target = spelled_as(classes, target)
        _require_known(target, classes)
    groups, codes = _groups(target, classes)
    asked = asked_at(fitted)
    most_rows = _rows_that_fit(dense(fitted.masks(everything)), fitted.schema.encoding.has_text, len(asked))
    shown_rows = spread_rows(len(target), min(max_rows, most_rows))
    some, rows = adapt(adapt(X).take(shown_rows)), everything[shown_rows]
    levels = levels_of(fitted, everything, shown_rows)
    shown = _columns(levels)
    told = [level_facts(level, rows, target, codes, len(groups), shown) for level in levels]
    chosen = next(i for i, level in enumerate(levels) if level.chosen)
    return {
        "model": _model(fitted),
        "score": {"name": "R²" if classes is None else "accuracy", "guess": _guess(target, classes)},
        "n_rows": len(target),
        "n_ruled": min(len(target), MOST_RULED),
        "n_sure": rows_asked(fitted, len(target)),
        "groups": groups,
        "group_title": "range of the target" if classes is None else "class",
        "features": _features(names, shown),
        "columns": [_column(fitted, some, int(j)) for j in shown],
        "rows": {
            "label": some.row_labels(shown_rows),
            "group": codes[shown_rows].tolist(),
            "target": [str(v) if classes is not None else four_digits(float(v)) for v in target[shown_rows]],
        },
        "levels": told,
        "chosen": chosen,
        "effect": _effect(fitted),
        "links": _links(fitted, rows[spread_rows(len(shown_rows), MOST_AVERAGED)], names),
        "path": _path(fitted, [level.value for level in levels]),
        "choices": choices(fitted.history),
        "audit": None if audit is None else audit.to_dict(),
        "thresholds": {"sure": SURE, "linked": LINKED},
    }


def _effect(fitted: FittedModel) -> dict[str, Any]:
    """What effects are of, in words: `of_class` is the class, or None for that predicted, or a value."""
    kind, classes = fitted.target.kind, fitted.target.classes
    units = {"classes": "points", "risk": "log hazard"}
    return {
        "points": kind == "classes",
        "unit": units.get(kind, ""),
        "of_class": str(classes[1]) if classes is not None and len(classes) == 2 else None,
    }


def _column(fitted: FittedModel, some: Any, j: int) -> dict[str, Any]:
    """A column of the table: its feature, the cells of the rows shown, and whether they are numbers."""
    return {"feature": j, "values": cells(some, j), "numeric": fitted.schema.encoding.categories[j] is None}


def _guess(target: np.ndarray, classes: np.ndarray | None) -> float:
    """The score of the best constant guess, in percent."""
    if classes is None:
        return 0.0
    return 100 * float(np.unique(target, return_counts=True)[1].max() / len(target))


def _rows_that_fit(masks: np.ndarray, has_text: bool, n_levels: int) -> int:
    """Rows of the table that a page can hold at so many prices: as many as `MOST_BYTES` are enough for."""
    columns = min(MOST_COLUMNS, int(masks.any(axis=0).sum()))
    cell = (BYTES_OF_TEXT if has_text else BYTES_OF_NUMBER) + CELL_AT_PRICE * n_levels
    return MOST_BYTES // (BYTES_OF_ROW + ROW_AT_PRICE * n_levels + columns * cell)


def _require_one_target(target: np.ndarray, predictions: np.ndarray) -> None:
    if target.dtype.names or predictions.ndim != 1:
        raise ValueError("a report takes one class or one value a row; this y, or this model, has several")
    if target.shape != predictions.shape:
        raise ValueError(
            f"y must have one value for each of the {len(predictions)} rows of X; got shape {target.shape}"
        )
    check_outcomes(target)


def _model(fitted: FittedModel) -> dict[str, Any]:
    return {
        "name": fitted.name,
        "objective": fitted.objective,
        "penalty": float(fitted.penalty),
        "n_features": fitted.schema.n_columns,
        "n_models": fitted.n_models,
        "ranked": fitted.k is not None,
    }


def _require_known(target: np.ndarray, classes: np.ndarray) -> None:
    if not {str(label) for label in classes} & {str(value) for value in target}:
        known = ", ".join(map(str, classes[:10]))
        raise ValueError(f"y holds none of the model's classes ({known})")


def _groups(target: np.ndarray, classes: np.ndarray | None) -> tuple[list[str], np.ndarray]:
    """Names to filter rows by, and each row's: its class, or the third of the target it lies in."""
    if classes is not None:
        labels = [str(label) for label in classes]
        place = {label: code for code, label in enumerate(labels)}
        unknown = sorted({str(value) for value in target} - set(labels))  # a class that the model never saw
        place |= {label: len(labels) + code for code, label in enumerate(unknown)}
        return [*labels, *unknown], np.array([place[str(value)] for value in target])
    return _thirds(target.astype(float))


def _thirds(target: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Values as low, middle and high; one group a value where there are no more than three, none without rows."""
    values = np.unique(target)
    if len(values) <= 3:
        return [show_value(float(value)) for value in values], np.searchsorted(values, target)
    low, high = np.quantile(target, [1 / 3, 2 / 3])
    codes = (target > low).astype(int) + (target > high)
    lower, upper = show_value(float(low)), show_value(float(high))
    names = [f"lowest (to {lower})", f"middle (to {upper})", f"highest (above {upper})"]
    filled = np.unique(codes)
    return [names[code] for code in filled], np.searchsorted(filled, codes)


def _columns(levels: list[Level]) -> np.ndarray:
    """The features worth a column: selected, or not surely left out, in some row at some price; the most selected."""
    masks = sum(level.shown_masks.mean(axis=0) for level in levels)
    near = [(level.certainty > 1 - SURE).any(axis=0) & level.chosen for level in levels]
    worth = np.flatnonzero((masks > 0) | np.any(near, axis=0))
    return np.sort(worth[np.argsort(-masks[worth], kind="stable")[:MOST_COLUMNS]])


def _features(names: list[str], shown: np.ndarray) -> list[dict[str, Any]]:
    """Each feature; `column` is its place in the table or -1."""
    places = {int(j): place for place, j in enumerate(shown)}
    return [{"name": name, "column": places.get(j, -1)} for j, name in enumerate(names)]


def _links(fitted: FittedModel, rows: Any, names: list[str]) -> dict[str, Any]:
    """The map of links, reordered, and the pairs and groups beyond the threshold, strongest first."""
    correlation, groups = fitted.correlation(rows), fitted.interchangeable()
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
        "interchangeable": [
            {
                "features": [place[name] for name in group],
                "replacements": [[place[one.feature], place[one.by], one.said] for one in group.replacements],
            }
            for group in groups
        ],
    }


def _path(fitted: FittedModel, prices: list[float]) -> dict[str, Any] | None:
    """How far the held-out loss at each price is above the smallest, and its error; from how many one was chosen."""
    if "loss" not in fitted.path or "penalty" not in fitted.path:
        return None
    tried, loss, error = (np.array(fitted.path[key], dtype=float) for key in ("penalty", "loss", "error"))
    nearest = [int(np.argmin(np.abs(np.log(tried / price)))) for price in prices]
    above = {"above": loss - loss.min(), "error": error}
    return {"tried": len(tried), **{key: [four_digits(float(v)) for v in of[nearest]] for key, of in above.items()}}
