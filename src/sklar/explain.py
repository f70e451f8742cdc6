"""One row in words: what was predicted, from which features, how sure that choice is, and what could stand in for them.

Asks a fitted model only what any user may ask, so it explains whatever columns the model accepts.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sklar.effects import effects, show_effect
from sklar.fitted import FittedModel
from sklar.table.adapter import adapt, collected
from sklar.table.cells import plain, show_value
from sklar.table.one_row import as_array, columns_of_one
from sklar.table.sparse import dense

# A decision is sure where at least this share of the gate's draws (or of the models, where there are several) agree.
SURE = 0.8
# Gates correlated beyond this, in either direction, are shown to the reader.
LINKED = 0.5
PLACES_LEVEL = 0.9  # share of a ranker's models that agree on the places shown


@dataclass(frozen=True)
class Feature:
    """One feature of an explained row."""

    name: str
    value: Any
    selected: bool
    probability: float  # of its gate: P(z_i = 1 | x)
    frequency: float | None = None  # share of the models that select it, where there are several
    interchangeable: tuple[str, ...] = ()  # features that could stand in for it, none of them selected here
    replacements: tuple[str, ...] = ()  # what each of these would cost, in words
    together: tuple[str, ...] = ()  # features it works together with
    places: tuple[int, int] | None = None  # lowest and highest that a ranker's models give it
    # what hiding it takes from the prediction (see `sklar.effects`), one a target where there are several
    effect: float | tuple[float, ...] | None = None

    @property
    def sure(self) -> bool:
        """Whether it is clearly in, if selected, or else clearly out."""
        return is_sure(self.probability if self.frequency is None else self.frequency, self.selected)


@dataclass(frozen=True)
class Explanation:
    """What a model says about one row. `print` it; `to_dict` gives the same as plain values."""

    prediction: Any  # a list where there are several targets
    probability: float | None  # of the predicted class; None for values, and for several labels
    selected: tuple[Feature, ...]  # best first for a ranker, else the largest effect first
    nearly: tuple[Feature, ...]  # not selected, but not surely so
    n_features: int
    ranked: bool
    n_models: int
    kind: str = "classes"  # of the target, which says what effects are of (see `sklar.target`)
    hidden: tuple[str, ...] = ()  # features without a value here that every row of fit had: they cannot be selected

    @property
    def sure(self) -> bool:
        """Whether every feature is clearly in or clearly out."""
        return not self.nearly and all(feature.sure for feature in self.selected)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        plain_values = asdict(self)
        for group, features in (("selected", self.selected), ("nearly", self.nearly)):
            plain_values[group] = [
                {
                    **asdict(f),
                    "interchangeable": list(f.interchangeable),
                    "replacements": list(f.replacements),
                    "together": list(f.together),
                    "places": None if f.places is None else list(f.places),
                    "effect": list(f.effect) if isinstance(f.effect, tuple) else f.effect,
                    "sure": f.sure,
                }
                for f in features
            ]
        return {**plain_values, "hidden": list(self.hidden), "sure": self.sure}

    def __str__(self) -> str:
        """A few lines."""
        return "\n".join([self._headline(), *self._features(), *self._nearly(), *self._hidden(), *self._links()])

    def _headline(self) -> str:
        said = show_value(self.prediction)
        if self.probability is not None:
            said += f" ({100 * self.probability:.0f} %)"
        if not self.selected:
            return f"Predicted {said} from no feature: {self._why_none()}."
        how = ", best first" if self.ranked else ""
        whole = f"P({show_value(self.prediction)})" if self.probability is not None else "it"
        effects = f"; hiding one would take from {whole}" if self.selected[0].effect is not None else ""
        return f"Predicted {said} from {len(self.selected)} of {self.n_features} features{how}{effects}:"

    def _why_none(self) -> str:
        """A ranker has no price: its rows get k features, or as many as have something to show."""
        if self.ranked or len(self.hidden) == self.n_features:
            return f"none of {self.n_features} has a value to show in this row"
        return f"none of {self.n_features} is worth its price in this row"

    def _features(self) -> list[str]:
        cells = [f"{feature.name} = {show_value(feature.value)}" for feature in self.selected]
        effects = ["" if f.effect is None else show_effect(f.effect, self.kind) for f in self.selected]
        width, wide = (max(map(len, texts), default=0) for texts in (cells, effects))
        return [
            f"  {f'{place}. ' if self.ranked else ''}{cell:<{width}}   {f'{effect:>{wide}}   ' if wide else ''}{sure}"
            for place, (cell, effect, sure) in enumerate(
                zip(cells, effects, map(self._how_sure, self.selected), strict=True), start=1
            )
        ]

    def _how_sure(self, feature: Feature) -> str:
        """Whether the choice is sure; the probability of its gate is no measure of importance, and not shown."""
        word = "sure" if feature.sure else "unsure"
        if feature.frequency is None:
            return word
        votes = f"{round(feature.frequency * self.n_models)} of {self.n_models} models"
        if feature.places is not None:
            low, high = feature.places
            votes += f", place {low}" if low == high else f", places {low} to {high}"
        return f"{word:<6} ({votes})"

    def _nearly(self) -> list[str]:
        first = [f"{f.name} = {show_value(f.value)}" for f in self.nearly[:3]]
        more = f" and {len(self.nearly) - 3} more" if len(self.nearly) > 3 else ""
        return [f"Nearly selected: {', '.join(first)}{more}."] if first else []

    def _hidden(self) -> list[str]:
        if not self.hidden:
            return []
        few, more = list(self.hidden[:3]), len(self.hidden) - 3
        names = _listed([*few, f"{more} more"] if more > 0 else few)
        has = "has" if len(self.hidden) == 1 else "have"
        return [f"Hidden: {names} {has} no value here, and had one in every row of fit."]

    def _links(self) -> list[str]:
        lines: dict[str, None] = {}  # in order, each once: both members of a pair tell the same
        for feature in self.selected:
            partners = sorted({feature.name, *feature.together})
            for other, cost in zip(feature.interchangeable, feature.replacements, strict=True):
                lines[f"{other} could stand for {feature.name} ({cost})."] = None
            if feature.together:
                lines[f"{_listed(partners)} work together."] = None
        return list(lines)


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def explain(fitted: FittedModel, row: Any) -> Explanation:
    """Explain one row: a 1-d array or list, a pandas Series, named values, or a table of one row."""
    table = one_row(fitted, row)
    with names_by_position():
        rows = fitted.read(table)
    masks, proba = dense(fitted.masks(rows))[0], dense(fitted.selection_proba(rows))[0]
    shares = selection_shares(fitted, rows)
    certainty = proba if shares is None else shares[0]
    moved = effects(fitted, rows).values[0]  # (d,) or (d, targets)
    size = np.abs(moved) if moved.ndim == 1 else np.abs(moved).max(axis=1)
    order = fitted.ranks(rows)[0] if fitted.k else np.lexsort((-certainty, -size))
    describe = _describer(fitted, table, rows, masks, proba, shares, order, moved)
    unsure = [j for j in np.argsort(-certainty, kind="stable") if not masks[j] and not is_sure(certainty[j], False)]
    prediction = fitted.predictions(rows)[0]
    return Explanation(
        prediction=[plain(value) for value in prediction] if np.ndim(prediction) else plain(prediction),
        probability=float(fitted.probabilities(rows)[0].max()) if fitted.target.kind == "classes" else None,
        selected=tuple(describe(j) for j in order if masks[j]),
        nearly=tuple(describe(j) for j in unsure),
        n_features=len(masks),
        ranked=fitted.k is not None,
        n_models=fitted.n_models,
        kind=fitted.target.kind,
        hidden=tuple(np.array(fitted.schema.names, dtype=object)[fitted.withheld(rows)[0]].tolist()),
    )


def _describer(
    fitted: FittedModel,
    table: Any,
    rows: Any,
    masks: np.ndarray,
    proba: np.ndarray,
    shares: np.ndarray | None,
    order: np.ndarray,
    moved: np.ndarray,
) -> Callable[[int], Feature]:
    """What makes a `Feature` of a column's number."""
    names, cells = fitted.schema.names, adapt(table).cells
    correlation = fitted.correlation(rows)
    replacements = _replacements(fitted, masks, rows)
    places: dict[int, Any] = {}
    if fitted.k and shares is not None:
        places = dict(zip(order.tolist(), fitted.places(rows, PLACES_LEVEL)[0].tolist(), strict=True))

    def describe(j: int) -> Feature:
        value = plain(cells(int(j))[0])
        return Feature(
            name=names[j],
            value=plain(fitted.schema.value(rows, 0, int(j))) if value is None else value,
            selected=bool(masks[j]),
            probability=float(proba[j]),
            frequency=None if shares is None else float(shares[0, j]),
            interchangeable=tuple(replacements.get(names[j], ())),
            replacements=tuple(replacements.get(names[j], {}).values()),
            places=tuple(places[j]) if j in places else None,
            together=tuple(names[i] for i in np.flatnonzero(correlation[j] > LINKED) if i != j),
            effect=_plain_effect(moved[j]) if masks[j] else None,
        )

    return describe


def _replacements(fitted: FittedModel, mask: np.ndarray, rows: Any) -> dict[str, dict[str, str]]:
    """What could stand for a feature of a row with this mask (d,), and at what cost, by names.

    Of features that are selected together none is said to do for the other, nor a copy that differs in this row.
    """
    shown = set(np.array(fitted.schema.names, dtype=object)[mask])
    differing = fitted.schema.differing_copies(dense(rows))
    found: dict[str, dict[str, str]] = {}
    for group in fitted.interchangeable():
        if len(shown & set(group)) < 2:
            for one in group.replacements:
                if (one.feature, one.by) not in differing:
                    found.setdefault(one.feature, {})[one.by] = one.said
    return found


def _plain_effect(moved: np.ndarray) -> float | tuple[float, ...]:
    return float(moved) if np.ndim(moved) == 0 else tuple(map(float, moved))


def is_sure(probability: float, selected: bool) -> bool:
    """Whether a probability, or a share of models, makes a decision sure: close to 1 if selected, to 0 if not.

    Examples
    --------
    >>> is_sure(0.95, selected=True), is_sure(0.6, selected=True), is_sure(0.1, selected=False)
    (True, False, True)
    """
    return (probability if selected else 1 - probability) >= SURE


def selection_shares(fitted: FittedModel, rows: Any) -> np.ndarray | None:
    """The share of models that select each feature of each row, (n, d); None where there is one model."""
    return None if fitted.n_models == 1 else dense(fitted.votes(rows))


def one_row(fitted: FittedModel, row: Any, method: str = "explain") -> Any:
    """The row as a table that the model takes; a Series may hold other columns too, in any order.

    Errors name the `method` that was called.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(row, pandas.Series):
        row = row.to_frame().T.infer_objects()
        known = list(fitted.schema.names)
        return row[known] if fitted.schema.labels == "text" and set(known) <= set(row.columns) else row
    if isinstance(row, dict):
        return columns_of_one(fitted.schema.names, row, method)
    row = collected(row)
    table = as_array(row) if isinstance(row, list | tuple) or not hasattr(row, "shape") else row
    if len(table.shape) == 1:
        table = np.asarray(table)[np.newaxis]
    if len(table.shape) != 2 or table.shape[0] != 1:
        raise ValueError(f"{method} takes one row; got shape {tuple(table.shape)}: pass X[i], or X.iloc[i] of a frame")
    return table


@contextmanager
def names_by_position() -> Iterator[None]:
    """No warning about an array for a model that was fitted with names: the position says which column is which."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield
