"""The benchmark of one fit compares each price with a fit of its own, and measures nothing twice."""

import importlib.util
import json
from pathlib import Path

from sklar import CopulaRankerClassifier
from sklar.datasets import make_synthetic
from sklar.training.honest.settings import HonestSettings

SPEC = importlib.util.spec_from_file_location("one_fit", Path(__file__).parents[2] / "benchmarks" / "one_fit.py")
one_fit = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(one_fit)


def told(name, number, kind, asked, wide_steps):
    """What `measure` gives: one fit is a point below those of their own, prefixes two."""
    row = {"table": name, "split": number, "kind": kind, "asked": asked, "wide_steps": wide_steps}
    row |= {"seconds": 5.0, "beside": 1.0, "score": 80.0, "features": 3.0}
    if asked is None:
        prices = ("1", "2", "3") if kind == "k" else tuple(f"{2.0**i:.6g}" for i in range(8))
        row["at"] = {price: {"score": 79.0, "features": 2.0} for price in prices}
        if kind == "k":
            row["prefix"] = {price: {"score": 78.0, "features": 2.0} for price in prices}
    return row


def test_every_price_meets_a_fit_of_its_own(tmp_path, monkeypatch, capsys):
    asked = []

    def measure(*what, **how):
        asked.append(what)
        return told(*what)

    monkeypatch.setattr(one_fit, "measure", measure)
    out = tmp_path / "rows.jsonl"
    for _ in range(2):
        one_fit.main(["--tables", "phoneme", "--splits", "1", "--out", str(out)])
    assert len(asked) == len(out.read_text().splitlines()) == 2 + 3 + 3
    assert {what[3] for what in asked if what[2] == "k"} == {None, 1, 2, 3}
    assert {what[3] for what in asked if what[2] == "penalty"} == {None, 4.0, 16.0, 64.0}
    table = capsys.readouterr().out
    assert "| phoneme | k = 2 | 1100 | 79.00 | 2.00 | 80.00 | 3.00 | 78.00 | 1.25 |" in table
    assert "| phoneme | price 5 of 8 | 400 | 79.00 | 2.00 | 80.00 | 3.00 |  | 1.25 |" in table
    assert [json.loads(line)["seconds"] for line in out.read_text().splitlines()] == [5.0] * 8
    out.write_text("".join(out.read_text().splitlines(keepends=True)[:2]))  # stopped after the first two
    one_fit.main(["--tables", "phoneme", "--splits", "1", "--out", str(out)])
    assert len(out.read_text().splitlines()) == 8  # and gone on with the others
    del asked[8:]
    one_fit.main(["--tables", "phoneme", "--splits", "1", "--wide-steps", "1000", "--out", str(out)])
    assert [what[3] for what in asked[8:]] == [None, None]  # fits of their own are there


def test_a_fit_is_timed_with_and_without_what_answers_at_other_prices():
    X, y, _ = make_synthetic("syn4", 600, random_state=0)
    ranker = CopulaRankerClassifier(k=2, max_epochs=2, random_state=0, device="cpu")
    before = one_fit.honest.train_counts
    fitted, seconds, beside = one_fit.timed_fit(ranker, X, y, 1.0)
    assert 0 < beside < seconds
    assert one_fit.honest.train_counts is before
    assert (fitted.masks(fitted.read(X)) == ranker.fit(X, y).select(X)).all()
    settings = HonestSettings()
    assert one_fit.longer(settings, 2.5).schedule.wide_steps == 1000
    assert one_fit.longer(settings, 2.5).schedule.count_steps == 2750


def test_splits_are_apart_and_synthetic_tables_are_new_draws():
    _, X, y, X_new, y_new = one_fit.split("syn4", 1)
    assert len(X) == len(y) == len(X_new) == len(y_new) == 10_000
    assert (X[0] != X_new[0]).any()
