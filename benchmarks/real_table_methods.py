"""What `real_tables.py` compares: a split of a table in the encodings that methods need, and the methods' masks.

Every mask is of the table's own columns, whatever a method is given:

    sklar              the table as it is: numbers, text, missing values
    TreeSHAP, permutation importance, the judge of trees
                       one number a column: categories as codes in alphabetical order, NaN where missing
    all others         one number a column: categories as the training mean of the target (cross-fitted; codes where
                       there are more than two classes), the training mean where a number is missing
    EVAL-X             sklar's own encoding, one-hot and with an input for "missing"; a column's inputs go together

Codes, means and scales are learned from training rows. A number that is missing in a column which misses none in the
training rows becomes the training median, for all methods alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import r_tables
from rivals import PRESETS
from sklearn.model_selection import KFold, train_test_split
from sklearn.preprocessing import OrdinalEncoder, TargetEncoder

import sklar
from sklar.datasets import load_table
from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.base import top_k
from sklar.predictor.masks import random_masks
from sklar.table.schema import Schema, read_training_table

TEST_SHARE = 0.3
SHUFFLES = 5  # of a column, for permutation importance
QUICK_SKLAR = {"max_epochs": 3}


@dataclass(frozen=True)
class Split:
    """Training and test rows of a table."""

    table: str
    number: int
    task: str
    X: pd.DataFrame
    y: np.ndarray
    train: np.ndarray  # row numbers
    test: np.ndarray
    quick: bool = False
    device: str = "cpu"
    cache: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: str, number: int, **options: Any) -> Split:
        """The split of a number: 70 to 30, of each class alike; the official one where the table has one."""
        loaded = r_tables.load(table) if table in r_tables.NAMES else load_table(table)
        X, y = pd.DataFrame(loaded.X), loaded.y
        X.columns = X.columns.astype(str)
        if loaded.train_rows is not None and loaded.test_rows is not None:
            train, test = loaded.train_rows, loaded.test_rows
        else:
            classes = y if loaded.task == "classification" else None
            parts = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, random_state=number, stratify=classes)
            train, test = parts
        return cls(table, number, loaded.task, _without_surprises(X, train), y, train, test, **options)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def is_classification(self) -> bool:
        return self.task == "classification"

    @property
    def y_train(self) -> np.ndarray:
        return self.y[self.train]

    @property
    def y_test(self) -> np.ndarray:
        return self.y[self.test]

    @cached_property
    def text(self) -> list[str]:
        """The columns that hold categories."""
        return [name for name in self.X if not pd.api.types.is_numeric_dtype(self.X[name])]

    @cached_property
    def codes(self) -> np.ndarray:
        """One number a column for trees: float (n, d)."""
        result = self.X.copy()
        if self.text:
            encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
            encoder.fit(self._text(self.train))
            result[self.text] = encoder.transform(self._text())
            result[self.text] = result[self.text].where(self.X[self.text].notna().to_numpy())
        return result.to_numpy(dtype=np.float64)

    @cached_property
    def numbers(self) -> np.ndarray:
        """One number a column, none missing, for networks and linear models: float (n, d)."""
        result = self.codes.copy()
        if self.text and (not self.is_classification or len(np.unique(self.y)) == 2):
            columns = [self.X.columns.get_loc(name) for name in self.text]
            result[:, columns] = self._target_means(self.train, slice(None))
            for kept, held in KFold(5, shuffle=True, random_state=0).split(self.train):
                held_rows = self.train[held]
                result[np.ix_(held_rows, columns)] = self._target_means(self.train[kept], held_rows)
        means = np.nanmean(result[self.train], axis=0)
        return np.where(np.isnan(result), means, result)

    @cached_property
    def inputs(self) -> tuple[np.ndarray, list[int]]:
        """The inputs of EVAL-X (n, D), and the column of each."""
        schema = Schema.of(read_training_table(self.X, self.y, None, "EVAL-X"), {})
        rows = schema.read(self.X)  # in the table's order, which a training table is not
        return schema.training_inputs(rows), np.repeat(np.arange(self.n_features), schema.encoding.widths()).tolist()

    def _target_means(self, learn: np.ndarray, rows: Any) -> np.ndarray:
        """The mean of the target for the categories of some rows, as others have it: (n, text columns)."""
        encoder = TargetEncoder(target_type="binary" if self.is_classification else "continuous")
        return encoder.fit(self._text(learn), self.y[learn]).transform(self._text(rows))

    def _text(self, rows: Any = slice(None)) -> pd.DataFrame:
        return self.X[self.text].iloc[rows].fillna("(missing)").astype(str)


def _without_surprises(X: pd.DataFrame, train: np.ndarray) -> pd.DataFrame:
    """Training medians for numbers that miss in test rows alone."""
    X = X.copy()
    for name in X:
        column = X[name]
        if pd.api.types.is_numeric_dtype(column) and column.isna().any() and not column.iloc[train].isna().any():
            X[name] = column.fillna(column.iloc[train].median())
    return X


class Selection(NamedTuple):
    """What a method shows of the test rows."""

    k: int | None  # None: as many as the method's own rule says
    masks: np.ndarray
    own_score: float | None  # of the method's own predictor from what it selects, percent
    seconds: float  # to fit and to select


Selections = Iterator[Selection]


def sklar_selector(split: Split, ks: list[int]) -> Selections:
    start = time.perf_counter()
    kind = sklar.CopulaSelectorClassifier if split.is_classification else sklar.CopulaSelectorRegressor
    yield _ours(kind(penalty="auto", **_sklar_params(split)), split, None, start)


def sklar_ranker(split: Split, ks: list[int]) -> Selections:
    kind = sklar.CopulaRankerClassifier if split.is_classification else sklar.CopulaRankerRegressor
    for k in ks:
        start = time.perf_counter()
        yield _ours(kind(k=k, **_sklar_params(split)), split, k, start)


def _sklar_params(split: Split) -> dict[str, Any]:
    return {"random_state": split.number, "device": split.device, **(QUICK_SKLAR if split.quick else {})}


def _ours(model: Any, split: Split, k: int | None, start: float) -> Selection:
    model.fit(split.X.iloc[split.train], split.y_train)
    asked = split.X.iloc[split.test]
    masks = np.asarray(model.select(asked), dtype=bool)
    seconds = time.perf_counter() - start
    return Selection(k, masks, 100 * float(model.score(asked, split.y_test)), seconds)


def boosted_trees(split: Split) -> Any:
    """LightGBM on all features, fitted once a split: what TreeSHAP explains, and the score to compare with."""
    if "trees" not in split.cache:
        start = time.perf_counter()
        trees = _baseline("treeshap", split).fit(split.codes[split.train], split.y_train)
        split.cache["trees"] = trees, time.perf_counter() - start
    return split.cache["trees"]


def all_features_score(split: Split) -> float:
    """Accuracy or R^2 of boosted trees on all features, percent."""
    return 100 * boosted_trees(split)[0].score(split.codes[split.test], split.y_test)


def treeshap(split: Split, ks: list[int]) -> Selections:
    trees, seconds = boosted_trees(split)
    start = time.perf_counter()
    scores = trees.scores(split.codes[split.test])
    seconds += time.perf_counter() - start
    yield from (Selection(k, top_k(scores, k), None, seconds) for k in ks)


def permutation(split: Split, ks: list[int]) -> Selections:
    """What shuffling a column takes from the score of boosted trees, on a quarter of the training rows: one set."""
    start = time.perf_counter()
    rng = np.random.default_rng(split.number)
    classes = split.y_train if split.is_classification else None
    learn, check = train_test_split(split.train, test_size=0.25, random_state=split.number, stratify=classes)
    trees = _baseline("treeshap", split).fit(split.codes[learn], split.y[learn])
    rows, y = split.codes[check], split.y[check]
    whole, losses = trees.score(rows, y), np.zeros(split.n_features)
    for j in np.flatnonzero(trees.booster_.feature_importance() > 0):  # the others cannot lose anything
        for _ in range(SHUFFLES):
            shuffled = rows.copy()
            shuffled[:, j] = rng.permutation(rows[:, j])
            losses[j] += (whole - trees.score(shuffled, y)) / SHUFFLES
    seconds = time.perf_counter() - start
    yield from (Selection(k, top_k(np.tile(losses, (len(split.test), 1)), k), None, seconds) for k in ks)


def random(split: Split, ks: list[int]) -> Selections:
    rng = np.random.default_rng(split.number)
    for k in ks:
        yield Selection(k, random_masks(np.full(len(split.test), k), split.n_features, rng), None, 0.0)


def by_scores(name: str, own_rule: bool) -> Callable[[Split, list[int]], Selections]:
    """A baseline of the registry, fitted once: its own rule, where it has one, and the k largest scores of a row."""

    def select(split: Split, ks: list[int]) -> Selections:
        start = time.perf_counter()
        model = _baseline(name, split).fit(split.numbers[split.train], split.y_train)
        asked = split.numbers[split.test]
        scores = np.asarray(model.scores(asked))
        seconds = time.perf_counter() - start
        if own_rule:
            own = 100 * model.score(asked, split.y_test)
            yield Selection(None, np.asarray(model.select(asked), dtype=bool), own, seconds)
        yield from (Selection(k, top_k(scores, k), None, seconds) for k in ks)

    return select


def for_each_k(name: str) -> Callable[[Split, list[int]], Selections]:
    """A baseline of the registry that learns to select k features, fitted for each k."""

    def select(split: Split, ks: list[int]) -> Selections:
        for k in ks:
            start = time.perf_counter()
            model = _baseline(name, split, k=k).fit(split.numbers[split.train], split.y_train)
            masks = np.asarray(model.select(split.numbers[split.test]), dtype=bool)
            seconds = time.perf_counter() - start
            yield Selection(k, masks, 100 * model.score(split.numbers[split.test], split.y_test), seconds)

    return select


def _baseline(name: str, split: Split, **params: Any) -> Any:
    cls = REGISTRY[name]
    given = PRESETS["quick" if split.quick else "full"].get(name, {})
    device = {"device": split.device} if "device" in cls().get_params(deep=False) else {}
    return cls(task=split.task, random_state=split.number, **given, **device, **params)


METHODS: dict[str, Callable[[Split, list[int]], Selections]] = {
    "sklar-selector": sklar_selector,
    "sklar-ranker": sklar_ranker,
    "treeshap": treeshap,
    "permutation": permutation,
    "forest": by_scores("forest", own_rule=False),
    "lasso": by_scores("lasso", own_rule=False),
    "random": random,
    "invase": by_scores("invase", own_rule=True),
    "realx": by_scores("realx", own_rule=True),
    "stg": by_scores("stg", own_rule=True),
    "l2x": for_each_k("l2x"),
    "gdfs": for_each_k("gdfs"),
}
SLOW = ("invase", "realx", "stg", "l2x", "gdfs")  # at their published lengths, minutes each
HAS_OWN_RULE = ("sklar-selector", "invase", "realx", "stg")
ONLY_OWN_RULE = ("sklar-selector",)
