"""Flip gradients against brute-force enumeration of all 2^d masks.

False alarms: each z-test compares a mean of independent draws with the exact gradient (enumeration with SciPy's
orthant probabilities, differentiated by central differences) at |z| < 4.9. With at most 40 comparisons a run that
is a chance of 4e-5 with a fresh seed; seeds are fixed.
"""

from itertools import product

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from sklar.training.honest import gradients
from tests.helpers import seeded

LARGEST_Z = 4.9
DRAWS = 100_000
DIFFERENCE_ERROR = 2e-4  # of a central difference with step .02: h^2 / 6 times a third derivative


def random_correlation(d, seed):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(d, 2))
    covariance = loadings @ loadings.T + np.eye(d)
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation)


def expected_value(scores, correlation, values):
    """E f(z) by enumeration: `values[z]` times the orthant probability of z."""
    c = gradients.thresholds(torch.tensor(scores)).numpy()
    total = 0.0
    for z in product((0, 1), repeat=len(c)):
        sign = np.where(np.array(z) == 1, -1.0, 1.0)  # z_i = 1 is q_i > c_i, that is -q_i < -c_i
        mirrored = correlation * np.outer(sign, sign)
        total += values[z] * multivariate_normal.cdf(sign * c, cov=mirrored, abseps=1e-7, releps=1e-7, maxpts=100_000)
    return total


def latents(correlation, draws, seed):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.multivariate_normal(np.zeros(len(correlation)), correlation, size=draws))


def look_up(values, masks):
    return torch.from_numpy(values[tuple(masks.long().numpy().T)])


def assert_mean_is(samples, expected):
    error = float(samples.std()) / len(samples) ** 0.5
    assert abs(float(samples.mean()) - expected) < LARGEST_Z * error + DIFFERENCE_ERROR


@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.parametrize("correlated", [False, True])
def test_score_gradient_is_unbiased(d, correlated):
    rng = np.random.default_rng(d)
    correlation = random_correlation(d, seed=d) if correlated else np.eye(d)
    values, scores = rng.normal(size=(2,) * d), rng.normal(size=d)
    alpha = torch.tensor(scores)
    q, c = latents(correlation, DRAWS, seed=1), gradients.thresholds(alpha).expand(DRAWS, d)
    for i in range(d):
        index = torch.full((DRAWS, 1), i)
        masks = (gradients.at_threshold(q, c, torch.tensor(correlation), index) > c.unsqueeze(-2)).double()
        on, off = (look_up(values, gradients.with_gate(masks, index, v)[:, 0]) for v in (1.0, 0.0))
        p = torch.sigmoid(alpha[i])
        step = np.eye(d)[i] * 0.02
        exact = (
            expected_value(scores + step, correlation, values) - expected_value(scores - step, correlation, values)
        ) / 0.04
        assert_mean_is((on - off) * p * (1 - p), exact)


@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.parametrize("correlated", [False, True])
def test_correlation_gradient_is_unbiased(d, correlated):
    rng = np.random.default_rng(10 + d)
    correlation = random_correlation(d, seed=d) if correlated else np.eye(d)
    values, scores = rng.normal(size=(2,) * d), rng.normal(size=d) * 0.7
    q, c = latents(correlation, DRAWS, seed=2), gradients.thresholds(torch.tensor(scores)).expand(DRAWS, d)
    for i, j in ((0, 1), (d - 1, 0)):
        first, second = torch.full((DRAWS, 1), i), torch.full((DRAWS, 1), j)
        moved = gradients.pair_at_threshold(q, c, torch.tensor(correlation), first, second)
        masks = (moved > c.unsqueeze(-2)).double()

        def corner(a, b, masks=masks, first=first, second=second):
            return look_up(values, gradients.with_gate(gradients.with_gate(masks, first, a), second, b)[:, 0])

        mixed = corner(1.0, 1.0) - corner(1.0, 0.0) - corner(0.0, 1.0) + corner(0.0, 0.0)
        density = gradients.bivariate_density(c[0, i], c[0, j], torch.tensor(correlation[i, j]))
        step = np.zeros((d, d))
        step[i, j] = step[j, i] = 0.02
        exact = (
            expected_value(scores, correlation + step, values) - expected_value(scores, correlation - step, values)
        ) / 0.04
        assert_mean_is(mixed * density, exact)


def test_conditioned_latents_sit_at_their_thresholds():
    correlation = torch.tensor(random_correlation(5, seed=3))
    q, c = torch.randn(2, 7, 5, generator=seeded(), dtype=torch.float64)
    index = torch.randint(5, (7, 3), generator=seeded(1))
    moved = gradients.at_threshold(q, c, correlation, index)
    torch.testing.assert_close(moved.gather(-1, index.unsqueeze(-1)).squeeze(-1), c.gather(-1, index))
    first, second = torch.tensor([[0]] * 7), torch.tensor([[4]] * 7)
    moved = gradients.pair_at_threshold(q, c, correlation, first, second)[:, 0]
    torch.testing.assert_close(moved[:, [0, 4]], c[:, [0, 4]])


def test_rows_may_have_correlations_of_their_own():
    shared = torch.tensor(random_correlation(4, seed=5))
    q, c = torch.randn(2, 6, 4, generator=seeded(), dtype=torch.float64)
    index = torch.randint(4, (6, 2), generator=seeded(1))
    per_row = gradients.at_threshold(q, c, shared.expand(6, 4, 4), index)
    torch.testing.assert_close(per_row, gradients.at_threshold(q, c, shared, index))


def test_density_is_scipys():
    for a, b, r in ((0.3, -1.2, 0.7), (2.0, 1.0, -0.9), (0.0, 0.0, 0.0)):
        expected = multivariate_normal([0, 0], [[1, r], [r, 1]]).pdf([a, b])
        got = gradients.bivariate_density(*(torch.tensor(v, dtype=torch.float64) for v in (a, b, r)))
        assert float(got) == pytest.approx(expected, rel=1e-12)
