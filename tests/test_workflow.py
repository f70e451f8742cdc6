"""From file to file, as a Python user would call it."""

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.table.csv_format import CsvFormat
from sklar.table.files import TableError, read_table
from sklar.workflow import answer_file, explain_file, fit_file, guess_task
from tests.helpers import QUICK, toy_rows

WORDS = {**QUICK, "penalty": 0.01}
RANKER_WORDS = {**QUICK, "k": 2}
NAMES = ["height, cm", "b", "c", "d", "e"]


@pytest.fixture
def frame():
    X, value = toy_rows()
    return pd.DataFrame(X, columns=NAMES).assign(label=np.where(value > 0, "yes", "no"), id=np.arange(120))


def save(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return str(path)


def silent(text):
    pass


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 2], "classification"),
        ([0.0, 1.0], "classification"),
        ([0.5, 1.0], "regression"),
        (range(21), "regression"),
        (range(20), "classification"),
        ([0.0, np.inf], "regression"),
    ],
)
def test_guessing_the_task(y, task):
    assert guess_task(np.array(list(y))) == task


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_fit_then_answer(frame, tmp_path, ending):
    data, model, out = save(frame, tmp_path / f"t.{ending}"), tmp_path / "m.sklar", tmp_path / f"out.{ending}"
    lines = []
    estimator = fit_file(data, "label", str(model), ignore=["id"], echo=lines.append, **WORDS)
    assert isinstance(estimator, sklar.CopulaSelectorClassifier)
    assert estimator.feature_names_in_.tolist() == NAMES
    assert "classification" in lines[0]
    assert any("120 rows x 5 features" in line for line in lines)
    assert lines[-1] == f"wrote {model}"
    direct = sklar.CopulaSelectorClassifier(**WORDS).fit(frame[NAMES].to_numpy(), frame["label"].to_numpy(dtype=str))

    assert answer_file("select", str(model), data, str(out)) == 120
    masks = read_table(out)
    assert list(masks.columns) == NAMES
    np.testing.assert_array_equal(masks.matrix(NAMES), direct.select(frame[NAMES].to_numpy()))

    answer_file("predict", str(model), data, str(out))
    predictions = read_table(out)
    assert list(predictions.columns) == ["prediction", "proba_no", "proba_yes"]
    assert predictions.column("prediction").tolist() == direct.predict(frame[NAMES].to_numpy()).tolist()
    np.testing.assert_allclose(
        predictions.matrix(["proba_no", "proba_yes"]), direct.predict_proba(frame[NAMES].to_numpy()), rtol=1e-6
    )


def test_a_k_makes_a_ranker_that_names_features_best_first(frame, tmp_path):
    data, model, out = save(frame, tmp_path / "t.csv"), str(tmp_path / "m.sklar"), str(tmp_path / "r.csv")
    ranker = fit_file(data, "label", model, ignore=["id"], echo=silent, **RANKER_WORDS)
    assert isinstance(ranker, sklar.CopulaRankerClassifier)
    answer_file("rank", model, data, out)
    ranks = read_table(out)
    assert list(ranks.columns) == ["rank_1", "rank_2"]
    expected = np.array(NAMES)[sklar.load(model).rank(frame[NAMES])]
    assert ranks.column("rank_1").tolist() == expected[:, 0].tolist()
    assert ranks.column("rank_2").tolist() == expected[:, 1].tolist()


def test_columns_are_found_by_name_whatever_their_order_and_company(frame, tmp_path):
    data, model = save(frame, tmp_path / "t.csv"), str(tmp_path / "m.sklar")
    fit_file(data, "label", model, ignore=["id"], echo=silent, **WORDS)
    shuffled = save(frame[["e", "id", *NAMES[:4][::-1]]].assign(extra="text"), tmp_path / "s.csv")
    for source, out in ((data, "a.csv"), (shuffled, "b.csv")):
        answer_file("select", model, source, str(tmp_path / out))
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_a_model_saved_from_python_without_names_reads_x0_x1(tmp_path):
    X, value = toy_rows()
    sklar.CopulaSelectorRegressor(**WORDS).fit(X, value).save(tmp_path / "m.sklar")
    data = save(pd.DataFrame(X, columns=[f"x{i}" for i in range(5)]), tmp_path / "t.csv")
    answer_file("predict", str(tmp_path / "m.sklar"), data, str(tmp_path / "o.csv"))
    assert list(read_table(tmp_path / "o.csv").columns) == ["prediction"]


def test_regression_by_word_and_by_guess(frame, tmp_path):
    frame = frame.assign(amount=frame["b"] * 3).drop(columns=["label", "id"])
    data = save(frame, tmp_path / "t.csv")
    for task in ("auto", "regression"):
        model = fit_file(data, "amount", str(tmp_path / "m.sklar"), task=task, echo=silent, **WORDS)
        assert isinstance(model, sklar.CopulaSelectorRegressor)


def test_text_is_no_regression_target(frame, tmp_path):
    data = save(frame, tmp_path / "t.csv")
    with pytest.raises(TableError, match="the target 'label' is text"):
        fit_file(data, "label", str(tmp_path / "m.sklar"), task="regression", echo=silent, **WORDS)


def test_a_column_too_large_to_square_has_the_files_name(frame, tmp_path):
    frame = frame.drop(columns="id")
    frame.loc[0, "b"] = 1e200
    with pytest.raises(ValueError, match="column 'b' has values too large"):
        fit_file(save(frame, tmp_path / "t.csv"), "label", str(tmp_path / "m.sklar"), echo=silent, **WORDS)


def test_a_refused_fit_keeps_the_old_model(frame, tmp_path):
    model = tmp_path / "m.sklar"
    fit_file(save(frame, tmp_path / "t.csv"), "label", str(model), ignore=["id"], echo=silent, **WORDS)
    before = model.read_bytes()
    frame.loc[3, "c"] = np.inf
    with pytest.raises(ValueError, match="column 'c' contains infinity"):
        fit_file(save(frame, tmp_path / "t.csv"), "label", str(model), ignore=["id"], echo=silent, **WORDS)
    assert model.read_bytes() == before


# The file of fit.


def explained(model, path, text):
    path.write_text(text)
    return {one.name: one.value for one in explain_file(model, str(path), 0).selected}


def test_new_files_have_the_decimal_sign_of_the_file_of_fit(tmp_path):
    model, words = str(tmp_path / "m.sklar"), {**WORDS, "forced": ["a"]}
    rows = [(1000 * i + 1234, i % 7) for i in range(60)]
    text = "a;b;y\n" + "".join(f"{a // 1000}.{a % 1000:03},50;{b};{a > 30_000}\n" for a, b in rows)
    (tmp_path / "t.csv").write_text(text)
    fit_file(str(tmp_path / "t.csv"), "y", model, echo=silent, **words)
    new = tmp_path / "new.csv"
    for cell, value in (("5.000", 5000), ("5,000", 5), ("5000", 5000), ("5.000,50", 5000.5)):
        assert explained(model, new, f"a;b\n{cell};2\n")["a"] == value, cell
    assert explained(model, new, "a,b\n5.5,2\n")["a"] == 5.5  # commas separate
    with pytest.raises(TableError, match=r"'5\.000', which may be 5\.000 or 5000"):
        explained(model, new, "a,b\n5.000,2\n")
    with pytest.raises(TableError, match=r"'5\.5', which is no number here; say --decimal \."):
        explained(model, new, "a;b\n5.5;2\n")
    (tmp_path / "t.csv").write_text(text.replace(".", "").replace(",", "."))
    fit_file(str(tmp_path / "t.csv"), "y", model, echo=silent, **words)
    assert explained(model, new, "a;b;note\n1.030;2;1,5\n")["a"] == 1.03
    with pytest.raises(TableError, match="'5,5', which is no number here; say --decimal ,"):
        explained(model, new, "a;b\n5,5;2\n")
    out = tmp_path / "out.csv"
    assert answer_file("select", model, str(new), str(out), csv=CsvFormat(decimal=",")) == 1  # said, it wins
