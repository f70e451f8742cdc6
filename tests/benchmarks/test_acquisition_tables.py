"""The benchmark of features asked for on tables: rows of every rule, and what many rows are asked side by side."""

import numpy as np
import pytest

import sklar
from sklar.paper.baselines import REGISTRY


@pytest.fixture(scope="module")
def scripts():
    from tests.benchmarks.test_benchmarks import FOLDER

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        import acquisition_tables
        import asking

        yield acquisition_tables, asking


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, (X[:, 0] + 0.5 * X[:, 1] * (X[:, 2] > 0) > 0).astype(int)


@pytest.fixture(scope="module")
def ranker():
    X, y = table()
    words = {"k": 4, "chooses_from": "shown", "max_epochs": 100, "random_state": 0, "device": "cpu"}
    return sklar.CopulaRankerClassifier(**words).fit(X, y)


PRICES = np.array([3.0, 1.0, 2.0, 0.7, 0.7])


def test_rows_side_by_side_are_asked_as_acquire_asks_them(scripts, ranker):
    X, _ = table(8, seed=1)
    _, asking = scripts
    asker = asking.Asker.of_ranker(ranker, X)
    for budget in (2.0, 4.4, np.inf):
        found = asking.trail(asker, 4, PRICES, budget)
        for i, row in enumerate(X):
            result = ranker.acquire(row, costs=PRICES, budget=budget)
            assert set(result.features) == {f"x{j}" for j in np.flatnonzero(found.known[-1, i])}
    found = asking.trail(asker, 4)
    asked = asking.when_sure(found, 0.8)
    assert len(set(asked)) > 1
    for i, row in enumerate(X):
        result = ranker.acquire(row, confidence=0.8)
        assert len(result.features) == asked[i]
        assert result.prediction == asking.predicted(asker, found, asked)[i]


@pytest.mark.parametrize("name", ["gdfs", "dime"])
def test_baselines_are_asked_as_they_select(scripts, name):
    X, y = table()
    _, asking = scripts
    model = REGISTRY[name](k=3, iterations=200, warmup=50, random_state=0, device="cpu").fit(X, y)
    asker = asking.Asker.of_baseline(model, X[:50], knows_prices=name == "dime")
    found = asking.trail(asker, 3)
    np.testing.assert_array_equal(found.known[-1], model.select(X[:50]))
    np.testing.assert_array_equal(asking.predicted(asker, found, np.full(50, 3)), model.predict(X[:50]))
    if name == "dime":
        for rule, stops in (("confidence", asking.when_sure), ("penalty", asking.when_not_worth)):
            at = 0.7 if rule == "confidence" else 0.02
            chosen = model.set_params(confidence=None, penalty=None).set_params(**{rule: at}).select(X[:50])
            np.testing.assert_array_equal(stops(found, at), np.minimum(chosen.sum(axis=1), 3))
    bought = asking.trail(asker, 3, PRICES, 2.5).known[-1] @ PRICES
    assert (bought <= 2.5).all()
    assert (bought > 2.5 - 0.7 * 2).all()  # whatever is left buys none of the cheapest


def test_a_row_for_every_rule_and_three_tables(scripts, monkeypatch):
    tables, _ = scripts
    split = tables.Split.of("breast-cancer", 0)
    monkeypatch.setattr(tables.Split, "of", lambda table, number: split)
    rows = [row for method in tables.METHODS for row in tables.measure("breast-cancer", 0, method, True)]
    by = {what: sum(what in row for row in rows) for what in ("k", "budget", "confidence", "worth")}
    n = len(tables.CONFIDENCES)
    assert by == {"k": 3 * len(tables.PLACES), "budget": 12, "confidence": 2 * n, "worth": len(tables.WORTHS)}
    assert all(0 <= row["score"] <= 100 for row in rows)
    assert all(row["features"] <= 10 for row in rows if "features" in row)
    assert tables.table(rows).splitlines()[2].startswith("| breast-cancer | 1 | `sklar`")
    prices, stopping = tables.prices_table(rows), tables.stopping_table(rows)
    assert prices.splitlines()[2].count(" / ") == 3 * len(tables.BUDGETS)
    assert stopping.splitlines()[2].count("(") == 2 * len(tables.SHOWN_CONFIDENCES)
    assert [text.splitlines()[-1].count(" of 1)") for text in (prices, stopping)] == [9, 6]


def test_when_a_row_stops(scripts):
    _, asking = scripts
    outputs = np.log([[[0.5, 0.5], [0.9, 0.1]], [[0.7, 0.3], [0.9, 0.1]], [[0.7, 0.3], [0.99, 0.01]]])
    found = asking.Trail(np.zeros((3, 2, 2), dtype=bool), outputs, np.array([[0.3, 0.1], [0.2, 0.5]]))
    assert asking.when_sure(found, 0.6).tolist() == [1, 0]
    assert asking.when_sure(found, 0.95).tolist() == [2, 2]
    assert asking.when_not_worth(found, 0.25).tolist() == [1, 0]
    assert asking.when_not_worth(found, 0.05).tolist() == [2, 2]
