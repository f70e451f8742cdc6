"""Mistakes, one line each."""

import json
import os

import pandas as pd
import pytest

from sklar.cli.params import NumberOr
from sklar.table import files as tables
from tests.cli.commands import assert_one_line_error, fit, run
from tests.helpers import toy_rows


def table_of(tmp_path, change=None, **columns):
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=(value > 0).astype(int)).assign(**columns)
    if change:
        frame = change(frame)
    frame.to_csv(tmp_path / "bad.csv", index=False)
    return tmp_path / "bad.csv"


def at(row, column, value):
    def change(frame):
        frame = frame.astype({column: object})
        frame.loc[row, column] = value
        return frame

    return change


BAD_TABLES = {
    "infinity": (at(7, "c", "inf"), "column 'c' contains infinity"),
    "text among numbers": (at(7, "c", "oops"), r"column 'c' mixes numbers .* and text \('oops' in row 7\); .*--text c"),
    "too large": (at(7, "c", "1e200"), "column 'c' has values too large to square"),
    "one class": (lambda frame: frame.assign(y=1), "at least 2 classes"),
    "one row": (lambda frame: frame[:1], r"1 sample|at least 2 classes"),
    "no rows": (lambda frame: frame[:0], "has no rows"),
    "no columns": (lambda frame: frame[["y"]], "no columns besides the target 'y'"),
    "no target": (lambda frame: frame.assign(y=""), "no row has a value of the target 'y'"),
    "no such target": (lambda frame: frame.drop(columns="y"), "has no column 'y'; it has a, b"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables_to_fit(tmp_path, case):
    change, says = BAD_TABLES[case]
    assert_one_line_error(fit(table_of(tmp_path, change), "y", tmp_path / "m.sklar", "--penalty", "0"), says)
    assert not (tmp_path / "m.sklar").exists()


BAD_WORDS = {
    "--penalty=-1": "'penalty' parameter",
    "--penalty=nan": "'penalty' parameter",
    "--penalty=inf": "'penalty' parameter",
    "--k=6": "k must be at most the number of features; got k=6 for 5 features",
    "--k=0": "'k' parameter",
    "--covariance=round": "'covariance' parameter",
    "--objective=fame": "'objective' parameter",
    "--activation=gelu": "'activation' parameter",
    "--device=tpu": "'device' parameter",
    "--n-factors=0": "'n_factors' parameter",
    "--temperature=0": "'temperature' parameter",
    "--max-epochs=0": "'max_epochs' parameter",
    "--batch-size=1": "'batch_size' parameter",
    "--validation-fraction=1": "'validation_fraction' parameter",
    "--random-state=-1": "'random_state' parameter",
    "--step-exponent=0.5": "--step-exponent is for rankers; give --k too",
    "--ignore=zzz": "no column 'zzz'",
}


@pytest.mark.parametrize("word", BAD_WORDS)
def test_bad_words(folder, tmp_path, word):
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar", word)
    assert_one_line_error(result, BAD_WORDS[word])
    assert not (tmp_path / "m.sklar").exists()


def test_a_penalty_for_a_ranker(folder, tmp_path):
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar", "--k", "2", "--penalty", "0.1")
    assert_one_line_error(result, "--penalty is for selectors; leave out --k")


def test_a_class_weight_for_a_regression(folder, tmp_path):
    result = fit(folder / "good.csv", "a", tmp_path / "m.sklar", "--task", "regression", "--class-weight", "balanced")
    assert_one_line_error(result, "--class-weight is not for regression")


def test_text_as_a_regression_target(folder, tmp_path):
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar", "--task", "regression")
    assert_one_line_error(result, "target 'y' is text")


BAD_FILES = {
    "none.csv": (None, "no such file"),
    "none.parquet": (None, "no such file"),
    "empty.csv": (b"", "has no rows"),
    "ragged.csv": (b"a,b,y\n1,2,0\n1,2\n", "line 3: 2 cells where the header has 3"),
    "twice.csv": (b"a,a,y\n1,2,0\n", "'a' stands in the header more than once"),
    "latin.csv": (b"a,y\n\xe9,1\n", "not a CSV file in UTF-8 .* say --encoding cp1252"),
    "fake.parquet": (b"a,b\n1,2\n", "not a Parquet file"),
    "table.xlsx": (b"PK", "a spreadsheet can be saved as CSV"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_to_fit_and_to_ask(folder, tmp_path, name):
    content, says = BAD_FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert_one_line_error(fit(tmp_path / name, "y", tmp_path / "m.sklar"), says)
    for command in ("select", "predict"):
        result = run(command, folder / "selector.sklar", tmp_path / name, "--out", tmp_path / "out.csv")
        assert_one_line_error(result, says)
    assert not (tmp_path / "out.csv").exists()


BAD_MODELS = {
    "none": (None, "no such file"),
    "empty": (b"", "not a sklar model"),
    "text": (b"hello", "not a sklar model"),
    "a table": (b"a,b\n1,2\n", "not a sklar model"),
}


@pytest.mark.parametrize("case", BAD_MODELS)
@pytest.mark.parametrize("command", ["select", "rank", "predict"])
def test_bad_models(folder, tmp_path, command, case):
    content, says = BAD_MODELS[case]
    if content is not None:
        (tmp_path / "m.sklar").write_bytes(content)
    result = run(command, tmp_path / "m.sklar", folder / "good.csv", "--out", tmp_path / "out.csv")
    assert_one_line_error(result, says)


def test_a_truncated_model(folder, tmp_path):
    whole = (folder / "selector.sklar").read_bytes()
    (tmp_path / "m.sklar").write_bytes(whole[:-1])
    result = run("select", tmp_path / "m.sklar", folder / "good.csv", "--out", tmp_path / "out.csv")
    assert_one_line_error(result, "damaged")


def test_a_selector_does_not_rank(folder, tmp_path):
    result = run("rank", folder / "selector.sklar", folder / "good.csv", "--out", tmp_path / "out.csv")
    assert_one_line_error(result, "is a selector; only a ranker")


@pytest.mark.parametrize("command", ["select", "predict", "rank"])
def test_mismatched_columns(folder, tmp_path, command):
    data = table_of(tmp_path, lambda frame: frame.rename(columns={"c": "C"}))
    result = run(command, folder / "ranker.sklar", data, "--out", tmp_path / "out.csv")
    assert_one_line_error(result, r"has no column 'c'; it has a, b, C, d, e, y")


BAD_ROWS = {
    "text": (lambda frame: frame.assign(c="oops"), "column 'c' held numbers in fit, and holds text here: 'oops'"),
    "infinity": BAD_TABLES["infinity"],
    "text among numbers": (
        at(7, "c", "oops"),
        r"\('oops' in row 7\); say --missing 'oops' if that is a missing value, or correct it\n",
    ),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_to_ask(folder, tmp_path, case):
    change, says = BAD_ROWS[case]
    result = run("select", folder / "selector.sklar", table_of(tmp_path, change), "--out", tmp_path / "out.csv")
    assert_one_line_error(result, says)


def test_outputs_that_cannot_be_written(folder, tmp_path, monkeypatch):
    nowhere = tmp_path / "nowhere"
    model, data = folder / "selector.sklar", folder / "good.csv"
    assert_one_line_error(fit(data, "y", nowhere / "m.sklar"), "is not a folder")
    assert_one_line_error(run("select", model, data, "--out", nowhere / "o.csv"), "is not a folder")
    assert_one_line_error(run("select", model, data, "--out", tmp_path / "o.xlsx"), "ending must be")
    plain_open = tables.Path.open

    def refuse_writing(self, mode="r", *args, **kwargs):
        if mode != "r":
            raise PermissionError(13, "Permission denied")
        return plain_open(self, mode, *args, **kwargs)

    monkeypatch.setattr(tables.Path, "open", refuse_writing)
    assert_one_line_error(fit(data, "y", tmp_path / "m.sklar"), "Permission denied")
    assert_one_line_error(run("select", model, data, "--out", tmp_path / "o.csv"), "Permission denied")


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission(folder, tmp_path):
    tmp_path.chmod(0o555)
    try:
        assert_one_line_error(fit(folder / "good.csv", "y", tmp_path / "m.sklar"), "Permission denied")
    finally:
        tmp_path.chmod(0o755)


def test_demo_as_json(tmp_path, monkeypatch):
    monkeypatch.setattr("sklar.demo.run_demo", lambda out, echo, **words: echo("told") or tmp_path / "masks.png")
    result = run("demo", "--out", tmp_path, "--json")
    assert json.loads(result.stdout) == {"out": str(tmp_path), "picture": str(tmp_path / "masks.png")}
    assert result.stderr == "told\n"


def test_a_demo_into_a_file(tmp_path):
    (tmp_path / "file").touch()
    assert_one_line_error(run("demo", "--quiet", "--out", tmp_path / "file" / "demo"), "Not a directory|File exists")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["fit"],
        ["fit", "t.csv"],
        ["fit", "t.csv", "--target", "y"],
        ["fit", "t.csv", "--target", "y", "--out", "m", "--penalty", "cheap"],
        ["fit", "t.csv", "--target", "y", "--out", "m", "--n-factors", "two"],
        ["fit", "t.csv", "--target", "y", "--out", "m", "--task", "dance"],
        ["fit", "t.csv", "--target", "y", "--out", "m", "--nonsense", "1"],
        ["select", "m.sklar"],
        ["select", "m.sklar", "t.csv"],
        ["demo", "--samples", "5"],
        ["audit", "m.sklar"],
        ["predict", "m.sklar", "t.csv", "--out", "-", "--json"],
        ["select", "m.sklar", "t.csv", "--out", "o.csv", "--sep", ";;"],
        ["select", "m.sklar", "t.csv", "--out", "o.csv", "--encoding", "excel"],
        ["explain", "m.sklar", "t.csv"],
        ["explain", "m.sklar", "t.csv", "--row", "three"],
        ["report", "m.sklar", "--target", "y"],
        ["reproduce"],
        ["reproduce", "table-11d", "--seeds", "0"],
        ["reproduce", "table-11d", "--set", "learning_rate"],
        ["report", "no-such-folder"],
    ],
)
def test_wrong_usage_is_exit_code_two(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert "Usage" in result.output


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (ValueError, 1), (OSError, 1), (ImportError, 1)])
def test_what_a_command_raises_becomes_an_exit_code(folder, tmp_path, monkeypatch, error, code):
    from sklar import workflow

    def fail(*args, **kwargs):
        raise error("several\n  lines of it")

    monkeypatch.setattr(workflow, "fit_file", fail)
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar")
    assert result.exit_code == code
    assert len(result.stderr.splitlines()) == 1
    if code == 1:
        assert result.stderr == "error: several lines of it\n"
    else:
        assert "interrupted" in result.stderr


def test_a_bug_is_not_hidden(folder, tmp_path, monkeypatch):
    from sklar import workflow

    def fail(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(workflow, "fit_file", fail)
    assert isinstance(fit(folder / "good.csv", "y", tmp_path / "m.sklar").exception, ZeroDivisionError)


def test_number_or_word():
    kind = NumberOr("auto")
    assert kind.convert("auto", None, None) == "auto"
    assert kind.convert("1e-3", None, None) == 0.001


@pytest.mark.parametrize("command", ["audit", "report"])
def test_targets_that_do_not_fit_the_model(folder, tmp_path, command):
    more = ("--no-audit", "--out", tmp_path / "r.html") if command == "report" else ()
    ask = (command, folder / "selector.sklar")
    assert_one_line_error(
        run(*ask, table_of(tmp_path), "--target", "y", *more), r"none of the model's classes \(no, yes\)"
    )
    assert_one_line_error(run(*ask, folder / "good.csv", "--target", "z", *more), "has no column 'z'")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("command", ["fit", "select", "predict", "report"])
def test_what_is_read_is_not_written_over(folder, tmp_path, command):
    data, model = tmp_path / "t.csv", tmp_path / "m.sklar"
    data.write_bytes((folder / "good.csv").read_bytes())
    model.write_bytes((folder / "selector.sklar").read_bytes())
    before = data.read_bytes(), model.read_bytes()
    if command == "fit":
        result = run("fit", data, "--target", "y", "--out", data)
    else:
        target = ["--target", "y"] if command == "report" else []
        result = run(command, model, data, *target, "--out", data)
    assert_one_line_error(result, "it is the file that is read")
    assert (data.read_bytes(), model.read_bytes()) == before
