"""Labels, several values, counts and times to an event: what decides them is found, and answers have their units."""

import numpy as np
import pandas as pd
import pytest

import sklar
from tests.helpers import quick, toy_rows

OBJECTIVES = ("joint", "honest")
HONEST = {"objective": "honest", "max_epochs": 200, "batch_size": 500, "choice_hidden": 30, "predict_hidden": 32}


def trained(name, X, y, objective, **words):
    words = {**HONEST, "objective": objective, "learning_rate": 0.01, **words}
    return quick(getattr(sklar, name), **words).fit(X, y)


def survival(n=500, seed=0):
    """x0 makes the event come sooner, x1 later; a third of the rows is censored."""
    X, _ = toy_rows(n, seed=seed)
    rng = np.random.default_rng(seed + 100)
    time = rng.exponential(np.exp(-1.5 * X[:, 0] + 1.5 * X[:, 1]))
    limit = rng.exponential(2.0, n)
    y = np.empty(n, dtype=[("seen", bool), ("days", float)])
    y["seen"], y["days"] = time <= limit, np.minimum(time, limit)
    return X, y


# Known answers.


@pytest.mark.parametrize(("objective", "least"), [("joint", 0.25), ("honest", 0.5)])
def test_labels(objective, least, tmp_path):
    """Joint training shows x3 to some rows alone: to 34 to 100% of them in 32 fits, a mean of 85%."""
    X, _ = toy_rows(500)
    y = np.column_stack([X[:, 0] > 0, X[:, 3] > 0.5]).astype(int)
    model = trained("CopulaSelectorClassifier", X, y, objective, penalty=0.03)
    answer = model.predict(X)
    assert answer.shape == (500, 2)
    assert (answer == y).mean() > 0.9
    proba = model.predict_proba(X)
    assert proba.shape == (500, 2)
    assert np.array_equal(proba > 0.5, answer == 1)
    shares = model.select(X).mean(axis=0)
    assert min(shares[0], shares[3]) > least
    assert shares[[1, 2, 4]].max() < 0.2
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").predict_proba(X), proba)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_several_values_in_their_own_units(objective, tmp_path):
    X, _ = toy_rows(500)
    y = np.column_stack([1000 + 50 * X[:, 0], -3 * X[:, 3]])
    model = trained("CopulaSelectorRegressor", X, y, objective, penalty=0.03)
    assert model.predict(X).shape == (500, 2)
    assert model.score(X, y) > 0.9
    shares = model.select(X).mean(axis=0)
    assert min(shares[0], shares[3]) > 0.7
    assert shares[[1, 2, 4]].max() < 0.2
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").predict(X), model.predict(X))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_counts(objective, tmp_path):
    X, _ = toy_rows(800)
    rate = np.exp(1 + 0.8 * X[:, 1])
    y = np.random.default_rng(1).poisson(rate)
    model = trained("CopulaSelectorRegressor", X, y, objective, loss="poisson", penalty=0.03)
    answer = model.predict(X)
    assert (answer > 0).all()
    assert np.corrcoef(np.log(answer), np.log(rate))[0, 1] > 0.9
    assert answer.mean() == pytest.approx(y.mean(), rel=0.15)
    assert 0.3 < model.score(X, y) < 1
    shares = model.select(X).mean(axis=0)
    assert shares[1] > 0.7
    assert shares[[0, 2, 3, 4]].max() < 0.2
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").predict(X), answer)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_times_to_an_event(objective, tmp_path):
    X, y = survival()
    model = trained("CopulaSelectorRegressor", X, y, objective, loss="cox", penalty=0.02)
    risk = model.predict(X)
    true = 1.5 * X[:, 0] - 1.5 * X[:, 1]  # the logarithm of the true hazard ratio
    assert np.corrcoef(risk, true)[0, 1] > 0.9
    other, later = survival(seed=1)
    assert model.score(other, later) > 0.75
    shares = model.select(X).mean(axis=0)
    assert min(shares[:2]) > 0.7
    assert shares[2:].max() < 0.2
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").predict(X), risk)


def test_censored_rows_are_not_events():
    """A limit that depends on x2 alone is no effect of x2 on the hazard; taken for events it would be."""
    X, y = survival(500)
    limit = np.where(X[:, 2] > 0, 0.3, 3.0)
    y["seen"] &= y["days"] <= limit
    y["days"] = np.minimum(y["days"], limit)
    params = {"loss": "cox", "penalty": 0.02, "selector_sparsity": 1.0}  # the loss is asked about, not the strength
    assert trained("CopulaSelectorRegressor", X, y, "honest", **params).select(X)[:, 2].mean() < 0.2
    y["seen"] = True
    assert trained("CopulaSelectorRegressor", X, y, "honest", **params).select(X)[:, 2].mean() > 0.5


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", ["CopulaRankerClassifier", "CopulaRankerRegressor"])
def test_rankers_take_them_too(name, objective):
    X, value = toy_rows(90)
    several = np.column_stack([value, X[:, 2]])
    y = several > 0 if "Classifier" in name else several
    model = quick(getattr(sklar, name), objective=objective).fit(X, y)
    assert model.rank(X).shape == (90, 2)
    assert model.predict(X).shape == (90, 2)
    if "Regressor" in name:
        X, y = survival(90)
        assert quick(getattr(sklar, name), objective=objective, loss="cox").fit(X, y).rank(X).shape == (90, 2)


@pytest.mark.parametrize("loss", ["poisson", "cox"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_penalty_can_choose_itself(loss, objective):
    X, y = survival(120)
    y = np.arange(120) % 5 if loss == "poisson" else y
    model = quick(sklar.CopulaSelectorRegressor, objective=objective, loss=loss, penalty="auto").fit(X, y)
    assert np.isfinite(model.path_["loss"]).all()


def test_wide_tables_are_screened_for_times_to_an_event():
    X = np.random.default_rng(0).standard_normal((400, 40))
    y = np.empty(400, dtype=[("seen", bool), ("days", float)])
    y["seen"], y["days"] = True, np.random.default_rng(1).exponential(np.exp(-2 * X[:, 30]))
    model = trained("CopulaSelectorRegressor", X, y, "honest", loss="cox", penalty=0.05)
    assert 30 in model.union_
    assert len(model.union_) < 40


def test_weights_and_text_go_with_them():
    X, y = survival(90)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind="u")
    weight = np.arange(90) % 2
    model = quick(sklar.CopulaSelectorRegressor, loss="cox").fit(frame, y, sample_weight=weight)
    kept = quick(sklar.CopulaSelectorRegressor, loss="cox").fit(frame[1::2], y[1::2])
    np.testing.assert_array_equal(model.predict(frame), kept.predict(frame))


# Mistakes.


def structured(event, time, **fields):
    columns = {"event": np.asarray(event), "time": np.asarray(time), **fields}
    y = np.empty(len(columns["time"]), dtype=[(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        y[name] = values
    return y


YES = np.ones(10, dtype=bool)
TIMES = np.arange(10.0)
BAD = {
    "no fields": ("cox", TIMES, "structured array of two fields"),
    "three fields": ("cox", structured(YES, TIMES, more=TIMES), "structured array of two fields"),
    "two times": ("cox", structured(TIMES, TIMES), "structured array of two fields"),
    "no event": ("cox", structured(~YES, TIMES), "at least one event"),
    "a negative time": ("cox", structured(YES, -TIMES), "finite and not negative"),
    "a missing time": ("cox", structured(YES, TIMES * np.nan), "finite and not negative"),
    "too short": ("cox", structured(YES, TIMES)[:5], "inconsistent numbers of samples"),
    "a negative count": ("poisson", TIMES - 1, "needs counts from 0, not all of them 0; got -1"),
    "no counts": ("poisson", TIMES * 0, "needs counts from 0"),
    "several counts": ("poisson", np.column_stack([TIMES, TIMES]), "one count per row"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_targets_are_named(case):
    loss, y, says = BAD[case]
    with pytest.raises(ValueError, match=says):
        quick(sklar.CopulaSelectorRegressor, loss=loss).fit(toy_rows(10)[0], y)


def test_labels_must_be_zero_or_one():
    X, _ = toy_rows(10)
    with pytest.raises(ValueError, match=r"labels, all of them 0 or 1|Unknown label type"):
        quick(sklar.CopulaSelectorClassifier).fit(X, np.column_stack([np.arange(10), np.arange(10)]))
    with pytest.raises(ValueError, match="class_weight is for one class per row"):
        quick(sklar.CopulaSelectorClassifier, class_weight="balanced").fit(X, np.eye(10, dtype=int)[:, :2])


def test_an_audit_of_times_takes_times():
    X, y = survival(60)
    model = quick(sklar.CopulaSelectorRegressor, loss="cox").fit(X, y)
    assert model.audit(X, y, n_refits=0).score_name == "concordance"
    with pytest.raises(ValueError, match="one time \\(a structured array, for a model of times\\) a row"):
        model.audit(X, y["days"])
