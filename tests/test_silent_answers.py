"""No silent wrong answer: what once gave one, and must not again."""

import numpy as np
import pandas as pd
import pytest

import sklar
from tests.cli.commands import fit, run
from tests.helpers import quick, threads, toy_rows


def labelled(n=120):
    """Two columns of categories that are numbers and truth values, and decide the class."""
    grade = np.arange(n) % 3 + 1
    frame = pd.DataFrame(
        {"grade": pd.Categorical(grade), "flag": pd.Categorical(grade == 2), "x": np.linspace(0, 1, n)}
    )
    return frame, (grade == 2).astype(int)


@pytest.fixture(scope="module")
def of_categories():
    X, y = labelled()
    return quick(sklar.CopulaSelectorClassifier, max_epochs=40, forced=["grade", "flag"]).fit(X, y)


def test_categories_of_numbers_are_the_same_as_text(of_categories):
    X, y = labelled()
    assert of_categories.score(X, y) > 0.95
    np.testing.assert_array_equal(
        of_categories.predict_proba(X.astype(str).assign(x=X["x"])), of_categories.predict_proba(X)
    )


def test_categories_of_numbers_are_the_same_in_a_csv(of_categories, tmp_path):
    X, _ = labelled()
    of_categories.save(tmp_path / "m.sklar")
    X.to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", tmp_path / "m.sklar", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert "warning" not in result.output
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "p.csv")["prediction"], of_categories.predict(X))


def test_other_spellings_are_a_warning(of_categories):
    X, _ = labelled()
    misspelled = X.assign(grade=[f"grade {value}" for value in X["grade"]])
    with pytest.warns(UserWarning, match="column 'grade': 100% of the rows hold categories that fit did not know"):
        of_categories.predict(misspelled)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(monkeypatch, error):
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorRegressor).fit(X, value)
    before, answer = dict(vars(model)), model.predict(X)

    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("sklar.estimators.base.require_finite_weights", fail)
    with pytest.raises(error):
        model.fit(X[:, :3], 1000 * value)
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(X), answer)


def test_no_output_is_written_over_an_input(tmp_path):
    X, value = toy_rows(40)
    table, model = tmp_path / "t.csv", tmp_path / "m.sklar"
    pd.DataFrame(X, columns=list("abcde")).assign(y=value).to_csv(table, index=False)
    assert fit(table, "y", model).exit_code == 0
    kept = table.read_bytes(), model.read_bytes()
    for result in (
        fit(table, "y", table),
        run("select", model, table, "--out", table),
        run("report", model, table, "--target", "y", "--out", model),
        run("report", model, table, "--target", "y", "--out", table),
    ):
        assert result.exit_code == 1
        assert "it is the file that is read" in result.output
    assert (table.read_bytes(), model.read_bytes()) == kept


@pytest.mark.parametrize("labels", [[0, 1, 2, 3, 4], [("a", i) for i in range(5)], list("abcde")], ids=str)
def test_columns_in_another_order_are_refused(labels):
    X, value = toy_rows(60)
    frame = pd.DataFrame(X)
    frame.columns = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else labels
    model = quick(sklar.CopulaSelectorRegressor).fit(frame, value)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize("objective", ["honest", "joint"])
@pytest.mark.parametrize("words", [{"costs": {0: 1e25}}, {"penalty": 1e300, "costs": [1e300] * 5}], ids=str)
def test_a_huge_price_selects_less(objective, words):
    X, value = toy_rows(200)
    words = {"selector_sparsity": 1.0, "n_folds": 2, "max_epochs": 40, **words}
    model = quick(sklar.CopulaSelectorRegressor, objective=objective, **words).fit(X, value)
    chosen = model.select(X).mean(axis=0)
    assert chosen[0] == 0
    assert isinstance(words.get("costs"), dict) or not chosen.any()


def test_a_fit_that_diverged_raises():
    X, value = toy_rows(60)
    with pytest.raises(ValueError, match="diverged"):
        quick(sklar.CopulaSelectorRegressor, learning_rate=1e10, max_epochs=30).fit(X, value)


def test_honest_fits_do_not_depend_on_threads():
    """Joint ones do, in the last digits of a sum, and then in all: the parameter `random_state` says so."""
    X, value = toy_rows(300, 20)
    words = {"objective": "honest", "max_epochs": 1, "batch_size": 200, "n_folds": 2, "selector_sparsity": 1.0}
    answers = []
    for n in (1, 2):
        with threads(n):
            answers.append(quick(sklar.CopulaSelectorRegressor, **words).fit(X, value).selection_proba(X))
    np.testing.assert_allclose(*answers, atol=1e-12)
    assert "number of threads" in sklar.CopulaSelectorClassifier.__doc__
