"""What a row counts: a weight of zero is no row, a whole number is so many rows, and classes can be weighed."""

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.table.weights import MOST_REPETITIONS, arranged, class_weights, weights_of_rows
from sklar.training.honest.folds import deal
from sklar.training.penalty_path import choose_penalty
from tests.helpers import quick, seeded, toy_rows, toy_target

OBJECTIVES = ("joint", "honest")
HONEST = {"objective": "honest", "max_epochs": 150, "batch_size": 400, "choice_hidden": 30, "predict_hidden": 32}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_weight_of_zero_is_no_row(cls, objective):
    X, value = toy_rows(120)
    y = toy_target(cls, value)
    weight = np.where(np.arange(120) % 3 == 0, 0.0, 1.0)
    X[weight == 0] = 1e9  # so that it would be seen
    kept = quick(cls, objective=objective).fit(X[weight > 0], y[weight > 0])
    weighed = quick(cls, objective=objective).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(weighed.predict(X), kept.predict(X))
    np.testing.assert_array_equal(weighed.selection_proba(X), kept.selection_proba(X))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_whole_weight_is_so_many_rows_in_any_order(cls, objective):
    X, value = toy_rows(60)
    y = toy_target(cls, value)
    rng = np.random.default_rng(0)
    weight, order = rng.integers(1, 4, 60), rng.permutation(60)
    repeated = quick(cls, objective=objective).fit(X.repeat(weight, axis=0), y.repeat(weight))
    weighed = quick(cls, objective=objective).fit(X[order], y[order], sample_weight=weight[order])
    np.testing.assert_array_equal(weighed.predict(X), repeated.predict(X))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_rows_that_count_decide(objective):
    """Two laws in one table: y follows x0 in rows that count, x1 in rows that hardly do."""
    X, _ = toy_rows(600)
    counts = np.arange(600) % 2 == 0
    y = np.where(counts, X[:, 0], X[:, 1]) > 0
    words = {**HONEST, "objective": objective, "penalty": 0.03, "learning_rate": 0.01}
    model = quick(sklar.CopulaSelectorClassifier, **words)
    model.fit(X, y, sample_weight=np.where(counts, 1.5, 1e-3))
    assert model.score(X[counts], y[counts]) > 0.93
    shares = model.select(X).mean(axis=0)
    assert shares[0] > 0.8
    assert shares[1:].max() < 0.2


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_balanced_classes_count_the_same(objective):
    """A rare class that overlaps a common one is hardly predicted, unless classes count the same."""
    rng = np.random.default_rng(0)
    y = rng.random(800) < 0.1
    X = rng.standard_normal((800, 3))
    X[:, 0] += 1.5 * y
    words = {**HONEST, "objective": objective, "penalty": 0.0, "learning_rate": 0.01}
    plain = quick(sklar.CopulaSelectorClassifier, **words).fit(X, y)
    balanced = quick(sklar.CopulaSelectorClassifier, class_weight="balanced", **words).fit(X, y)
    # equal priors: the best threshold is halfway between the classes, and finds Phi(0.75) = 77 % of each
    assert plain.predict(X)[y].mean() < 0.4
    assert balanced.predict(X)[y].mean() == pytest.approx(0.77, abs=0.1)
    assert (~balanced.predict(X)[~y]).mean() == pytest.approx(0.77, abs=0.1)


def test_weights_of_classes_by_label_or_as_files_have_them():
    classes, codes = np.array([0, 1, 2]), np.array([0, 1, 1, 2])
    assert class_weights({0: 2, "1": 3}, classes, codes).tolist() == [2, 3, 3, 1]
    np.testing.assert_allclose(class_weights("balanced", classes, codes), [4 / 3, 2 / 3, 2 / 3, 4 / 3])
    assert class_weights(None, classes, codes) is None


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (-np.ones(30), "sample_weight must be finite and not negative; got -1.0 for row 0"),
        (np.where(np.arange(30) == 4, np.nan, 1), "not negative; got nan for row 4"),
        (np.where(np.arange(30) == 4, np.inf, 1), "not negative; got inf for row 4"),
        (np.zeros(30), "sample_weight is zero for every row"),
        (np.ones(29), "inconsistent numbers of samples"),
        (np.ones((30, 2)), r"one number per row; got shape \(30, 2\)"),
    ],
)
def test_bad_weights_are_named(cls, weight, says):
    X, value = toy_rows(30)
    with pytest.raises(ValueError, match=says):
        quick(cls).fit(X, toy_target(cls, value), sample_weight=weight)


@pytest.mark.parametrize("given", [{"maybe": 2}, {0: -1}, {0: np.nan}, {0: 0, 1: 0}])
def test_bad_weights_of_classes_are_named(given):
    X, value = toy_rows(30)
    with pytest.raises(ValueError, match="class_weight"):
        quick(sklar.CopulaSelectorClassifier, class_weight=given).fit(X, (value > 0).astype(int))


def test_a_class_without_weight_is_no_class():
    X, value = toy_rows(90)
    y = np.digitize(value, [-1, 1])
    model = quick(sklar.CopulaSelectorClassifier).fit(X, y, sample_weight=(y < 2).astype(float))
    assert model.classes_.tolist() == [0, 1]


def test_frames_and_text_can_be_weighed():
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(value > 0, "u", "v"))
    weight = pd.Series(np.arange(60) % 2, index=np.arange(100, 160))
    model = quick(sklar.CopulaSelectorClassifier).fit(frame, value > 0, sample_weight=weight)
    kept = quick(sklar.CopulaSelectorClassifier).fit(frame[1::2], value[1::2] > 0)
    np.testing.assert_array_equal(model.predict_proba(frame), kept.predict_proba(frame))


# The parts.


def test_a_table_without_repeated_rows_keeps_its_order():
    X, value = toy_rows(50)
    rows, y, weight, order = arranged(X, value, None)
    assert rows is X
    assert y is value
    assert weight is None
    assert order is None


def test_the_order_says_where_rows_stood():
    X, y = np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([0.0, 1.0, 0.0, 2.0])
    for weights in (None, np.array([2.0, 1.0, 0.0, 1.0])):
        placed = arranged(X, y, weights)
        assert np.array_equal(placed.rows, X[placed.order])
        assert np.array_equal(placed.y, y[placed.order])


def test_repeated_rows_are_seen_with_holes_and_labels():
    X = np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]])
    placed = arranged(X, np.array(["a", "b", "a"]), None)
    assert sorted(placed.weights) == pytest.approx([2 / 3, 4 / 3])
    assert arranged(X, np.array(["a", "b", "b"]), None).order is None


def test_large_or_broken_weights_are_not_written_out():
    X, value = toy_rows(10)
    for weight in (np.arange(10) + MOST_REPETITIONS + 1.0, np.linspace(0.5, 2, 10)):
        rows, _, left, _ = arranged(X, value, weight)
        assert len(rows) == 10
        assert left.mean() == pytest.approx(1)


@pytest.mark.parametrize("every", [1.5, 3.0, 40.0])
def test_weights_that_are_all_the_same_say_nothing(every):
    X, value = toy_rows(10)
    rows, y, weight, order = arranged(X, value, np.full(10, every))
    assert rows is X
    assert y is value
    assert weight is order is None


def test_a_table_that_is_all_repeated_is_the_table():
    X, value = toy_rows(10)
    rows, y, weight, order = arranged(X.repeat(3, axis=0), value.repeat(3), None)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(y, value)
    assert weight is None
    assert order.tolist() == list(range(0, 30, 3))


def test_copies_are_one_row_that_counts_as_many():
    X, value = toy_rows(50)
    drawn = np.random.default_rng(0).integers(0, 50, 80)  # as a bootstrap draws
    rows, y, weight, order = arranged(X[drawn], value[drawn], None)
    assert len(rows) == len(np.unique(drawn)) == len(np.unique(rows[:, 0]))
    np.testing.assert_array_equal(y, value[drawn][order])
    times = np.bincount(drawn, minlength=50)[drawn[order]]
    np.testing.assert_allclose(weight, times / times.mean())
    counts = np.bincount(drawn, minlength=50)
    kept = counts > 0
    other = arranged(X[kept], value[kept], counts[kept].astype(float))
    np.testing.assert_array_equal(other.rows, rows)
    np.testing.assert_array_equal(other.weights, weight)


def test_a_few_copies_are_left_and_equal_rows_of_a_few_categories_are_none():
    """A fold without a category's rows of one class would know the other class alone."""
    X, value = toy_rows(50)
    rows, _, weight, order = arranged(np.concatenate([X, X[:9]]), np.concatenate([value, value[:9]]), None)
    assert len(rows) == len(np.unique(order)) == 59
    assert weight is None
    rng = np.random.default_rng(0)
    cells, y = rng.integers(0, 2, (400, 6)).astype(float), rng.integers(0, 2, 400)
    rows, _, weight, order = arranged(cells, y, None)
    assert len(rows) == len(np.unique(order)) == 400
    assert weight is None


@pytest.mark.parametrize("times", ["bootstrap", "three times"])
def test_copies_do_not_let_a_fit_judge_what_it_learned(times):
    """Values of x0, x1 and their product with noise: a fit of copies sees no more than one of the rows."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((900, 6))
    y = X[:, 0] + X[:, 1] + rng.standard_normal(900)
    train = rng.integers(0, 600, 600) if times == "bootstrap" else np.arange(600).repeat(3)
    words = {**HONEST, "penalty": "auto", "learning_rate": 0.01, "random_state": 0}
    model = sklar.CopulaSelectorRegressor(**words).fit(X[train], y[train])
    seen, unseen = model.score(X[:600], y[:600]), model.score(X[600:], y[600:])
    assert unseen > 0.6  # two thirds is what can be known
    assert seen - unseen < 0.1


def test_a_single_weight_is_that_of_every_row():
    assert weights_of_rows(2.0, np.zeros((3, 1))).tolist() == [2, 2, 2]


def test_batches_are_drawn_by_weight():
    import torch

    x = torch.arange(40.0).view(1, 40, 1)
    weight = (x[..., 0] % 4 == 0).float() * 3 + (x[..., 0] % 4 == 1).float()
    folds = deal(x, x[..., 0].long(), 2, 0.0, seeded(), weight=weight)
    rows, _ = folds.batch(20_000, 20, seeded(1))
    kinds = rows[..., 0] % 4
    assert (kinds < 2).all()
    # of 40,000 draws: shares .75 and .25 a fold, but folds were dealt unevenly; 10 deviations of .0022 and more
    expected = folds.weight[..., :20][folds.x[..., :20, 0] % 4 == 0].sum() / folds.weight.sum()
    assert (kinds == 0).float().mean() == pytest.approx(float(expected), abs=0.1)


def test_a_path_is_judged_by_the_rows_that_count():
    losses = np.array([[0.0, 1.0] * 50, [1.0, 0.0] * 50])
    sizes = np.array([2.0, 1.0])
    assert choose_penalty([0.1, 0.2], losses, sizes, np.array([1.0, 1e-6] * 50)).member == 0
    assert choose_penalty([0.1, 0.2], losses, sizes, np.array([1e-6, 1.0] * 50)).member == 1
