"""Real tables: rows are written once, a run goes on where it stopped, and columns stay columns."""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("lightgbm", reason="the extra [baselines] is not installed")
FOLDER = Path(__file__).parents[2] / "benchmarks"
TINY = ["--quick", "--tables", "wine", "--methods", "treeshap", "random"]


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    import real_tables

    return real_tables


@pytest.fixture
def methods(bench):
    return sys.modules["real_table_methods"]


@pytest.fixture
def autos(tmp_path, monkeypatch):
    """A table with text and missing values, written here."""
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((80, 3)).round(3), columns=["a", "b", "c"])
    frame["make"] = np.where(frame["a"] > 0, "audi", "bmw")
    frame.loc[::7, ["b", "make"]] = None
    frame["price"] = frame["a"] * 3 + 10
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/autos.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    return frame


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_quick_measures_both_judges_and_shows_them(bench, tmp_path, capsys):
    out, picture = tmp_path / "new" / "rows.jsonl", tmp_path / "picture.png"
    bench.main(["--quick", "--out", str(out)])
    rows = rows_of(out)
    assert len(rows) == 2 * (3 * 2 + 1) * 2  # tables; three methods of two k, and the selector; judges
    assert len({bench.key_of(row) for row in rows}) == len(rows)
    for row in rows:
        assert row["score"] <= 100
        assert row["features"] == row["k"] or row["method"] == "sklar-selector"
        assert (row["own_score"] is None) == (row["method"] in ("treeshap", "forest"))
        assert row["excess"] is not None
        assert row["distinct_masks"] >= 1
        assert row["command"].startswith("python benchmarks/real_tables.py --quick")
        assert row["commit"]
    capsys.readouterr()
    bench.main(["--quick", "--out", str(out), "--table", "--picture", str(picture)])
    shown = capsys.readouterr().out
    for text in ("### Classification: means", "### Regression: means", "| ranker against |", "**wine** (124 x 13"):
        assert text in shown
    assert "| 1 | TreeSHAP, k largest of the row | 1 | 1.0 |" in shown
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_run_goes_on_where_it_stopped(bench, tmp_path, capsys):
    out = tmp_path / "rows.jsonl"
    bench.main([*TINY, "--out", str(out)])
    whole = rows_of(out)
    lines = out.read_text(encoding="utf-8").splitlines(keepends=True)
    out.write_text("".join(lines[:3]) + lines[3][:20], encoding="utf-8")  # killed while it wrote
    bench.main([*TINY, "--out", str(out)])
    again = rows_of(out)
    timeless = [{name: value for name, value in row.items() if name != "seconds"} for row in (*whole, *again)]
    by_key = [sorted(half, key=bench.key_of) for half in (timeless[: len(whole)], timeless[len(whole) :])]
    assert by_key[0] == by_key[1]
    bench.main([*TINY, "--out", str(out)])
    assert len(rows_of(out)) == len(whole)
    assert capsys.readouterr().out.endswith("wine, split 0: 0 rows\n")


def test_rows_are_never_doubled(bench, tmp_path):
    out = tmp_path / "rows.jsonl"
    row = {"table": "wine", "split": 0, "method": "random", "k": 1, "judge": "trees", "quick": False, "score": 1.0}
    assert bench.append(out, [row, {**row, "k": 2}]) == 2
    assert bench.append(out, [row, {**row, "k": 3}]) == 1
    assert [row["k"] for row in bench.rows_of(out)] == [1, 2, 3]


def test_again_forgets_what_is_asked_for_alone(bench, tmp_path):
    out = tmp_path / "rows.jsonl"
    row = {"split": 0, "k": 1, "judge": "trees", "quick": True}
    bench.append(out, [{**row, "table": table, "method": "random"} for table in ("wine", "digits")])
    bench.main(["--quick", "--tables", "wine", "--methods", "random", "--again", "--out", str(out)])
    first, *others = rows_of(out)
    assert first == {**row, "table": "digits", "method": "random"}
    assert len(others) == 4
    assert all("score" in row for row in others)


def test_a_method_that_fails_does_not_stop_the_others(bench, tmp_path, monkeypatch, capsys):
    def fail(split, ks):
        raise ValueError("too few rows")

    monkeypatch.setitem(bench.METHODS, "treeshap", fail)
    bench.main([*TINY, "--out", str(tmp_path / "rows.jsonl")])
    assert {row["method"] for row in rows_of(tmp_path / "rows.jsonl")} == {"random"}
    assert "wine, split 0: treeshap failed" in capsys.readouterr().err


def test_a_table_that_is_not_there_is_reported(bench, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    bench.main(["--quick", "--tables", "autos", "--out", str(tmp_path / "rows.jsonl")])
    assert "autos: the data file tables/autos.csv.gz is not in" in capsys.readouterr().err


def test_text_and_missing_values(methods, autos):
    split = methods.Split.of("autos", 0, quick=True)
    assert split.text == ["make"]
    assert np.isnan(split.codes[::7, [1, 3]]).all()
    assert len(set(split.codes[autos["make"].notna(), 3])) == 2
    assert np.isfinite(split.numbers).all()
    audi, bmw = (split.numbers[autos["make"] == make, 3].mean() for make in ("audi", "bmw"))
    assert audi > 10 > bmw  # the mean of the target
    inputs, column = split.inputs
    assert column == [0, 1, 1, 2, 3, 3, 3]  # a number and "missing"; two makes and "missing"
    assert inputs.shape == (80, 7)
    np.testing.assert_allclose(inputs[:, 0], (autos["a"] - autos["a"].mean()) / autos["a"].std(ddof=0), atol=1e-5)
    np.testing.assert_array_equal(inputs[:, 6] > 0, autos["make"].isna())
    for name in ("sklar-ranker", "treeshap", "permutation", "lasso"):
        (selection,) = methods.METHODS[name](split, [2])
        assert selection.masks.shape == (24, 4)
        assert (selection.masks.sum(axis=1) == 2).all()


def test_a_number_that_misses_in_test_rows_alone_is_the_training_median(methods, tmp_path, monkeypatch):
    X = pd.DataFrame({"a": [1.0, 2.0, 9.0, np.nan], "b": [np.nan, 1.0, 2.0, np.nan]})
    filled = methods._without_surprises(X, np.array([0, 1, 2]))
    assert filled["a"].tolist() == [1.0, 2.0, 9.0, 2.0]
    assert filled["b"].isna().tolist() == [True, False, False, True]


def test_differences_have_errors_over_splits_or_over_rows(bench):
    views = sys.modules["real_table_views"]
    pair = ({"score": 80.0, "score_error": 3.0}, {"score": 70.0, "score_error": 4.0})
    assert views._difference([pair]) == (10.0, 5.0)
    mean, error = views._difference([pair, ({"score": 76.0}, {"score": 70.0})])
    assert (mean, error) == (8.0, pytest.approx(2.0))
