"""Tables as people have them: categories, text, flags, holes. What decides a row is found, column by column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sklar
from tests.estimators.messy import HONEST, NAMES, messy
from tests.helpers import quick, toy_target


@pytest.fixture(scope="module")
def selector():
    X, y = messy()
    return quick(sklar.CopulaSelectorClassifier, penalty=0.02, **HONEST).fit(X, y)


def test_an_informative_category_and_an_informative_hole_are_found(selector):
    X, y = messy(seed=1)
    assert selector.score(X, y) > 0.97
    shares = selector.select(X).mean()
    assert shares["colour"] > 0.5
    assert shares["age"] > 0.5
    assert shares[["noise", "word", "flag"]].max() < 0.05


def test_one_gate_a_column(selector):
    X, _ = messy(seed=1)
    assert selector.select(X).columns.tolist() == NAMES
    assert selector.selection_proba(X).shape == (600, 5)
    assert selector.correlation(X).shape == (5, 5)
    assert selector.sample_masks(X, 2, random_state=0).shape == (2, 600, 5)
    assert selector.fitted_.network.architecture.n_inputs == 3 + 2 + 1 + 3 + 1


def test_a_hole_is_not_a_number_in_disguise(selector):
    """No age gives what a missing age gives: it is not imputed."""
    X, _ = messy(seed=1)
    other = X[X["colour"] == "green"]
    missing = selector.predict_proba(other.assign(age=np.nan))[:, 1]
    for age in (0.0, 20.0, 40.0, 60.0):
        assert (selector.predict_proba(other.assign(age=age))[:, 1] < missing).all()


def test_transform_keeps_what_was_selected(selector):
    X, _ = messy(seed=1)
    hidden, shown = ~selector.select(X).to_numpy(), selector.select(X).to_numpy()
    values = selector.transform(X)
    assert values.dtype == float
    assert (values[hidden] == 0).all()
    assert selector.fitted_.schema.encoding.categories[0] == ("blue", "green", "red")
    codes = X["colour"].map({"blue": 1, "green": 2, "red": 3}).to_numpy()
    np.testing.assert_array_equal(values[shown[:, 0], 0], codes[shown[:, 0]])
    np.testing.assert_array_equal(np.isnan(values[:, 1]), X["age"].isna() & shown[:, 1])


FRAMES = {
    "categories": lambda X: X.astype({"colour": "category", "word": "category"}),
    "polars": pl.from_pandas,
    "polars enum": lambda X: pl.from_pandas(X).with_columns(pl.col("colour").cast(pl.Enum(["blue", "red", "green"]))),
    "arrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
    "arrow dictionary": lambda X: pa.Table.from_pandas(
        X.astype({"colour": "category", "word": "category"}), preserve_index=False
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_table_says_the_same(selector, kind):
    X, _ = messy(seed=1)
    table = FRAMES[kind](X)
    np.testing.assert_array_equal(selector.predict_proba(table), selector.predict_proba(X))
    masks = selector.select(table)
    assert type(masks) is type(table)
    np.testing.assert_array_equal(np.column_stack([np.asarray(masks[name]) for name in NAMES]), selector.select(X))


@pytest.mark.filterwarnings("ignore:column 'colour'")
def test_an_unseen_category_and_a_file(selector, tmp_path):
    X, _ = messy(seed=1)
    X.loc[3, "colour"] = "ultraviolet"
    selector.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    np.testing.assert_array_equal(again.predict_proba(X), selector.predict_proba(X))
    np.testing.assert_array_equal(again.transform(X), selector.transform(X))
    assert np.isfinite(again.predict_proba(X)).all()


def test_more_unseen_categories_than_in_fit_are_a_warning(selector):
    X, _ = messy(seed=1)
    X["colour"] = X["colour"].str.upper()
    with pytest.warns(UserWarning, match=r"column 'colour': .*% of the rows hold categories that fit did not know"):
        selector.select(X)


def test_the_order_of_rows_in_a_call_is_no_matter(selector):
    X, _ = messy(seed=1)
    np.testing.assert_array_equal(selector.predict_proba(X[::-1])[::-1], selector.predict_proba(X))
    # one row alone may take another routine of BLAS, which rounds float64 in another order
    np.testing.assert_allclose(selector.predict_proba(X[5:6]), selector.predict_proba(X)[5:6], rtol=1e-13)
    np.testing.assert_array_equal(selector.select(X[5:6]), selector.select(X)[5:6])


@pytest.mark.parametrize("covariance", ["low-rank", "full", "block", "independent"])
@pytest.mark.parametrize("objective", ["joint", "honest"])
def test_every_estimator_and_covariance_takes_them(cls, covariance, objective, tmp_path):
    X, y = messy(90)
    model = quick(cls, objective=objective, covariance=covariance).fit(X, toy_target(cls, y - 0.5))
    assert model.select(X).shape == (90, 5)
    assert model.predict(X).shape == (90,)
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").predict(X), model.predict(X))


def test_many_columns_are_screened():
    """Forty columns, one of them relevant: it is kept, and the union is narrower than the table."""
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame({f"w{j}": rng.choice(["u", "v", None], n) for j in range(40)})
    y = (X["w7"] == "u").to_numpy()
    model = quick(sklar.CopulaSelectorClassifier, penalty=0.02, **{**HONEST, "max_epochs": 150}).fit(X, y)
    assert 7 in model.union_
    assert len(model.union_) < 40
    shares = model.select(X).mean()
    assert shares["w7"] > 0.9
    assert shares.drop("w7").mean() < 0.05


def test_the_audit_takes_them_too(selector):
    X, y = messy(seed=2)
    report = selector.audit(X, y, n_refits=0)
    assert not report.leaks
    assert report.own_score > 95
    assert report.evalx_score > 90


def test_refits_of_an_audit_see_the_table_itself():
    X, y = messy(80)
    model = quick(sklar.CopulaSelectorClassifier, max_epochs=1).fit(X, y)
    assert 0 <= model.audit(X, y, n_refits=1).refit_agreement <= 100


def test_numbers_with_holes_alone():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.isnan(X[:, 2])
    model = quick(sklar.CopulaSelectorClassifier, penalty=0.02, max_epochs=60, learning_rate=0.02).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.transform(X).dtype == np.float32
    with pytest.raises(ValueError, match="column 'x1' contains infinity"):
        model.predict(np.where(np.arange(4) == 1, np.inf, X))


def test_names_are_compared_for_messy_tables_too():
    X, y = messy(80)
    model = quick(sklar.CopulaSelectorClassifier, max_epochs=1).fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[NAMES[::-1]])
    with pytest.raises(ValueError, match=r"X has 4 features|feature names"):
        model.predict(X[NAMES[:4]])


def test_a_page_a_card_and_words_about_them(selector, tmp_path):
    X, y = messy(seed=2)
    text = selector.report(X, y, tmp_path / "r.html", audit=False, max_rows=50).read_text(encoding="utf-8")
    assert '"ultraviolet"' not in text
    assert '"green"' in text
    row = X[X["age"].isna() & (X["colour"] != "red")].iloc[0]
    explanation = selector.explain(row)
    assert "age = missing" in str(explanation)
    from_frame, from_array = selector.explain(X.loc[[row.name]]), selector.explain(row.to_numpy())
    assert explanation.to_dict() == from_frame.to_dict() == from_array.to_dict()
    named = {name: X[name].to_numpy(dtype=object)[row.name : row.name + 1] for name in NAMES}
    assert selector.explain(named).prediction == explanation.prediction
    with pytest.raises(ValueError, match="explain takes one row"):
        selector.explain({name: X[name].to_numpy(dtype=object) for name in NAMES})
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert "age = missing" in [label.get_text() for label in sklar.plots.plot_card(explanation).get_yticklabels()]


def test_what_has_several_targets_has_no_page_and_no_audit(tmp_path):
    X, y = messy(80)
    labels = np.column_stack([y, X["flag"]]).astype(int)
    model = quick(sklar.CopulaSelectorClassifier, max_epochs=1).fit(X, labels)
    for given in (labels, y):
        with pytest.raises(ValueError, match="an audit takes one class, one value or one time"):
            model.audit(X, given, n_refits=0)
        with pytest.raises(ValueError, match="one class or one value a row"):
            model.report(X, given, tmp_path / "r.html", audit=False)


@pytest.mark.parametrize("words", [{}, {"forced": ["c41"], "groups": [["c3", "c44"]]}, {"forbidden": ["c3"]}])
def test_a_very_wide_messy_table_keeps_what_is_forced_and_what_is_strong(words, monkeypatch):
    monkeypatch.setattr("sklar.estimators.preparation.WIDEST", 20)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((300, 50)), columns=[f"c{j}" for j in range(50)])
    X["c7"] = rng.choice(["u", "v", None], 300)
    y = (X["c3"] + 2 * (X["c7"] == "u") > 0.5).to_numpy()
    model = sklar.CopulaSelectorClassifier(random_state=0, max_epochs=1, **words).fit(X, y, np.linspace(0.5, 2, 300))
    read = set(model.union_.tolist())
    assert 7 in read
    assert (3 in read) == ("forbidden" not in words)
    assert ("forced" not in words) or (41 in read and 44 in read and model.select(X)["c41"].all())
    assert len(read) <= 21
