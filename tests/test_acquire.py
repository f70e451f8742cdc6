"""Asking for one feature after the other."""

import json
from decimal import Decimal

import numpy as np
import pytest

import sklar
from sklar.acquire import _State

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
ENOUGH = "as many features are known as the model learned from"


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
    assert result.ended == ENOUGH


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
    """What is known already is free, is not asked for again, and is one of the k."""
    asked = []

    def ask(name):
        asked.append(name)
        return ROW[name]

    result = ranker.acquire({"colour": "red"}, ask=ask)
    assert "colour" not in asked
    assert result.features == asked
    assert (len(asked), result.ended) == (2, ENOUGH)
    known = ranker.acquire({"colour": "red", "a": 1.5, "b": 0.0}, ask=ask)
    assert (known.questions, known.ended) == ((), ENOUGH)


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
        (ROW, {"budget": 0}, "budget must be a number above 0; got 0"),
        (ROW, {"budget": "3"}, "budget must be a number above 0; got '3'"),
        (ROW, {"budget": np.float64("nan")}, "budget must be a number above 0; got nan"),
        (ROW, {"budget": True}, "budget must be a number above 0; got True"),
        (ROW, {"confidence": 1.5}, r"confidence must be a number in \(0, 1\); got 1.5"),
        (ROW, {"confidence": "x"}, r"confidence must be a number in \(0, 1\); got 'x'"),
        (ROW, {"costs": {"size": 1}}, "costs: there is no column 'size'"),
        (ROW, {"costs": {"a": "x"}}, "costs must be numbers from 0; got 'x' for column 'a'"),
        (ROW, {"costs": "dear"}, "costs must be one number for each of the 4 columns, or a dict of some"),
        ({}, {"ask": lambda name: None}, "the answer for '.*' is missing"),
    ],
)
def test_mistakes(ranker, row, words, message):
    with pytest.raises(ValueError, match=message):
        ranker.acquire(row, **words)


def test_ask_is_a_function(ranker):
    with pytest.raises(TypeError, match="ask must be a function of a feature's name; got 3"):
        ranker.acquire({}, ask=3)


@pytest.mark.parametrize("method", ["acquire", "next_feature"])
def test_several_rows_are_one_too_many_by_the_name_of_what_was_called(ranker, method):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=rf"^{method} takes one row; got shape \(2, 4\)"):
        getattr(ranker, method)(pandas.DataFrame([ROW, ROW]))
    with pytest.raises(ValueError, match=rf"^{method} takes one row; column 'a' has 2"):
        getattr(ranker, method)({"a": [1.0, 2.0]})


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_go_by_name_or_are_refused_in_the_words_of_predict(ranker, kind):
    frames = pytest.importorskip(kind)
    names = list(ROW)
    given = [names[::-1], [*names, "size"], ["size", "a"]]
    for columns in given:
        frame = frames.DataFrame({name: [ROW.get(name, 5.0)] for name in columns})
        with pytest.raises(ValueError, match="should") as expected:
            ranker.predict(frame)
        for method in (ranker.acquire, ranker.next_feature):
            with pytest.raises(ValueError, match="should") as found:
                method(frame)
            assert str(found.value) == str(expected.value)
    whole = frames.DataFrame({name: [ROW[name]] for name in names})
    assert ranker.acquire(whole) == ranker.acquire(ROW)


def test_a_row_may_leave_out_what_is_not_known(ranker):
    """By name, in any order; an array cannot."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    part = {"noise": 0.0, "colour": "red"}
    expected = ranker.acquire(part, ask=ROW.get)
    assert expected.features == ["a"]
    for row in (pandas.Series(part), pandas.DataFrame([part]), polars.DataFrame([part])):
        assert ranker.acquire(row, ask=ROW.get) == expected
        assert ranker.next_feature(row) == "a"
    whole = pandas.Series({"size": 1, **dict(reversed(ROW.items()))})  # as for `explain`
    assert ranker.acquire(whole) == ranker.acquire({"size": 1, **ROW}) == ranker.acquire(ROW)
    for values in (["red"], [*ROW.values(), 1.0]):
        with pytest.raises(ValueError, match=f"X has {len(values)} features, but .* is expecting 4 features as input"):
            ranker.next_feature(np.array(values, dtype=object))


def missing_values():
    pandas = pytest.importorskip("pandas")
    nothing = [None, np.nan, np.float32("nan"), np.datetime64("NaT"), np.timedelta64("NaT"), Decimal("NaN")]
    return [*nothing, pandas.NA, pandas.NaT]


def test_whatever_is_missing_is_not_known(ranker):
    pandas = pytest.importorskip("pandas")
    for missing in missing_values():
        for name in ("a", "colour"):
            row = {**ROW, name: missing}
            for given in (row, pandas.Series(row), pandas.DataFrame([row]), pandas.DataFrame([row], dtype=object)):
                assert ranker.next_feature(given) == name
                with pytest.raises(ValueError, match=f"the row has no value for '{name}': give `ask`"):
                    ranker.acquire(given)


def test_an_answer_that_is_missing_is_a_mistake(ranker):
    for missing in [*missing_values(), np.array([np.nan])]:
        with pytest.raises(ValueError, match=r"the answer for '.*' is missing"):
            ranker.acquire({}, ask=lambda name, answer=missing: answer)
    assert ranker.acquire({}, ask=lambda name: np.array([ROW[name]])) == ranker.acquire(ROW)
    with pytest.raises(ValueError, match=r"acquire takes one row; column '.*' has 2"):
        ranker.acquire({}, ask=lambda name: [ROW[name]] * 2)


@pytest.fixture(scope="module")
def forced():
    X = np.random.default_rng(0).standard_normal((300, 4))
    words = {"k": 3, "chooses_from": "shown", "max_epochs": 100, "random_state": 0, "device": "cpu"}
    return sklar.CopulaRankerClassifier(forced=["x2"], **words).fit(X, X[:, 1] + 0.3 * X[:, 0] > 0), X


def test_forced_features_are_asked_for_first(forced):
    ranker, X = forced
    result = ranker.acquire(X[0])
    assert result.features == [f"x{j}" for j in ranker.rank(X[:1])[0]]
    assert (result.features[0], ranker.next_feature({}), ranker.next_feature({"x1": 0.0})) == ("x2", "x2", "x2")
    assert result.questions[0].worth is None
    assert ranker.next_feature({"x2": 0.0}) == "x1"
    assert ranker.acquire(X[0], confidence=1e-9).features == ["x2"]  # nothing is sure without it
    known = {"x0": 0.0, "x1": 0.0, "x3": 0.0}
    assert ranker.acquire(known, ask=lambda name: 0.0).features == ["x2"]  # also beside k others
    dear = ranker.acquire(X[0], budget=1, costs={"x2": 2})
    assert (dear.features, dear.ended) == ([], "the budget is spent")


def test_a_budget_is_spent_to_the_last(forced):
    """.3 - .1 - .1 is less than .1 in floating point; what is spent is never more than the budget."""
    ranker, X = forced
    result = ranker.acquire(X[0], budget=0.3, costs=[0.1] * 4)
    assert (len(result.questions), result.spent, result.ended) == (3, 0.3, ENOUGH)
    assert len(ranker.acquire(X[0], budget=0.29999, costs=[0.1] * 4).questions) == 2


def test_what_loses_most_for_its_price_is_not_asked_for_because_it_is_dear(forced):
    """A loss divided by a high price would look small."""
    state = _State(forced[0].fitted_, {"x2": 0.0}, {"x0": 100}, "acquire")
    state.worth = np.array([-1.0, -1.1, -np.inf, -1.2])
    assert state.best(np.inf) == 1


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
