"""The facts are the estimator's own answers."""

import json
import re
from base64 import b64decode
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import r2_score

from sklar import CopulaRankerRegressor, CopulaSelectorClassifier
from sklar.report.explorer import facts as module
from sklar.report.explorer.facts import collect
from sklar.report.explorer.levels import LARGEST, SELECTED, SURELY, asked_at
from tests.helpers import quick, toy_rows
from tests.report.explorer.conftest import NASTY


def chosen(facts):
    return facts["levels"][facts["chosen"]]


def states(facts, level):
    """The bits of every cell, from four to a byte."""
    packed = np.frombuffer(b64decode(level["state"]), np.uint8)
    cells = ((packed[:, np.newaxis] >> np.array([0, 2, 4, 6])) & 3).ravel()
    width = len(facts["columns"])
    return cells[: len(facts["rows"]["label"]) * width].reshape(-1, width)


def of_selected(facts, level, what, kind):
    """Numbers of the selected cells, at full width."""
    selected = (states(facts, level) & SELECTED) > 0
    wide = np.zeros(selected.shape)
    wide[selected] = np.frombuffer(b64decode(level[what]), kind)
    return wide


@pytest.fixture(scope="module")
def told(classified):
    model, frame, y = classified
    return collect(model.fitted_, frame, y, max_rows=50, audit=None)


def test_they_are_json(told, ranked):
    model, X, y = ranked
    for facts in (told, collect(model.fitted_, X, y, max_rows=9, audit=None)):
        assert json.loads(json.dumps(facts, allow_nan=False)).keys() == facts.keys()


def test_cells_are_the_estimators_answers(told, classified):
    model, frame, _ = classified
    rows = [int(label[1:]) for label in told["rows"]["label"]]
    assert (len(rows), rows[0], rows[-1]) == (50, 0, 129)
    some = frame.iloc[rows]
    shown = [column["feature"] for column in told["columns"]]
    proba = model.selection_proba(some).to_numpy()[:, shown]
    state = states(told, chosen(told))
    np.testing.assert_array_equal((state & SELECTED) > 0, model.select(some).to_numpy()[:, shown])
    np.testing.assert_array_equal((state & SURELY) > 0, np.where(proba > 0.5, proba, 1 - proba) >= 0.8)
    for column in told["columns"]:
        np.testing.assert_allclose(column["values"], some.iloc[:, column["feature"]], rtol=1e-3)
    assert chosen(told)["prediction"] == model.predict(some).tolist()
    effects = of_selected(told, chosen(told), "effects", "<i2") / LARGEST * chosen(told)["largest"]
    np.testing.assert_allclose(effects, model.effects(some, model.classes_[1]).to_numpy()[:, shown], atol=1e-4)


def test_numbers_are_of_all_rows(told, classified):
    model, frame, y = classified
    masks = model.select(frame).to_numpy()
    assert told["n_rows"] == 130
    assert chosen(told)["score"] == pytest.approx(100 * model.score(frame, y))
    assert told["score"]["guess"] == pytest.approx(100 * y.value_counts(normalize=True).max())
    assert chosen(told)["sizes"]["mean"] == pytest.approx(masks.sum(axis=1).mean())
    assert [feature["name"] for feature in told["features"]] == NASTY
    assert [line[0] for line in chosen(told)["features"]] == np.flatnonzero(masks.any(axis=0)).tolist()
    for j, overall, *by_group in chosen(told)["features"]:
        assert overall == pytest.approx(100 * masks[:, j].mean(), abs=0.05)
        for group, share in zip(told["groups"], by_group, strict=True):
            assert share == pytest.approx(100 * masks[(y == group).to_numpy(), j].mean(), abs=0.05)


def test_rules_and_sure_choices_are_of_all_rows(told, priced):
    """Not of the rows that the table shows: then the page said other rules than `rules(X)`."""
    model, X, y = priced
    for facts, rows in ((told, 130), (collect(model.fitted_, X, y, max_rows=9, audit=None), 150)):
        assert facts["n_rows"] == facts["n_ruled"] == facts["n_sure"] == rows
    for level, (price, _) in zip(facts["levels"], asked_at(model.fitted_), strict=True):
        masks = np.asarray(model.select(X, penalty=price))
        sure = np.asarray(model.selection_proba(X, penalty=price)) >= 0.8
        assert level["sure"] == pytest.approx((masks & sure).sum() / max(1, masks.sum()))
        assert level["rules"] == model.rules(X, penalty=price).to_list()


def test_of_very_many_rows_some_are_asked_and_the_page_says_so(ranked, monkeypatch, tmp_path):
    model, X, y = ranked
    for name in ("rules.MOST_ROWS", "report.explorer.facts.MOST_RULED", "report.explorer.levels.MOST_DRAWN"):
        monkeypatch.setattr(f"sklar.{name}", 20)
    monkeypatch.setattr("sklar.report.explorer.levels.ROWS_AT_ONCE", 7)
    some = X[np.linspace(0, 59, 20).round().astype(int)]
    facts = collect(model.fitted_, X, y, max_rows=9, audit=None)
    assert facts["n_ruled"] == facts["n_sure"] == 20
    masks, sure = np.asarray(model.select(some)), np.asarray(model.selection_proba(some)) >= 0.8
    assert chosen(facts)["sure"] == pytest.approx((masks & sure).sum() / masks.sum())
    assert chosen(facts)["rules"] == model.rules(X).to_list()
    page = model.report(X, y, tmp_path / "r.html", audit=False).read_text(encoding="utf-8")
    assert "Rules are of 20 of the 60 rows, evenly spread" in page
    assert "The share of sure choices is of 20 of the 60 rows, evenly spread" in page


def test_a_features_column_is_its_place_in_the_table(told):
    for j, feature in enumerate(told["features"]):
        if feature["column"] >= 0:
            assert told["columns"][feature["column"]]["feature"] == j


def test_links_are_the_correlation_reordered(told, classified):
    model, frame, _ = classified
    some = frame.loc[told["rows"]["label"]]
    shown = told["links"]["features"]
    expected = model.correlation(some).to_numpy()[np.ix_(shown, shown)]
    np.testing.assert_allclose(told["links"]["values"], expected, atol=0.006)
    assert sorted(shown) == list(range(5))


def test_the_path_names_its_choice(told, classified):
    path, levels, model = told["path"], told["levels"], classified[0]
    assert levels[told["chosen"]]["value"] == pytest.approx(model.penalty_, rel=1e-3)
    assert path["tried"] == len(model.path_["penalty"])
    loss = np.array(model.path_["loss"])
    here = [int(np.argmin(np.abs(np.log(np.array(model.path_["penalty"]) / level["value"])))) for level in levels]
    np.testing.assert_allclose(path["above"], (loss - loss.min())[here], rtol=1e-3)
    np.testing.assert_allclose(path["error"], np.array(model.path_["error"])[here], rtol=1e-3)


def test_a_third_without_rows_is_no_group(ranked):
    model, X, _ = ranked
    for values, expected in (
        (np.repeat([0.0, 1.0], [10, 50]), [10, 50]),
        (np.repeat([1.0, 2, 3, 4], [1, 50, 8, 1]), [51, 9]),
    ):
        told = collect(model.fitted_, X, values, max_rows=1000, audit=None)
        assert np.bincount(told["rows"]["group"]).tolist() == expected
        assert len(told["groups"]) == 2


def test_a_ranker_of_values(ranked):
    model, X, y = ranked
    told = collect(model.fitted_, X, y, max_rows=1000, audit=None)
    shown = [column["feature"] for column in told["columns"]]
    assert [level["value"] for level in told["levels"]] == [1, 2]
    for level in told["levels"]:
        k = int(level["value"])
        places = of_selected(told, level, "order", np.uint8)
        found = np.array(shown)[np.argsort(np.where(places > 0, places, np.inf), axis=1, kind="stable")[:, :k]]
        np.testing.assert_array_equal(found, model.rank(X, k=k))
        assert level["score"] == pytest.approx(100 * r2_score(y, model.predict(X, k=k)))
    assert chosen(told)["proba"] is told["path"] is None
    assert np.bincount(told["rows"]["group"]).tolist() == [20, 20, 20]  # thirds


def test_rows_of_which_none_has_a_value_have_no_column(ranked):
    model, X, y = ranked
    told = collect(model.fitted_, np.full_like(X, np.nan), y, max_rows=9, audit=None)
    assert told["columns"] == []
    assert chosen(told)["sure"] == chosen(told)["sizes"]["mean"] == 0


def test_a_class_that_the_model_never_saw_has_its_group(classified):
    model, frame, y = classified
    told = collect(model.fitted_, frame, y.where(np.arange(130) > 4, "new"), max_rows=5, audit=None)
    assert told["groups"] == ["</script>no", "<b>yes</b>", "new"]
    assert told["rows"]["group"][0] == 2
    assert told["rows"]["target"][0] == "new"


def test_wide_tables_keep_the_most_selected_columns(monkeypatch):
    monkeypatch.setattr(module, "MOST_COLUMNS", 2)
    masks = np.array([[1, 0, 1, 0], [1, 1, 1, 0]], dtype=bool)
    level = SimpleNamespace(shown_masks=masks, certainty=masks.astype(float), chosen=True)
    assert module._columns([level]).tolist() == [0, 2]


@pytest.mark.parametrize("y", [np.zeros(3), np.zeros((130, 2))])
def test_targets_must_fit_the_rows(classified, y):
    model, frame, _ = classified
    with pytest.raises(ValueError, match="one value for each of the 130 rows"):
        collect(model.fitted_, frame, y, max_rows=5, audit=None)


def test_places_of_several_models():
    X, value = toy_rows(40)
    model = quick(CopulaRankerRegressor, n_models=3).fit(X, value)
    told = collect(model.fitted_, X, value, max_rows=10, audit=None)
    rows = [int(label) for label in told["rows"]["label"]]
    assert chosen(told)["places"] == model.rank_interval(X)[rows].tolist()
    assert told["model"]["n_models"] == 3
    shares = model.selection_frequency(X)[rows][:, [column["feature"] for column in told["columns"]]]
    packed = np.frombuffer(b64decode(chosen(told)["certainty"]), np.uint8)
    np.testing.assert_array_equal(packed.reshape(shares.shape), np.round(100 * shares))


def test_a_page_of_many_rows_stays_small_and_says_so(tmp_path):
    X = np.random.default_rng(0).standard_normal((50_000, 30))
    y = (X[:, 0] > 0).astype(int)
    model = quick(CopulaSelectorClassifier, forced=list(range(30)), max_epochs=1).fit(X[:200], y[:200])
    page = model.report(X, y, tmp_path / "r.html", audit=False, max_rows=50_000)
    assert page.stat().st_size < 3e6
    assert re.search(r"The table shows [\d,]+ of 50,000 rows, evenly spread", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", [float, bool, np.int8])
def test_a_target_of_another_type_of_number_is_spelled_as_the_classes_are(kind):
    X, value = toy_rows(60)
    y = (value > 0).astype(int)
    model = quick(CopulaSelectorClassifier, penalty=0.01).fit(X, y)
    facts = collect(model.fitted_, X, y.astype(kind), max_rows=60, audit=None)
    assert facts["groups"] == ["0", "1"]
    right = np.mean(np.array(facts["rows"]["target"]) == np.array(chosen(facts)["prediction"]))
    assert 100 * right == pytest.approx(chosen(facts)["score"])
