import tracemalloc

import numpy as np
import pytest

from sklar import CopulaSelectorRegressor
from sklar.table.scaling import FURTHEST_DEVIATION, Scaling, is_mapped, require_finite
from sklar.table.weights import arranged
from tests.helpers import quick


def test_columns_get_mean_zero_and_deviation_one():
    X = np.random.default_rng(0).normal([1e6, -3, 0], [2, 1e-5, 1e12], (500, 3))
    scaled = Scaling.of(X, list("abc")).apply(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, 1e30, -1e-30])
def test_constant_columns_become_nearly_zero(value):
    X = np.full((1000, 1), value)
    assert np.abs(Scaling.of(X, ["a"]).apply(X)).max() < 1e-3 or np.abs(value) > 1e20


def test_float32_tables_are_measured_in_float64():
    X = np.full((100_000, 1), 0.1, dtype=np.float32)
    assert Scaling.of(X, ["a"]).centre[0] == pytest.approx(np.float32(0.1), rel=1e-12)
    assert Scaling.of(X, ["a"]).apply(X).dtype == np.float64


def test_far_values_are_clipped_not_overflown():
    scaling = Scaling(np.array([0.0, -1e308]), np.array([1e-10, 1.0]))
    assert scaling.apply(np.array([[1e308, 1.7e308], [-5.0, -1e308]])).tolist() == [
        [FURTHEST_DEVIATION, FURTHEST_DEVIATION],
        [-FURTHEST_DEVIATION, 0.0],
    ]


def test_the_given_table_is_not_changed():
    X = np.random.default_rng(0).standard_normal((10, 2))
    before = X.copy()
    Scaling.of(X, ["a", "b"]).apply(X)
    np.testing.assert_array_equal(X, before)


def test_finite_values_whose_sum_is_not_are_finite():
    for table in (np.full((10, 1), 3e38, dtype=np.float32), np.ones((3, 1), dtype=int)):
        assert require_finite(table, ["a"]) is None  # it raises where a value is not finite


# Tables in files.


def mapped(tmp_path, n=40_000, d=100, dtype=np.float64):
    table = np.lib.format.open_memmap(tmp_path / "t.npy", mode="w+", dtype=dtype, shape=(n, d))
    table[:] = np.random.default_rng(0).normal(5, 2, (n, d))
    return np.load(tmp_path / "t.npy", mmap_mode="r")


def test_a_table_in_a_file_is_scaled_alike_without_a_copy(tmp_path):
    table = mapped(tmp_path)  # 32 MB
    names = [str(j) for j in range(100)]
    tracemalloc.start()
    scaling = Scaling.of(np.asarray(table), names)
    assert arranged(np.asarray(table), np.arange(len(table)), None).order is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6 < 2 * table.nbytes
    whole = Scaling.of(np.array(table), names)
    np.testing.assert_allclose(scaling.centre, whole.centre, rtol=1e-12)
    np.testing.assert_allclose(scaling.spread, whole.spread, rtol=1e-12)


def test_views_of_a_file_are_known(tmp_path):
    table = mapped(tmp_path, 10, 3)
    assert is_mapped(table)
    assert is_mapped(np.asarray(table)[2:, :2])
    assert not is_mapped(np.array(table))


def test_a_model_learns_from_a_file_and_answers_in_blocks(tmp_path):
    table = mapped(tmp_path)
    model = quick(CopulaSelectorRegressor, max_epochs=1).fit(table[:200], np.array(table[:200, 0]))
    again = quick(CopulaSelectorRegressor, max_epochs=1).fit(np.array(table[:200]), np.array(table[:200, 0]))
    np.testing.assert_allclose(model.predict(table[:50]), again.predict(table[:50]), rtol=1e-3)
    tracemalloc.start()
    inputs = model.fitted_.schema.training_inputs(np.asarray(table))
    assert inputs.nbytes == 16_000_000  # all that training copies
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16e6 + 3 * 2**24
    tracemalloc.start()
    assert model.predict(table[:20_000]).shape == (20_000,)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 2**24


def test_one_scale_for_all_numbers():
    """A column that hardly varies stays small; others, and those that do not vary at all, keep their own."""
    X = np.random.default_rng(0).standard_normal((500, 5)) * [1.0, 0.01, 3.0, 7.0, 0.0]
    together = np.array([True, True, True, False, True])
    scaled = Scaling.of(X, list("abcde"), together=together).apply(X)
    assert np.square(scaled[:, :3]).mean() == pytest.approx(1.0)
    assert scaled[:, 1].std() == pytest.approx(0.01 * scaled[:, 0].std(), rel=0.2)
    assert scaled[:, 3].std() == pytest.approx(1.0)
    assert not scaled[:, 4].any()
