"""The formulas of a judgement against their definitions."""

import numpy as np
import pytest
from scipy.stats import norm

from sklar.judgement import Times, fitted_factor, fitted_temperature, judge_classes, judge_values, tempered


def test_classes_by_the_definition():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
    y = np.array([0, 1, 1])
    judgement = judge_classes(np.log(p), y)
    of_y = np.log(p[np.arange(3), y])
    assert judgement.score == pytest.approx(200 / 3)
    assert judgement.score_error == pytest.approx(100 * (2 / 9 / 3) ** 0.5)
    assert judgement.expected_score == pytest.approx(100 * (0.7 + 0.8 + 0.4) / 3)
    assert judgement.loss == pytest.approx(-of_y.mean())
    rows = -(p * np.log(p)).sum(axis=1) + of_y
    assert judgement.excess == pytest.approx(rows.mean())
    assert judgement.excess_error == pytest.approx(rows.std() / 3**0.5)


def test_values_by_the_definition():
    """H[p] + log p(y) of scipy's Gaussian."""
    y, mean, variance = np.array([0.0, 1.0, 2.5]), np.array([0.2, 0.8, 2.0]), np.array([0.1, 0.2, 0.3])
    p = norm(mean, variance**0.5)
    judgement = judge_values(mean, variance, y)
    assert judgement.excess == pytest.approx(np.mean(p.entropy() + p.logpdf(y)))
    assert judgement.score == pytest.approx(100 * (1 - judgement.loss))
    assert judgement.loss == pytest.approx(np.mean((y - mean) ** 2) / np.var(y))
    assert judgement.expected_score == pytest.approx(100 * (1 - variance.mean() / np.var(y)))


def test_values_without_a_distribution():
    judgement = judge_values(np.zeros(4), None, np.arange(4.0))
    assert (judgement.expected_score, judgement.excess, judgement.excess_error) == (None, None, None)


def test_a_certain_mistake_stays_finite():
    judgement = judge_classes(np.array([[0.0, -np.inf]]), np.array([1]))
    assert np.isfinite(judgement.loss)
    assert np.isfinite(judgement.excess)


@pytest.mark.parametrize("truth", [0.5, 3.0])
def test_the_temperature_is_found(truth):
    """y is drawn from p at a temperature; 20,000 rows know it within 1.5 percent, and 10 are allowed."""
    rng = np.random.default_rng(0)
    log_p = tempered(rng.standard_normal((20_000, 3)) * 2, 1.0)
    p = np.exp(tempered(log_p, truth))
    y = (rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1)
    assert fitted_temperature(log_p, y, np.ones(len(y))) == pytest.approx(truth, rel=0.1)


def test_a_weight_of_two_is_a_row_twice():
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 500)
    twice = np.repeat(np.arange(500), weight)
    log_p, y = tempered(rng.standard_normal((500, 2)), 1.0), rng.integers(0, 2, 500)
    assert fitted_temperature(log_p, y, weight) == pytest.approx(
        fitted_temperature(log_p[twice], y[twice], np.ones(len(twice))), rel=1e-3
    )
    ratios = rng.chisquare(1, 500)
    assert fitted_factor(ratios, weight) == pytest.approx(fitted_factor(ratios[twice], np.ones(len(twice))))
    time, event, risk = rng.exponential(1.0, 500), rng.random(500) < 0.7, rng.standard_normal(500)
    weighted, repeated = Times(time, event, weight), Times(time[twice], event[twice], np.ones(len(twice)))
    assert weighted.partial_likelihood(risk) == pytest.approx(repeated.partial_likelihood(risk[twice]))
    assert weighted.martingale(risk)[twice] == pytest.approx(repeated.martingale(risk[twice]))
