"""The page as text: one file, escaped, small, and no way out to a network."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from sklar import CopulaSelectorClassifier
from sklar.model.gates import Gates
from sklar.report.explorer import write_report
from sklar.table.gating import Gating
from tests.helpers import quick
from tests.report.explorer.conftest import NASTY


@pytest.fixture(scope="module")
def page(classified, tmp_path_factory):
    model, frame, y = classified
    path = model.report(frame, y, tmp_path_factory.mktemp("page") / "report.html", audit=False)
    return path.read_text(encoding="utf-8")


def test_names_cannot_break_out(page):
    for text in (*NASTY[:3], "<b>yes</b>", "</script>no", "<i>target</i>"):
        assert text not in page
    assert page.count("<script") == page.count("</script>") == 2  # the facts and the page's own
    facts = json.loads(re.search(r'<script type="application/json" id="facts">(.*?)</script>', page, re.S)[1])
    assert [feature["name"] for feature in facts["features"]] == NASTY


def test_it_needs_no_network(page):
    assert "default-src 'none'" in page
    unpacked = re.sub(r'"(state|effects|certainty|order)":"[A-Za-z0-9+/=]*"', "", page)
    outside = re.findall(r"(?:https?:)?//[a-z][^\s\"'<>]*", unpacked)
    assert set(outside) <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"\b(?:src|href)=\"(?!#)", page)


def test_the_overview_is_there_without_scripts(page, classified):
    model, frame, y = classified
    assert f"{100 * model.score(frame, y):.1f}&nbsp;%" in page
    assert "What decides a &lt;i&gt;target&lt;/i&gt;" in page
    assert "Audit: not run" in page


def test_1000_rows_of_50_features_at_8_prices_stay_below_a_megabyte_and_a_half(tmp_path):
    """Prices of a selector whose gates are all near their thresholds: about half of all cells are selected."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((1000, 50)) * 1e3, columns=[f"a feature of the table {i}" for i in range(50)])
    y = (X.iloc[:, 0] > 0).astype(int)
    words = {"objective": "honest", "max_epochs": 1, "penalty": "auto", "predictor": "networks"}
    model = quick(CopulaSelectorClassifier, **words)
    model.fit(X, y)
    model._adopt(_of_half_the_cells(model.fitted_))
    path = model.report(X, y, tmp_path / "report.html", audit=False)
    text = re.search(r'id="facts">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)[1]
    facts = json.loads(text)
    assert (len(facts["columns"]), len(facts["rows"]["label"]), len(facts["levels"])) == (50, 1000, 8)
    assert min(level["sizes"]["mean"] for level in facts["levels"]) > 20
    assert path.stat().st_size < 1_500_000


def _of_half_the_cells(fitted):
    """The same model of all columns with scores around 0, at every price."""
    torch.manual_seed(0)
    networks = []
    for network in (fitted.network, fitted.priced):
        a = replace(network.architecture, n_features=50, gate_of_input=(), forced=())
        networks.append(type(network)(a, torch.Generator().manual_seed(0)).double().eval())
    schema = replace(fitted.schema, gating=Gating(np.arange(50), np.arange(50), Gates(50)))
    return replace(fitted, network=networks[0], priced=networks[1], schema=schema)


@pytest.mark.parametrize(
    ("own", "excess", "says"),
    [
        (71.0, 0.0, "no sign of a leak"),
        (90.0, 0.0, "may tell the label"),
        (71.0, 0.2, "the choice of features persuades"),
    ],
)
def test_the_verdict_of_the_audit_in_words(classified, tmp_path, own, excess, says):
    model, frame, y = classified
    numbers = dict.fromkeys(("everything_score", "union_score", "mask_score", "guess_score", "mean_features"), 50.0)
    numbers |= {"evalx_score": 70.0, "own_score": own, "score_error": 1.0, "noise_agreement": 97.0}
    numbers |= {"expected_score": 65.0, "excess": excess, "excess_error": 0.01, "constant_excess": 0.0}
    from sklar.audit import AuditReport

    refits = {"refit_agreement": 61.0, "grouped_refit_agreement": 87.0}
    audit = AuditReport(score_name="accuracy", union_features=3, n_rows=1300, **refits, **numbers)
    leaks = own > 80 or excess > 0
    assert audit.leaks is leaks
    text = model.report(frame, y, tmp_path / "r.html", audit=audit).read_text(encoding="utf-8")
    assert says in text
    assert "Same after a refit" in text
    assert "(61&nbsp;% one by one)" in text
    assert ("Do not read these selections as reasons yet" in text) is leaks


def test_an_audit_of_few_rows_is_no_pass(priced, tmp_path):
    """And a page says R² in one way only, and of which price its audit is."""
    model, X, y = priced
    text = model.report(X[:30], y[:30], tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Audit at the chosen price: too few rows to tell" in text
    assert "no sign of a leak" not in text
    shown = text[: text.index('<script type="application/json"')]
    assert "R^2" not in shown
    assert "reach\n      R² " in shown


def test_the_audit_runs_and_progress_is_told(ranked, tmp_path):
    model, X, y = ranked
    told = []
    path = write_report(model.fitted_, X, y, tmp_path / "r.html", progress=told.append)
    assert "Audit: not run" not in path.read_text(encoding="utf-8")
    assert [text.split()[1] for text in told] == ["auditing", "asking", "wrote"]


def test_verbose_estimators_tell_on_standard_error(ranked, tmp_path, capsys):
    model, X, y = ranked
    model.report(X, y, tmp_path / "r.html", audit=False)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=1)
    try:
        model.report(X, y, tmp_path / "r.html", audit=False)
    finally:
        model.set_params(verbose=False)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "wrote" in captured.err


def test_mistakes_are_named_before_any_work(ranked, tmp_path):
    model, X, y = ranked
    with pytest.raises(ValueError, match="is not a folder"):
        model.report(X, y, tmp_path / "nowhere" / "r.html")
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        model.report(X, y, tmp_path / "r.html", max_rows=0)
    assert not list(tmp_path.iterdir())


def test_a_title_can_be_given(ranked, tmp_path):
    model, X, y = ranked
    text = model.report(X, y, tmp_path / "r.html", audit=False, title="A & B").read_text(encoding="utf-8")
    assert "<h1>A &amp; B</h1>" in text


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas, pd.DataFrame.to_numpy])
def test_every_kind_of_table_gives_the_same_page(classified, tmp_path, kind):
    model, frame, y = classified
    pages = []
    for table in (frame.reset_index(drop=True), kind(frame.reset_index(drop=True))):
        path = model.report(table, y, tmp_path / "r.html", audit=False, max_rows=20)
        pages.append(path.read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
