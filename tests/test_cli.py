"""The command line: its words, its help, and what every mistake of issue section 5 gets."""

import inspect
import json
import os
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import sklar
from sklar import tables
from sklar.cli import main
from sklar.cli.words import WORDS, NumberOr
from tests.helpers import QUICK, toy_rows

QUICK_OPTIONS = [text for word, value in QUICK.items() for text in (f"--{word.replace('_', '-')}", str(value))]
COMMANDS = ["audit", "bench", "demo", "explain", "fit", "predict", "rank", "report", "reproduce", "select"]


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good files: a table, a selector, a ranker."""
    folder = tmp_path_factory.mktemp("cli")
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=np.where(value > 0, "yes", "no"))
    frame.to_csv(folder / "good.csv", index=False)
    frame.to_parquet(folder / "good.parquet")
    for name, word in (("selector", ("--penalty", "0.01")), ("ranker", ("--k", "2"))):
        result = fit(folder / "good.csv", "y", folder / f"{name}.sklar", *word)
        assert result.exit_code == 0, result.output
    return folder


def fit(data, target, out, *more):
    return run("fit", data, "--target", target, "--out", out, "--quiet", *QUICK_OPTIONS, *more)


def assert_one_line_error(result, says):
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr
    assert re.search(says, result.stderr), result.stderr
    assert "Traceback" not in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


# What works.


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("command", "model", "columns"),
    [
        ("select", "selector", list("abcde")),
        ("select", "ranker", list("abcde")),
        ("rank", "ranker", ["rank_1", "rank_2"]),
        ("predict", "selector", ["prediction", "proba_no", "proba_yes"]),
        ("predict", "ranker", ["prediction", "proba_no", "proba_yes"]),
    ],
)
def test_answers(folder, tmp_path, command, model, columns, ending):
    out = tmp_path / f"out.{ending}"
    result = run(command, folder / f"{model}.sklar", folder / f"good.{ending}", "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stderr == f"wrote 60 rows to {out}\n"
    frame = pd.read_csv(out) if ending == "csv" else pd.read_parquet(out)
    assert frame.columns.tolist() == columns
    assert len(frame) == 60


def test_fit_says_what_it_found(folder, tmp_path):
    options = [option for option in QUICK_OPTIONS if option != "--quiet"]
    out = tmp_path / "m.sklar"
    result = run("fit", folder / "good.csv", "--target", "y", "--out", out, "--penalty", "0.01", *options)
    assert result.exit_code == 0
    assert "fitted CopulaSelectorClassifier on 60 rows x 5 features" in result.stderr
    assert type(sklar.load(out)) is sklar.CopulaSelectorClassifier


def test_quiet_is_quiet(folder, tmp_path):
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar", "--penalty", "0.01")
    assert (result.exit_code, result.output) == (0, "")


def test_options_reach_the_constructor(folder, tmp_path):
    words = ["--penalty", "0.5", "--covariance", "full", "--temperature", "0.3", "--ignore", "e"]
    assert fit(folder / "good.csv", "y", tmp_path / "m.sklar", *words).exit_code == 0
    parameters = sklar.load(tmp_path / "m.sklar").get_params()
    assert (parameters["penalty"], parameters["covariance"], parameters["temperature"]) == (0.5, "full", 0.3)
    assert parameters["batch_size"] == QUICK["batch_size"]
    assert sklar.load(tmp_path / "m.sklar").feature_names_in_.tolist() == list("abcd")


def test_the_same_seed_gives_the_same_file(folder, tmp_path):
    for name in ("a", "b"):
        fit(folder / "good.csv", "y", tmp_path / name, "--penalty", "0.01")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_fit_as_json(folder, tmp_path):
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar", "--penalty", "0.01", "--json")
    told = json.loads(result.stdout)
    assert (told["model"], told["n_rows"], told["n_features"]) == ("CopulaSelectorClassifier", 60, 5)
    assert told["out"] == str(tmp_path / "m.sklar")
    shares = sklar.load(tmp_path / "m.sklar").select(pd.read_csv(folder / "good.csv")[list("abcde")]).mean()
    assert told["selected"] == pytest.approx({name: 100 * share for name, share in shares.items() if share})


def test_answers_as_json(folder, tmp_path):
    out = tmp_path / "out.csv"
    result = run("select", folder / "selector.sklar", folder / "good.csv", "--out", out, "--json")
    assert json.loads(result.stdout) == {"n_rows": 60, "out": str(out)}


@pytest.mark.parametrize("model", ["selector", "ranker"])
def test_explain(folder, model):
    arguments = ("explain", folder / f"{model}.sklar", folder / "good.csv", "--row", "3")
    expected = sklar.load(folder / f"{model}.sklar").explain(pd.read_csv(folder / "good.csv").iloc[3])
    assert run(*arguments).stdout == f"{expected}\n"
    assert json.loads(run(*arguments, "--json").stdout) == expected.to_dict()


@pytest.mark.parametrize("row", [-1, 60])
def test_explain_a_row_that_is_not_there(folder, row):
    result = run("explain", folder / "selector.sklar", folder / "good.csv", "--row", row)
    assert_one_line_error(result, f"has rows 0 to 59; there is no row {row}")


def test_audit(folder):
    arguments = ("audit", folder / "selector.sklar", folder / "good.csv", "--target", "y")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Audit on 60 rows: ")
    assert result.stderr.startswith("auditing ")
    told = json.loads(run(*arguments, "--json").stdout)
    assert (told["score_name"], told["n_rows"], told["refit_agreement"]) == ("accuracy", 60, None)
    assert ("LEAKS" in result.stdout) is told["leaks"]


def test_report(folder, tmp_path):
    out = tmp_path / "page.html"
    arguments = ("report", folder / "selector.sklar", folder / "good.csv", "--target", "y", "--no-audit", "--out", out)
    result = run(*arguments, "--title", "A title")
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"wrote {out}" in result.stderr
    page = out.read_text(encoding="utf-8")
    assert "<h1>A title</h1>" in page
    assert '"name":"a"' in page  # the names of the model, not x0
    assert run(*arguments, "--quiet").output == ""
    assert json.loads(run(*arguments, "--quiet", "--json").stdout) == {"out": str(out)}
    assert "<h1>What decides y</h1>" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["audit", "report"])
def test_targets_that_do_not_fit_the_model(folder, tmp_path, command):
    more = ("--no-audit", "--out", tmp_path / "r.html") if command == "report" else ()
    ask = (command, folder / "selector.sklar")
    assert_one_line_error(
        run(*ask, table_of(tmp_path), "--target", "y", *more), r"none of the model's classes \(no, yes\)"
    )
    assert_one_line_error(run(*ask, folder / "good.csv", "--target", "z", *more), "has no column 'z'")
    assert not (tmp_path / "r.html").exists()


# Words and help.


def test_the_words_are_the_constructors():
    constructors = (
        sklar.CopulaSelectorClassifier,
        sklar.CopulaRankerClassifier,
        sklar.CopulaSelectorRegressor,
        sklar.CopulaRankerRegressor,
    )
    words = {word for cls in constructors for word in inspect.signature(cls).parameters}
    assert {word.replace("-", "_") for word, _, _ in WORDS} == words - {"verbose"}  # whose word is --quiet
    options = {option.name for option in main.commands["fit"].params}
    assert words - {"verbose"} <= options


def test_the_commands():
    assert sorted(set(main.commands) & set(COMMANDS)) == COMMANDS


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_has_an_example(command, flag):
    result = run(*command, flag)
    assert result.exit_code == 0
    assert re.search(rf"^ +sklar {' '.join(command)}", result.stdout, re.MULTILINE), result.stdout


def test_the_version():
    assert run("--version").stdout.strip().endswith(sklar.__version__)


# Mistakes, one line each.


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
    "no values": (lambda frame: frame.assign(c=""), "column 'c' has no value in any row"),
    "too large": (at(7, "c", "1e200"), "column 'c' has values too large to square"),
    "one class": (lambda frame: frame.assign(y=1), "at least 2 classes"),
    "one row": (lambda frame: frame[:1], r"1 sample|at least 2 classes"),
    "no rows": (lambda frame: frame[:0], "has no rows"),
    "no columns": (lambda frame: frame[["y"]], "no columns besides the target 'y'"),
    "missing target": (at(7, "y", ""), "the target 'y' is missing in row 7"),
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
    "--rank=0": "'rank' parameter",
    "--temperature=0": "'temperature' parameter",
    "--max-epochs=0": "'max_epochs' parameter",
    "--batch-size=1": "'batch_size' parameter",
    "--validation-fraction=1": "'validation_fraction' parameter",
    "--random-state=-1": "'random_state' parameter",
    "--step-exponent=0.5": "step_exponent",  # a ranker's word without --k
    "--ignore=zzz": "no column 'zzz'",
}


@pytest.mark.parametrize("word", BAD_WORDS)
def test_bad_words(folder, tmp_path, word):
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar", word)
    assert_one_line_error(result, BAD_WORDS[word])
    assert not (tmp_path / "m.sklar").exists()


def test_a_penalty_for_a_ranker(folder, tmp_path):
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar", "--k", "2", "--penalty", "0.1")
    assert_one_line_error(result, "penalty")


def test_text_as_a_regression_target(folder, tmp_path):
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar", "--task", "regression")
    assert_one_line_error(result, "target 'y' is text")


BAD_FILES = {
    "none.csv": (None, "no such file"),
    "none.parquet": (None, "no such file"),
    "empty.csv": (b"", "has no rows"),
    "ragged.csv": (b"a,b,y\n1,2,0\n1,2\n", "line 3: 2 cells where the header has 3"),
    "twice.csv": (b"a,a,y\n1,2,0\n", "'a' stands in the header more than once"),
    "latin.csv": (b"a,y\n\xe9,1\n", "not a CSV file in UTF-8"),
    "fake.parquet": (b"a,b\n1,2\n", "not a Parquet file"),
    "table.xlsx": (b"PK", r"the ending must be \.csv or \.parquet"),
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
    "NaN": (at(7, "c", "nan"), r"column 'c' contains NaN \(first in row 7\); it had no missing value in fit"),
    "empty cell": (at(7, "c", ""), r"column 'c' contains NaN \(first in row 7\)"),
    "text": (lambda frame: frame.assign(c="oops"), "column 'c' held numbers in fit, and holds text here: 'oops'"),
    **{case: BAD_TABLES[case] for case in ("infinity", "text among numbers")},
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
    assert_one_line_error(run("select", model, data, "--out", tmp_path / "o.txt"), "ending must be")
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
        ["fit", "t.csv", "--target", "y", "--out", "m", "--rank", "two"],
        ["fit", "t.csv", "--target", "y", "--out", "m", "--task", "dance"],
        ["fit", "t.csv", "--target", "y", "--out", "m", "--nonsense", "1"],
        ["select", "m.sklar"],
        ["select", "m.sklar", "t.csv"],
        ["demo", "--samples", "5"],
        ["audit", "m.sklar", "t.csv"],
        ["explain", "m.sklar", "t.csv"],
        ["explain", "m.sklar", "t.csv", "--row", "three"],
        ["report", "m.sklar", "--target", "y"],
        ["report", "m.sklar", "t.csv"],
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


# The paper, reproduced.


def test_reproduce_and_report(tmp_path):
    words = ["--quick", "--device", "cpu", "--out", tmp_path, "--method", "tree", "--set", "n_trees=5"]
    result = run("reproduce", "table-11d", *words[:-2])
    assert result.exit_code == 0, result.output
    assert "2 of 2 cells" in result.stderr
    trial = run("reproduce", "table-11d", *words, "--json")  # which the page leaves out
    assert json.loads(trial.stdout) == {"name": "table-11d", "out": str(tmp_path)}
    result = run("report", tmp_path, "--out", tmp_path / "index.html")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Tree" in text
    assert "n_trees" not in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reproduce", "table-9"], "there is no experiment 'table-9'; there are table-11d"),
        (["reproduce", "table-11d", "--quick", "--method", "magic"], "table-11d has no method 'magic'"),
        (["reproduce", "table-nola", "--method", "sklar", "--device", "cpu"], "mnist.*is not in .*SKLAR_DATA"),
        (["report", ".", "--out", "x.html"], "holds no rows and no figures"),
    ],
)
def test_mistakes_about_results(arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert re.search(says, result.stderr), result.stderr


def test_an_interrupted_reproduction_keeps_what_it_has(tmp_path, monkeypatch):
    from sklar.experiments import runner

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "reproduce", fail)
    result = run("reproduce", "all", "--out", tmp_path)
    assert result.exit_code == 130
    assert "the same command goes on" in result.stderr


# Text and holes, from file to file.


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
