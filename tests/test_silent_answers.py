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


@pytest.mark.parametrize("text", [False, True])
def test_a_dict_of_columns_is_not_read_by_position(text):
    """Its keys in another order, or other keys, are refused as columns of a frame are."""
    X, y = toy_rows(80)
    columns = {"age": X[:, 0], "income": X[:, 1]} | ({"kind": np.where(y > 0, "u", "v")} if text else {})
    model = quick(sklar.CopulaSelectorClassifier).fit(columns, y > 0)
    assert model.predict(columns).shape == (80,)
    turned = dict(reversed(columns.items()))
    for other in (turned, {f"{name}2": values for name, values in columns.items()}, columns | {"more": X[:, 2]}):
        for ask in (model.predict, model.select, lambda table: model.report(table, y > 0)):
            with pytest.raises(ValueError, match="feature names should be those of fit"):
                ask(other)


def test_numbers_are_not_taken_for_days():
    X, y = toy_rows(80)
    days = pd.date_range("2024-01-01", periods=80)
    model = quick(sklar.CopulaSelectorClassifier, dates="ordinal").fit(pd.DataFrame({"day": days, "x": X[:, 0]}), y > 0)
    for numbers in (days.astype(np.int64), days.strftime("%Y%m%d").astype(int)):
        with pytest.raises(ValueError, match="'day' held dates in fit, and holds numbers here"):
            model.predict(pd.DataFrame({"day": numbers, "x": X[:, 0]}))


@pytest.mark.parametrize(
    ("classes", "spelled"),
    [((False, True), ("False", "True")), ((0, 1), ("0", "1")), ((0, 1), ("False", "True")), ((False, True), (0, 1))],
)
def test_a_report_scores_classes_however_they_are_spelled(classes, spelled, tmp_path):
    X, value = toy_rows(120)
    y = value > 0
    model = quick(sklar.CopulaSelectorClassifier, max_epochs=20).fit(X, np.array(classes)[y.astype(int)])
    pages = [tmp_path / f"{number}.html" for number in range(2)]
    for page, labels in zip(pages, (classes, spelled), strict=True):
        model.report(X, np.array(labels)[y.astype(int)], path=page, audit=False)
    assert pages[0].read_text() == pages[1].read_text()
    with pytest.raises(ValueError, match="y holds none of the model's classes"):
        model.report(X, np.where(y, "yes", "no"), path=pages[0], audit=False)


def test_true_and_false_of_a_csv_are_those_of_a_fit(tmp_path):
    X, value = toy_rows(300)
    quick(sklar.CopulaSelectorClassifier).fit(X, value > 0).save(tmp_path / "m.sklar")
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for number, y in enumerate((value > 0, (value > 0).astype(int))):
        frame.assign(y=y).to_csv(tmp_path / f"{number}.csv", index=False)
        result = run("report", tmp_path / "m.sklar", tmp_path / f"{number}.csv", "--target", "y", "--no-audit",
                     "--out", tmp_path / "r.html")  # fmt: skip
        assert result.exit_code == 0, result.output
