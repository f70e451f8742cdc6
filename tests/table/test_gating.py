"""`groups`, `forced`, `forbidden`, `costs`, `min_features`: what a user says about features, and what becomes of it."""

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.table.gating import Gating
from tests.helpers import quick, toy_rows, toy_target

NAMES = list("abcde")
ONES = np.ones(5, dtype=int)
HONEST = {"objective": "honest", "max_epochs": 200, "batch_size": 400, "choice_hidden": 30, "predict_hidden": 32}


def of(**words):
    return Gating.of(words, NAMES, ONES)


# From words to gates.


def test_without_words_every_column_is_a_gate():
    result = of()
    assert result.columns.tolist() == result.gate_of_column.tolist() == [0, 1, 2, 3, 4]
    assert result.gates.plain


def test_a_group_is_one_gate_in_the_place_of_its_first_column():
    result = of(groups=[["d", "b"], [4]])
    assert result.columns.tolist() == [0, 1, 3, 2, 4]
    assert result.gate_of_column.tolist() == [0, 1, 1, 2, 3]
    assert result.gates.of_input.tolist() == [0, 1, 1, 2, 3]


def test_encoded_columns_of_a_group_share_its_gate():
    result = Gating.of({"groups": [["a", "c"]]}, NAMES, np.array([2, 1, 3, 1, 1]))
    assert result.gates.of_input.tolist() == [0, 0, 0, 0, 0, 1, 2, 3]


def test_columns_by_name_by_number_and_as_files_have_them():
    for given in (["b", "e"], [1, 4], [1, -1], ["1", "4"], np.array([1, 4]), ("b", "e")):
        assert of(forbidden=given).columns.tolist() == [0, 2, 3]


def test_where_all_names_are_other_numbers_a_number_is_a_name():
    names, widths = ["3", "1", "0"], np.ones(3, dtype=int)
    assert Gating.of({"forced": [0]}, names, widths).gates.forced.tolist() == [False, False, True]
    assert Gating.of({"costs": {3: 5}}, names, widths).gates.cost.tolist() == [5, 1, 1]
    assert Gating.of({"costs": [1, 2, 3]}, names, widths).gates.cost.tolist() == [1, 2, 3]  # a list is by position
    for number in (2, -1, "2"):
        with pytest.raises(ValueError, match="there is no column"):
            Gating.of({"forced": [number]}, names, widths)


def test_forced_columns_force_their_group():
    result = of(groups=[["b", "c"]], forced=["c"])
    assert result.gates.forced.tolist() == [False, True, False, False]


def test_prices_are_those_given_and_a_group_has_its_dearest():
    assert of(costs={"b": 3, "e": 0}, groups=[["a", "b"]]).gates.cost.tolist() == [3, 1, 1, 0]
    assert of(costs=[1, 2, 3, 4, 5]).gates.cost.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"forced": ["z"]}, "forced: there is no column 'z'; there are a, b, c, d, e"),
        ({"forbidden": [5]}, "forbidden: there is no column 5"),
        ({"forced": "a"}, "forced must be a list of columns"),
        ({"groups": [["a", "b"], ["b"]]}, "groups: column 'b' is in more than one group"),
        ({"groups": ["ab"]}, "groups must be a list of columns"),
        ({"forced": ["a"], "forbidden": [0]}, "column 'a' is both forced and forbidden"),
        ({"forbidden": NAMES}, "every column is forbidden"),
        ({"costs": {"a": -1}}, "costs must be numbers from 0; got -1 for column 'a'"),
        ({"costs": {"a": float("nan")}}, "costs must be numbers from 0"),
        ({"costs": {"z": 1}}, "costs: there is no column 'z'"),
        ({"costs": [1, 2]}, "one number for each of the 5 columns"),
    ],
)
def test_mistakes_are_named(words, says):
    with pytest.raises(ValueError, match=says):
        of(**words)


# What a model does with them.


@pytest.mark.parametrize("objective", ["joint", "honest"])
def test_forced_is_always_and_forbidden_never_selected(cls, objective):
    X, value = toy_rows(90)
    y = toy_target(cls, value)
    model = quick(cls, objective=objective, forced=[3], forbidden=[0], max_epochs=5).fit(X, y)
    masks = model.select(X)
    assert masks[:, 3].all()
    assert not masks[:, 0].any()
    assert model.sample_masks(X, 5, random_state=0)[:, :, 3].all()
    assert 0 not in model.union_
    X[:, 0] = np.nan  # never read
    np.testing.assert_array_equal(model.select(X), masks)


@pytest.mark.parametrize("objective", ["joint", "honest"])
def test_a_group_is_selected_together(cls, objective, tmp_path):
    X, value = toy_rows(90)
    frame = pd.DataFrame(X, columns=NAMES)
    model = quick(cls, objective=objective, groups=[["a", "e"]], max_epochs=5).fit(frame, toy_target(cls, value))
    masks = model.select(frame)
    assert masks.shape == (90, 5)
    np.testing.assert_array_equal(masks["a"], masks["e"])
    proba = model.selection_proba(frame)
    np.testing.assert_array_equal(proba["a"], proba["e"])
    assert model.correlation(frame).loc["a", "e"] == pytest.approx(1)
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    pd.testing.assert_frame_equal(again.select(frame), masks)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_a_ranker_ranks_groups_by_their_first_column():
    X, value = toy_rows(200)
    model = quick(sklar.CopulaRankerRegressor, k=1, groups=[[1, 0], [2, 3, 4]], max_epochs=40, learning_rate=0.01)
    model.fit(X, value)
    assert set(model.rank(X).ravel()) == {0}
    assert (model.select(X) == [True, True, False, False, False]).all()
    with pytest.raises(ValueError, match="k must be at most the number of features; got k=3 for 2"):
        model.set_params(k=3).fit(X, value)


def test_k_must_hold_the_forced():
    X, value = toy_rows(30)
    with pytest.raises(ValueError, match="k must be at least the number of forced features; got k=1 for 2"):
        quick(sklar.CopulaRankerRegressor, k=1, forced=[0, 1]).fit(X, value)


def test_patches_of_pixels_find_the_patch_that_decides():
    """16 pixels in 4 patches; the sum of one patch is the answer."""
    X = np.random.default_rng(0).standard_normal((400, 16))
    patches = [[4 * row + column for row in rows for column in columns]
               for rows in ((0, 1), (2, 3)) for columns in ((0, 1), (2, 3))]  # fmt: skip
    y = X[:, patches[2]].sum(axis=1)
    model = quick(sklar.CopulaSelectorRegressor, penalty=0.05, groups=patches, **HONEST).fit(X, y)
    masks = model.select(X)
    assert masks[:, patches[2]].all()
    assert masks.mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("objective", ["joint", "honest"])
def test_of_two_copies_the_cheaper_is_bought(objective):
    """x0 is x1 plus a little noise of its own, and tells as much of y; the price decides."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    words = {**HONEST, "objective": objective, "penalty": 0.1, "learning_rate": 0.01}
    for dear, cheap in ((0, 1), (1, 0)):
        model = quick(sklar.CopulaSelectorRegressor, costs={dear: 8}, **words).fit(X, 2 * X[:, 0])
        shares = model.select(X).mean(axis=0)
        assert shares[cheap] > 0.9
        assert shares[dear] < 0.1


def test_a_price_of_zero_is_free_and_a_huge_one_forbids():
    X, value = toy_rows(300)
    words = {**HONEST, "penalty": 0.05}
    shares = quick(sklar.CopulaSelectorRegressor, costs=[1, 1e6, 1, 1, 1], **words).fit(X, value).select(X).mean(axis=0)
    assert shares[1] == 0
    assert shares[0] > 0.5


@pytest.mark.parametrize("objective", ["joint", "honest"])
def test_at_least_so_many_features_a_row(objective):
    X, value = toy_rows(90)
    model = quick(sklar.CopulaSelectorRegressor, objective=objective, penalty=100.0, max_epochs=20)
    assert (model.fit(X, value).select(X).sum(axis=1) == 0).any() or objective == "joint"
    for least in (1, 2):
        masks = model.set_params(min_features=least).fit(X, value).select(X)
        assert masks.sum(axis=1).min() == least
    with pytest.raises(ValueError, match="min_features must be at most the number of features; got 6 for 5"):
        model.set_params(min_features=6).fit(X, value)


def test_the_words_survive_a_file(tmp_path):
    X, value = toy_rows(60)
    words = {"groups": [[0, 1]], "forced": ["x2"], "forbidden": [4], "costs": {3: 2.0}, "min_features": 1}
    model = quick(sklar.CopulaSelectorRegressor, **words).fit(X, value)
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    np.testing.assert_array_equal(again.select(X), model.select(X))
    again.fit(X, value)  # the words of the file are words still
    np.testing.assert_array_equal(again.select(X), model.select(X))


def test_the_audit_of_groups():
    X, value = toy_rows(200)
    model = quick(sklar.CopulaSelectorRegressor, groups=[[0, 1], [2, 3]], max_epochs=20).fit(X, value)
    report = model.audit(X, value, n_refits=0)
    assert report.everything_score > 50
