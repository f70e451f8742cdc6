import numpy as np
import pytest

from sklar.estimators.scaling import FURTHEST_DEVIATION, Scaling, require_finite


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
