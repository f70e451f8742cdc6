"""Text, holes, queries, weights and several targets, from file to file."""

import numpy as np
import pandas as pd
import pytest

import sklar
from tests.cli.commands import assert_one_line_error, fit, run
from tests.helpers import quick, toy_rows


@pytest.mark.filterwarnings("always:column 'kind'")
def test_a_messy_csv_from_fit_to_answers(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "kind": rng.choice(["u", "v", ""], 80),
            "x": np.where(rng.random(80) < 0.3, np.nan, rng.standard_normal(80)),
            "children": rng.choice(["1", "2", "3+"], 80),
        }
    ).assign(y=lambda frame: np.where(frame["kind"] == "u", "yes", "no"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.sklar"
    words = ("--penalty", "0.01", "--text", "children")
    assert fit(tmp_path / "t.csv", "y", model, *words).exit_code == 0
    # the same table, its text all numbers here, with a category that fit never saw
    frame.assign(children="2", kind="new").to_csv(tmp_path / "new.csv", index=False)
    for command in ("select", "predict"):
        result = run(command, model, tmp_path / "new.csv", "--out", tmp_path / "out.arrow")
        assert result.exit_code == 0, result.output
        assert "warning: column 'kind': 100% of the rows" in result.output
    frame.assign(kind=frame["kind"].replace("", None)).to_parquet(tmp_path / "t.parquet")
    judged = (tmp_path / "t.csv", "--target", "y")
    page = tmp_path / "page.html"
    for command, *words in (("audit", "--refits", 1), ("report", "--no-audit", "--out", page)):
        result = run(command, model, *judged, *words)
        assert result.exit_code == 0, result.output
    assert '"3+"' in page.read_text(encoding="utf-8")
    result = run("explain", model, tmp_path / "new.csv", "--row", 3)
    assert result.exit_code == 0, result.output
    for data in ("t.csv", "t.parquet"):
        assert run("predict", model, tmp_path / data, "--out", tmp_path / f"{data}.csv").exit_code == 0
    assert (tmp_path / "t.csv.csv").read_text() == (tmp_path / "t.parquet.csv").read_text()


def test_true_and_false_cross_between_files_and_frames(tmp_path):
    smokes = np.random.default_rng(0).random(60) < 0.5
    frame = pd.DataFrame({"smokes": smokes, "x": np.arange(60) % 7}).assign(y=np.where(smokes, "yes", "no"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    X = frame[["smokes", "x"]]
    assert fit(tmp_path / "t.csv", "y", tmp_path / "file.sklar", "--penalty", "0.01").exit_code == 0
    quick(sklar.CopulaSelectorClassifier).fit(X, frame["y"]).save(tmp_path / "frame.sklar")
    for name in ("file", "frame"):
        model = sklar.load(tmp_path / f"{name}.sklar")
        answers = {str(model.predict(given).tolist()) for given in (X, X.convert_dtypes(), X.astype({"smokes": str}))}
        assert model.explain({"smokes": True, "x": 1}).to_dict()["n_features"] == 2
        result = run("predict", tmp_path / f"{name}.sklar", tmp_path / "t.csv", "--out", tmp_path / "out.csv")
        assert result.exit_code == 0, result.output
        answers.add(str(pd.read_csv(tmp_path / "out.csv")["prediction"].tolist()))
        assert len(answers) == 1


def test_a_query_from_the_command_line(folder, tmp_path):
    pytest.importorskip("duckdb")
    query = "select a, b, c, d, e, y from data where a > 0"
    result = fit(folder / "good.parquet", "y", tmp_path / "m.sklar", "--penalty", "0.01", "--sql", query)
    assert result.exit_code == 0, result.output
    result = run("select", tmp_path / "m.sklar", folder / "good.csv", "--sql", query, "--out", tmp_path / "o.csv")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(tmp_path / "o.csv")) == (pd.read_csv(folder / "good.csv")["a"] > 0).sum()
    bad = run("select", tmp_path / "m.sklar", folder / "good.csv", "--sql", "select", "--out", tmp_path / "o.csv")
    assert_one_line_error(bad, "the query failed")


def test_what_is_known_about_columns_has_its_words(folder, tmp_path):
    words = ("--groups", "a,b;c,d", "--forced", "e", "--costs", "a=2,c=0.5", "--min-features", "1", "--penalty", "0.1")
    assert fit(folder / "good.csv", "y", tmp_path / "m.sklar", *words).exit_code == 0
    model = sklar.load(tmp_path / "m.sklar")
    assert model.groups == [["a", "b"], ["c", "d"]]
    assert (model.forced, model.costs, model.min_features) == (["e"], {"a": 2.0, "c": 0.5}, 1)
    assert fit(folder / "good.csv", "y", tmp_path / "m.sklar", "--k", "2", "--forbidden", "a, b").exit_code == 0
    assert sklar.load(tmp_path / "m.sklar").forbidden == ["a", "b"]
    assert_one_line_error(fit(folder / "good.csv", "y", tmp_path / "m", "--forced", "z"), "there is no column 'z'")
    assert fit(folder / "good.csv", "y", tmp_path / "m", "--costs", "a").exit_code == 2


def test_weights_from_the_command_line(folder, tmp_path):
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=np.where(value > 0, "yes", "no"), w=np.arange(60) % 2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ("--sample-weight", "w", "--class-weight", "yes=2", "--penalty", "0.01")
    assert fit(tmp_path / "t.csv", "y", tmp_path / "m.sklar", *words).exit_code == 0
    model = sklar.load(tmp_path / "m.sklar")
    assert model.class_weight == {"yes": 2.0}
    assert model.feature_names_in_.tolist() == list("abcde")
    frame.assign(w=-1).to_csv(tmp_path / "t.csv", index=False)
    assert_one_line_error(fit(tmp_path / "t.csv", "y", tmp_path / "m.sklar", *words), "sample_weight must be finite")


def test_several_targets_and_times_from_the_command_line(tmp_path):
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(u=value, v=-value, died=np.arange(60) % 2, days=abs(value))
    frame.to_csv(tmp_path / "t.csv", index=False)
    data, model, out = tmp_path / "t.csv", tmp_path / "m.sklar", tmp_path / "out.csv"
    both = ("--target", "v", "--ignore", "died", "--ignore", "days", "--penalty", "0.01")
    assert fit(data, "u", model, *both).exit_code == 0
    assert run("predict", model, data, "--out", out).exit_code == 0
    assert pd.read_csv(out).columns.tolist() == ["prediction_1", "prediction_2"]
    cox = ("--event", "died", "--ignore", "u", "--ignore", "v", "--penalty", "0.01")
    assert fit(data, "days", model, *cox).exit_code == 0
    assert sklar.load(model).loss == "cox"
    assert run("predict", model, data, "--out", out).exit_code == 0
    assert pd.read_csv(out).columns.tolist() == ["prediction"]
    assert_one_line_error(fit(data, "days", model, "--event", "a"), "--event takes a column of 0 and 1")


def test_folders_that_are_no_table_are_one_line(tmp_path):
    """Empty, not there, of different columns or kinds, cut in half, without the target: nothing is written."""
    whole = pd.DataFrame(toy_rows(60)[0], columns=list("abcde")).assign(y=toy_rows(60)[1])
    folders = {name: tmp_path / name for name in ("empty", "good", "columns", "kinds", "half")}
    for name, folder in folders.items():
        folder.mkdir()
        for part in ("0", "1") if name != "empty" else ():
            whole.to_parquet(folder / f"{part}.parquet")
    whole.drop(columns="b").to_parquet(folders["columns"] / "1.parquet")
    whole.astype({"b": str}).to_parquet(folders["kinds"] / "1.parquet")
    cut = folders["half"] / "1.parquet"
    cut.write_bytes(cut.read_bytes()[:2000])
    says = {
        "empty": "empty: no Parquet or Arrow file",
        "columns": r"1\.parquet has no column 'b', which",
        "kinds": r"1\.parquet has other types than",
        "half": r"half: not a table of Parquet or Arrow files .*1\.parquet",
        "nowhere": "nowhere: no such file or folder",
    }
    for name, text in says.items():
        assert_one_line_error(fit(tmp_path / name, "y", tmp_path / "m.sklar"), text)
    assert_one_line_error(fit(folders["good"], "z", tmp_path / "m.sklar"), "good has no column 'z'; it has a, b, c")
    assert not (tmp_path / "m.sklar").exists()
