"""Asking for one feature after the other."""

import json

import numpy as np
import pytest

import sklar

N = 600


def table(seed=0):
    """A colour that decides which of two numbers matters; and a number that never does."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["blue", "red"], N)
    a, b, noise = rng.standard_normal((3, N))
    y = np.where(np.where(colour == "red", a, b) > 0, "yes", "no")
    return {"colour": colour, "a": a, "b": b, "noise": noise}, y


@pytest.fixture(scope="module")
def ranker():
    pandas = pytest.importorskip("pandas")
    columns, y = table()
    words = {"k": 3, "chooses_from": "shown", "max_epochs": 500, "random_state": 0, "device": "cpu"}
    return sklar.CopulaRankerClassifier(**words).fit(pandas.DataFrame(columns), y)


ROW = {"colour": "red", "a": 1.5, "b": -1.0, "noise": 0.0}


def test_what_was_asked_is_the_ranking(ranker):
    pandas = pytest.importorskip("pandas")
    columns, _ = table(1)
    frame = pandas.DataFrame(columns)
    names = np.array(list(columns))
    for i in range(5):
        assert ranker.acquire(frame.iloc[i]).features == names[ranker.rank(frame.iloc[[i]])[0]].tolist()


def test_the_last_prediction_is_that_of_the_model(ranker):
    pandas = pytest.importorskip("pandas")
    result = ranker.acquire(ROW)
    frame = pandas.DataFrame([ROW])
    assert result.prediction == ranker.predict(frame)[0]
    assert result.probability == pytest.approx(ranker.predict_proba(frame).max())
    assert result.ended == "as many features as the model learned to ask for"


def test_next_feature_follows_what_is_known(ranker):
    first = ranker.next_feature({})
    asked = ranker.acquire(ROW).features
    assert first == asked[0]
    assert ranker.next_feature({first: ROW[first]}) == asked[1]
    assert ranker.next_feature(ROW) is None


def test_an_array_with_nan_is_a_row_too():
    X = np.random.default_rng(0).standard_normal((300, 3))
    words = {"k": 2, "chooses_from": "shown", "max_epochs": 100, "random_state": 0, "device": "cpu"}
    ranker = sklar.CopulaRankerRegressor(**words).fit(X, 3 * X[:, 1] + X[:, 0])
    assert ranker.next_feature([np.nan, 0.3, np.nan]) == "x0"
    result = ranker.acquire(X[0])
    assert result.features == ["x1", "x0"]
    assert result.probability is None
    with pytest.raises(ValueError, match="confidence is for classes; this model predicts values"):
        ranker.acquire(X[0], confidence=0.9)


def test_asking_a_person(ranker):
    """What is known already is free, and is not asked for again."""
    asked = []

    def ask(name):
        asked.append(name)
        return ROW[name]

    result = ranker.acquire({"colour": "red"}, ask=ask)
    assert "colour" not in asked
    assert result.features == asked
    assert len(asked) == 3
    assert ranker.acquire({"colour": "red", "a": 1.5, "b": 0.0}, ask=ask).ended == "nothing is left to ask"


def test_sure_enough(ranker):
    sure = ranker.acquire(ROW, confidence=0.6)
    assert sure.ended == "sure enough"
    assert sure.probability >= 0.6
    assert all(question.probability < 0.6 for question in sure.questions[:-1])


def test_a_budget_and_prices(ranker):
    dear = ranker.acquire(ROW, budget=2)
    assert (len(dear.questions), dear.spent, dear.ended) == (2, 2.0, "the budget is spent")
    first = dear.features[0]
    other = ranker.acquire(ROW, budget=2, costs={first: 3})
    assert first not in other.features
    assert ranker.next_feature({}, costs={first: 1000}) != first


def test_it_prints_and_is_json(ranker):
    result = ranker.acquire(ROW, budget=1)
    text = str(result)
    assert text.startswith("Asked for 1 feature at a cost of 1: ")
    assert "the budget is spent." in text
    assert result.features[0] in text.splitlines()[1]
    assert json.loads(json.dumps(result.to_dict()))["ended"] == "the budget is spent"


@pytest.mark.parametrize(
    ("row", "words", "message"),
    [
        ({"colour": "red"}, {}, "the row has no value for 'a': give `ask`"),
        ({"size": 1}, {}, "the model knows no feature 'size'"),
        (ROW, {"budget": 0}, "budget must be above 0; got 0"),
        (ROW, {"confidence": 1.5}, r"confidence must be in \(0, 1\); got 1.5"),
        (ROW, {"costs": {"size": 1}}, "costs: there is no column 'size'"),
        ({}, {"ask": lambda name: None}, "the answer for '.*' is missing"),
    ],
)
def test_mistakes(ranker, row, words, message):
    with pytest.raises(ValueError, match=message):
        ranker.acquire(row, **words)


def test_other_rankers_do_not_know():
    X, y = np.eye(8), np.arange(8) % 2
    ranker = sklar.CopulaRankerClassifier(k=2, max_epochs=1).fit(X, y)
    with pytest.raises(ValueError, match="only a ranker fitted with chooses_from='shown'"):
        ranker.next_feature(X[0])


def test_groups_are_asked_for_together_and_missing_values_last():
    X = np.random.default_rng(0).standard_normal((200, 4))
    words = {"k": 2, "chooses_from": "shown", "max_epochs": 50, "random_state": 0, "device": "cpu"}
    ranker = sklar.CopulaRankerRegressor(groups=[[0, 1]], **words).fit(X, X[:, 0] + X[:, 1] + X[:, 2])
    asked = []
    ranker.acquire({}, ask=lambda name: asked.append(name) or 0.5)
    assert ("x0" in asked) == ("x1" in asked)
    holes = X[:5].copy()
    holes[:, 2] = np.nan
    assert not ranker.select(holes)[:, 2].any()
    assert np.isfinite(ranker.predict(holes)).all()


def test_a_smaller_k_is_the_beginning_of_the_ranking(ranker):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table(1)[0])
    assert (ranker.rank(frame, k=2) == ranker.rank(frame)[:, :2]).all()
    assert set(ranker.select(frame, k=1).sum(axis=1)) == {1}
