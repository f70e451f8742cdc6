"""What commands on a table give."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sklar
from tests.cli.commands import QUICK_OPTIONS, assert_one_line_error, fit, run
from tests.helpers import QUICK


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


def test_a_checkpoint_is_kept_and_only_its_own_fit_goes_on(folder, tmp_path):
    out, words = tmp_path / "m.sklar", ["--penalty", "0.01", "--checkpoint", tmp_path / "run"]
    assert fit(folder / "good.csv", "y", out, *words).exit_code == 0
    assert (tmp_path / "run" / "checkpoint.json").exists()
    assert out.read_bytes() == (folder / "selector.sklar").read_bytes()
    result = fit(folder / "good.csv", "y", out, *words, "--batch-size", "32")
    assert_one_line_error(result, "the checkpoint of another fit: batch_size was 64 and is 32; name another folder")
    assert_one_line_error(
        fit(folder / "good.csv", "y", out, *words[:3], folder), "but no checkpoint; name an empty or new"
    )


@pytest.mark.parametrize(
    ("words", "says"), [([], "nothing was written"), (["--checkpoint", "run"], "goes on from run")]
)
def test_ctrl_c_says_what_is_left(folder, tmp_path, monkeypatch, words, says):
    def interrupted(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("sklar.workflow.fit_file", interrupted)
    result = fit(folder / "good.csv", "y", tmp_path / "m.sklar", *words)
    assert result.exit_code == 130
    assert result.stderr.startswith("interrupted: ")
    assert result.stderr.endswith(f"{says}\n")


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


def test_another_price_and_another_k(folder, tmp_path):
    frame, model = pd.read_csv(folder / "good.csv"), tmp_path / "m.sklar"
    fit(folder / "good.csv", "y", model, "--objective", "honest", "--max-epochs", "2")
    selector, out = sklar.load(model), tmp_path / "out.csv"
    price = max(selector.path_["penalty"])
    assert run("select", model, folder / "good.csv", "--penalty", price, "--out", out).exit_code == 0
    expected = selector.select(frame[list("abcde")], penalty=price)
    np.testing.assert_array_equal(pd.read_csv(out).to_numpy() == 1, expected)
    told = run("explain", model, folder / "good.csv", "--row", "3", "--penalty", price, "--json")
    assert len(json.loads(told.stdout)["selected"]) == expected.iloc[3].sum()
    assert run("rank", folder / "ranker.sklar", folder / "good.csv", "--k", "1", "--out", out).exit_code == 0
    assert list(pd.read_csv(out).columns) == ["rank_1"]
    wrong = run("select", folder / "ranker.sklar", folder / "good.csv", "--k", "99", "--out", out)
    assert_one_line_error(wrong, "k must be a whole number from 1 to")


@pytest.mark.parametrize("model", ["selector", "ranker"])
def test_explain(folder, model):
    arguments = ("explain", folder / f"{model}.sklar", folder / "good.csv", "--row", "3")
    expected = sklar.load(folder / f"{model}.sklar").explain(pl.read_csv(folder / "good.csv").row(3, named=True))
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


def test_boosted_trees_predict_if_asked_for(folder, tmp_path):
    out = tmp_path / "m.sklar"
    words = ("--target", "y", "--out", out, "--penalty", "0.01", "--quiet", *QUICK_OPTIONS)
    assert run("fit", folder / "good.csv", *words, "--predictor", "trees").exit_code == 0
    assert sklar.load(out).fitted_.predictor.name == "boosted trees"
    assert_one_line_error(run("fit", folder / "good.csv", *words, "--predictor", "forest"), "predictor")


@pytest.fixture(scope="module")
def asked_at(folder):
    """A selector that knows other penalties than its own."""
    out = folder / "auto.sklar"
    assert fit(folder / "good.csv", "y", out, "--objective", "honest", "--penalty", "auto").exit_code == 0
    return out


def test_so_many_features_as_are_asked_for(folder, tmp_path, asked_at):
    wanted = round(np.mean(sklar.load(asked_at).path_["mean_features"]))
    penalty = sklar.load(asked_at).features_at(wanted)
    for command, *words in (
        ("select", "--out", tmp_path / "a"),
        ("predict", "--out", tmp_path / "a"),
        ("explain", "--row", 3),
    ):
        answers = []
        for word in (("--features-at", wanted), ("--penalty", penalty)):
            words = [f"{value}.csv" if value == tmp_path / "a" else value for value in words]
            result = run(command, asked_at, folder / "good.csv", *words, *word)
            assert result.exit_code == 0, result.output
            answers.append(result.stdout if command == "explain" else (tmp_path / "a.csv").read_text())
        assert answers[0] == answers[1]


def test_features_at_is_one_way_to_ask_a_selector(folder, asked_at):
    words = (folder / "good.csv", "--out", "-", "--features-at", 1)
    assert_one_line_error(run("select", folder / "ranker.sklar", *words), "--features-at is for selectors; --k says")
    assert_one_line_error(run("select", asked_at, *words, "--penalty", "0.1"), "give one of them")
    assert_one_line_error(run("select", folder / "selector.sklar", *words), "this model knows one penalty")


def test_standard_output_is_called_so(folder):
    result = run("select", folder / "selector.sklar", folder / "good.csv", "--out", "-")
    assert result.stderr == "wrote 60 rows to standard output\n"


@pytest.mark.filterwarnings("always::UserWarning")
def test_a_warning_is_said_once(folder, tmp_path):
    """`report` reads its rows for the audit and again for the page."""
    frame = pd.read_csv(folder / "good.csv").assign(kind=["u", "v"] * 30)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert fit(tmp_path / "t.csv", "y", tmp_path / "m.sklar", "--penalty", "0.01").exit_code == 0
    frame.assign(kind="new").to_csv(tmp_path / "new.csv", index=False)
    result = run("report", tmp_path / "m.sklar", tmp_path / "new.csv", "--out", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("warning: column 'kind': 100% of the rows") == 1


@pytest.mark.filterwarnings("always::UserWarning")
def test_a_sign_that_may_mean_missing_is_asked_about(folder, tmp_path):
    frame = pd.read_csv(folder / "good.csv").assign(kind=["u", "?"] * 30)
    frame.loc[:9, "y"] = "?"
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = (tmp_path / "t.csv", "y", tmp_path / "m.sklar", "--penalty", "0.01")
    asks = "warning: '?' is a category of its own in 'y', 'kind'; say --missing '?' if it means that a value is missing"
    assert asks in fit(*words).stderr
    result = fit(*words, "--missing", "?", quiet=False)
    assert "category of its own" not in result.stderr
    assert "10 of 60 rows have no value of 'y'" in result.stderr


def test_a_page_with_refits(folder, tmp_path):
    words = ("report", folder / "selector.sklar", folder / "good.csv", "--out", tmp_path / "page.html", "--refits", 1)
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "Same after a refit" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert_one_line_error(run(*words, "--no-audit"), "--refits is a part of the audit")
