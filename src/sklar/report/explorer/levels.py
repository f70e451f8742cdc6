"""The model at several prices, or numbers of features: what changes on the page when a reader drags the slider."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.effects import effects
from sklar.explain import PLACES_LEVEL, SURE, selection_shares
from sklar.fitted import FittedModel
from sklar.report.explorer.tables import four_digits, spread_rows
from sklar.rules import Rules, rules
from sklar.table.sparse import dense

MOST_LEVELS = 8
MOST_GROUPS = 12  # classes with a column of their own in the table of features
MOST_DRAWN = 2000  # rows of a ranker, whose gates are drawn some hundred times
ROWS_AT_ONCE = 1000  # whose certainty is asked: there may be many columns
SELECTED, SURELY = 1, 2  # bits of a cell's state
LARGEST = 2**15 - 1  # a packed effect, which is a share of the level's largest


@dataclass(frozen=True)
class Level:
    """A model at one price or k, and what it says about all rows and those shown."""

    fitted: FittedModel
    value: float  # the penalty, or k
    chosen: bool
    masks: np.ndarray  # of all rows, (n, d)
    predictions: np.ndarray  # of all rows, (n,)
    shown_rows: np.ndarray
    certainty: np.ndarray  # of the rows shown, (m, d): P(selected), or the share of models where there are several
    effects: np.ndarray  # of the rows shown, (m, d)
    sure: float  # share of what all rows select, as far as `rows_asked` goes
    rules: Rules  # of all rows

    @property
    def shown_masks(self) -> np.ndarray:
        """Masks of the rows shown: (m, d)."""
        return self.masks[self.shown_rows]

    @property
    def state(self) -> np.ndarray:
        """Bits of every cell of the rows shown: is the feature selected, and is that sure."""
        masks = self.shown_masks
        sure = np.where(masks, self.certainty, 1 - self.certainty) >= SURE
        return (SELECTED * masks + SURELY * sure).astype(np.uint8)


def asked_at(fitted: FittedModel) -> list[tuple[float, FittedModel]]:
    """Up to eight penalties or numbers of features, small to large, with the model at each; one where it knows one."""
    if fitted.k is not None:
        least = max(1, len(fitted.network.architecture.forced))
        counts = np.unique(np.geomspace(least, fitted.k, MOST_LEVELS).round().astype(int)).tolist()
        return [(float(k), fitted.at(k=k)) for k in counts]
    if fitted.priced is None:
        return [(fitted.penalty, fitted)]
    others = [p for p in fitted.path["penalty"] if not np.isclose(p, fitted.penalty, rtol=1e-4)]
    return [(p, fitted.at(penalty=p)) for p in sorted([fitted.penalty, *others[-(MOST_LEVELS - 1) :]])]


def levels_of(fitted: FittedModel, rows: Any, shown_rows: np.ndarray) -> list[Level]:
    """The model at every price, on rows that were read."""
    some = rows[shown_rows]

    def at(value: float, model: FittedModel) -> Level:
        masks = dense(model.masks(rows))
        return Level(
            fitted=model,
            value=value,
            chosen=model is fitted,
            masks=masks,
            predictions=model.predictions(rows),
            shown_rows=shown_rows,
            certainty=certainty(model, some),
            effects=signed_effects(model, some),
            sure=sure_share(model, rows, masks),
            rules=rules(model, rows),
        )

    return [at(value, model) for value, model in asked_at(fitted)]


def sure_share(fitted: FittedModel, rows: Any, masks: np.ndarray) -> float:
    """The share of what rows select by masks (n, d) that is surely in; of at most so many rows as `rows_asked` says."""
    asked = spread_rows(rows.shape[0], rows_asked(fitted, rows.shape[0]))
    selected = sure = 0
    for part in np.array_split(asked, -(-len(asked) // ROWS_AT_ONCE) or 1):
        own = masks[part]
        selected += int(own.sum())
        sure += int((own & (certainty(fitted, rows[part]) >= SURE)).sum())
    return sure / max(1, selected)


def rows_asked(fitted: FittedModel, n: int) -> int:
    """How many of n rows are asked how sure their choices are: all, but for a ranker whose gates are drawn."""
    return n if fitted.k is None or fitted.n_models > 1 else min(n, MOST_DRAWN)


def certainty(fitted: FittedModel, rows: Any) -> np.ndarray:
    """P(selected), or the share of models where there are several: (n, d)."""
    shares = selection_shares(fitted, rows)
    return dense(fitted.selection_proba(rows)).astype(float) if shares is None else shares


def signed_effects(fitted: FittedModel, rows: Any) -> np.ndarray:
    """Effects on the value, or the predicted class; of two classes on the second, so that rows compare: (n, d)."""
    classes = fitted.target.classes
    return effects(fitted, rows, 1 if classes is not None and len(classes) == 2 else None).values


def level_facts(
    level: Level, rows: Any, target: np.ndarray, codes: np.ndarray, n_groups: int, shown: np.ndarray
) -> Any:
    """What the page needs to know about a level; `shown` are the features of the table's columns."""
    fitted, masks = level.fitted, level.shown_masks
    selected = masks[:, shown]
    largest = float(np.abs(level.effects[:, shown]).max(initial=0)) or 1.0
    packed = np.round(level.effects[:, shown][selected] / largest * LARGEST).astype("<i2")
    classes = fitted.target.classes
    said = level.predictions[level.shown_rows]
    return {
        "value": four_digits(level.value),
        "score": score_of(target, level.predictions, classes),
        "sizes": sizes_of(level.masks),
        "sure": level.sure,
        "features": _shares(level.masks, codes, n_groups),
        "state": _packed(_four_a_byte(level.state[:, shown])),
        "certainty": _packed(np.round(100 * level.certainty[:, shown])) if fitted.n_models > 1 else None,
        "effects": b64encode(packed.tobytes()).decode("ascii"),
        "largest": largest,
        "prediction": [str(value) if classes is not None else four_digits(float(value)) for value in said],
        "proba": _proba(fitted, rows),
        "order": _order(fitted, rows, shown, selected),
        "places": None if fitted.k is None or fitted.n_models == 1 else fitted.places(rows, PLACES_LEVEL).tolist(),
        "rules": level.rules.to_list(),
    }


def score_of(target: np.ndarray, predictions: np.ndarray, classes: np.ndarray | None) -> float:
    """Accuracy, or R^2, in percent."""
    if classes is not None:
        return 100 * float(np.mean(target == predictions))
    return 100 * (1 - float(np.mean((target - predictions) ** 2) / (np.var(target) or 1.0)))


def sizes_of(masks: np.ndarray) -> dict[str, Any]:
    """Features per row, and those that any row gets."""
    sizes = masks.sum(axis=1)
    ever = int(masks.any(axis=0).sum())
    return {"mean": float(sizes.mean()), "least": int(sizes.min()), "most": int(sizes.max()), "ever": ever}


def _shares(masks: np.ndarray, codes: np.ndarray, n_groups: int) -> list[list[Any]]:
    """The features in use: number, share of the rows in percent, and its share of each group."""
    several = 1 < n_groups <= MOST_GROUPS
    by_group = [masks[codes == group] for group in range(n_groups)] if several else []
    used = np.flatnonzero(masks.any(axis=0))
    shares = [100 * part.mean(axis=0) if len(part) else None for part in (masks, *by_group)]
    return [[int(j), *(None if share is None else round(float(share[j]), 1) for share in shares)] for j in used]


def _proba(fitted: FittedModel, rows: Any) -> list[float] | None:
    """P of the predicted class, percent."""
    if fitted.target.classes is None:
        return None
    return [round(100 * float(p), 1) for p in fitted.probabilities(rows).max(axis=1)]


def _order(fitted: FittedModel, rows: Any, shown: np.ndarray, selected: np.ndarray) -> str | None:
    """A ranker's places, 1 the best, of the cells that are selected, row by row; None for a selector."""
    if fitted.k is None:
        return None
    ranks = fitted.ranks(rows)
    places = np.zeros((len(ranks), fitted.schema.n_columns))
    np.put_along_axis(places, ranks, np.arange(1, ranks.shape[1] + 1)[np.newaxis].clip(max=255), axis=1)
    return _packed(places[:, shown][selected])


def _four_a_byte(state: np.ndarray) -> np.ndarray:
    """Cells of two bits each, row by row, four to a byte, the first lowest."""
    flat = np.zeros(-(-state.size // 4) * 4, dtype=np.uint8)
    flat[: state.size] = state.ravel()
    return (flat.reshape(-1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=1)


def _packed(values: np.ndarray) -> str:
    """Small whole numbers, a byte each, row by row."""
    return b64encode(values.astype(np.uint8).tobytes()).decode("ascii")
