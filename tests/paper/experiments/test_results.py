"""Means, intervals and verdicts; and the published numbers against independent copies of some of them."""

import numpy as np
import pytest
from scipy import stats

from sklar.paper.experiments.results import Summary, for_the_page, published, summarise, tables_of, verdict
from sklar.paper.experiments.specs import SPECS


def row(method="sklar", dataset="mnist", k=10, seed=0, metric="accuracy", value=50.0, **more):
    fields = {"setting": "", "quick": False, "overrides": {}, "experiment": "table-nola"}
    return {
        **fields,
        "method": method,
        "dataset": dataset,
        "k": k,
        "seed": seed,
        "metric": metric,
        "value": value,
        **more,
    }


def test_the_interval_is_students():
    values = [90.0, 93.0, 91.5, 95.0]
    found = summarise(values)
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert found.mean == pytest.approx(np.mean(values))
    assert (found.mean - found.half_width, found.mean + found.half_width) == pytest.approx((low, high))


def test_one_seed_has_no_interval():
    assert summarise([3.0]) == Summary(3.0, None, 1)


def test_every_table_is_complete():
    """9 methods and 12 columns in the first two tables, 3 methods in the third, and the small ones."""
    counts = {}
    for table, *_ in published():
        counts[table] = counts.get(table, 0) + 1
    assert counts == {
        "table-11d": 108,
        "table-100d": 108,
        "table-correlated": 36,
        "table-low-rank": 6,
        "table-nola": 8,
        "table-data": 9,
    }


def test_some_published_numbers():
    printed = published()
    assert [printed["table-nola", "Ours", f"k={k}"] for k in (10, 20, 30, 40)] == [91.77, 92.94, 93.57, 93.79]
    assert [printed["table-low-rank", "Low-rank", f"k={k}"] for k in (10, 20, 30)] == [91.34, 92.40, 93.93]
    assert printed["table-11d", "Ours", "syn5 FDR"] == 3.78
    assert printed["table-100d", "SCFS", "syn6 FDR"] == 61.7
    assert printed["table-correlated", "Ours", "syn4 TPR"] == 91.95


def test_every_published_row_has_a_method():
    for (table, name, _), _value in published().items():
        if table in SPECS and SPECS[table].name.startswith("table"):
            assert name in {method.published for method in SPECS[table].methods}, (table, name)


@pytest.mark.parametrize(
    ("metric", "mean", "reference", "expected"),
    [
        ("tpr", 99.0, 95.0, "ahead"),
        ("fdr", 1.0, 2.0, "ahead"),
        ("fdr", 9.0, 2.0, "behind"),
        ("accuracy", 90.0, 92.0, "behind"),
        ("accuracy", 92.3, 92.0, "level"),
        ("tpr", 100.0, 100.0, "level"),
    ],
)
def test_verdicts(metric, mean, reference, expected):
    assert verdict(metric, Summary(mean, 0.5, 3), reference) == expected


def test_trials_and_quick_rows_stay_off_the_page():
    full, trial, quick = row(), row(overrides={"rank": 2}), row(quick=True)
    assert for_the_page([full, trial, quick]) == ([full], False)
    assert for_the_page([trial, quick]) == ([quick], True)
    assert for_the_page([trial]) == ([], False)


def test_a_table_has_published_and_measured_side_by_side():
    rows = [row("joint-full", k=10, seed=seed, value=92.0 + seed) for seed in range(3)]
    rows += [row("joint-full", k=10, metric="evalx", value=20.0)]
    (view,) = tables_of("table-nola", rows, quick=False)
    line = dict(view.lines)["the paper's method, full-rank"]
    assert (line[0].measured.mean, line[0].published, line[0].verdict) == (93.0, 91.77, "level")
    assert (line[1].measured.mean, line[1].published, line[1].verdict) == (20.0, None, "")
    assert line[2].measured is None
    assert line[2].published == 92.94


def test_without_a_published_number_the_best_rival_is_the_measure():
    rows = [row("sklar", "isolet", value=80.0), row("stg", "isolet", value=70.0), row("gdfs", "isolet", value=85.0)]
    view = tables_of("figure-accuracy", rows, quick=False)[2]
    assert dict(view.lines)["sklar (honest)"][0].verdict == "behind"
    assert dict(view.lines)["STG"][0].verdict == ""


def test_an_fdr_alone_is_not_compared_with_rivals():
    place = {"dataset": "syn4", "k": None, "metric": "fdr", "experiment": "table-11d", "setting": "d=11"}
    rows = [row("sklar-nola", value=0.4, **place), row("knockoff", value=0.0, **place)]
    (view,) = tables_of("table-11d", rows, quick=False)
    cells = dict(view.lines)["sklar (honest), no copula"]
    assert [cell.verdict for cell in cells if cell.measured] == [""]
