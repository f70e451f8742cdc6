"""What every covariance of the gates must do, held against a dense twin and against the paper's Cholesky draw.

A subclass says how parameters are made, how they become a covariance, and, from the definition, the dense Sigma.
False alarms: see tests/helpers.py.
"""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats
from torch.autograd import gradcheck

from sklar.model.copula import standard_draw
from tests.helpers import assert_plausible, seeded

DRAWS = 40_000


def cholesky_draw(sigma, n, generator):
    """The paper's Algorithm 1: factorise Sigma = V V^T, q = V zeta. The oracle, at O(d^3)."""
    factor = torch.linalg.cholesky(sigma)
    return torch.randn(n, len(sigma), generator=generator, dtype=sigma.dtype) @ factor.mT


def normalised(sigma):
    deviation = np.sqrt(np.diagonal(sigma, axis1=-2, axis2=-1))
    return sigma / deviation[..., :, None] / deviation[..., None, :]


def whitened_p_values(q, sigma):
    """P-values of first and second moments of V^-1 q, which is standard normal when q ~ N(0, V V^T)."""
    w = np.linalg.solve(np.linalg.cholesky(sigma), q.T)
    n, d = w.shape[1], w.shape[0]
    z_mean = w.mean(axis=1) * np.sqrt(n)
    pairs = [(w[i] * w[j]).mean() * np.sqrt(n) for i, j in itertools.combinations(range(d), 2)]
    z = np.concatenate([z_mean, pairs])
    squares = n * (w**2).mean(axis=1)  # chi-square with n degrees of freedom, each
    tails = 2 * np.minimum(stats.chi2.sf(squares, n), stats.chi2.cdf(squares, n))
    return np.concatenate([2 * stats.norm.sf(np.abs(z)), tails])


def both_positive(q):
    """Of every pair, how many draws fall into the positive orthant."""
    return np.array([((q[:, i] > 0) & (q[:, j] > 0)).sum() for i, j in itertools.combinations(range(q.shape[1]), 2)])


def same_share_p_values(a, b, n):
    """Two-sided p-values that counts a and b, of n trials each, come from one probability."""
    pooled = (a + b) / (2 * n)
    return 2 * stats.norm.sf(np.abs(a - b) / np.sqrt(2 * n * pooled * (1 - pooled)))


class CovarianceContract:
    d = 5

    def parameters(self, batch=(), dtype=torch.float64, seed=0):
        """Leaf tensors: (*batch, ...)."""
        raise NotImplementedError

    def build(self, *parameters):
        raise NotImplementedError

    def twin(self, *parameters):
        """Sigma in float64, written out from the definition: (d, d) for parameters without batch axes."""
        raise NotImplementedError

    def random(self, batch, *shape, dtype, seed):
        return torch.randn(*batch, *shape, generator=seeded(seed), dtype=torch.float64).to(dtype)

    # Moments and law.

    def test_dense_is_the_twin(self):
        p = self.parameters()
        np.testing.assert_allclose(self.build(*p).dense().numpy(), self.twin(*p), rtol=1e-12, atol=1e-14)

    def test_variance_and_deviation_are_the_twins_diagonal(self):
        p = self.parameters()
        diagonal = np.diag(self.twin(*p))
        np.testing.assert_allclose(self.build(*p).variance().numpy(), diagonal, rtol=1e-12)
        np.testing.assert_allclose(self.build(*p).deviation().numpy(), np.sqrt(diagonal), rtol=1e-12)

    def test_correlation_is_the_twins_with_unit_diagonal_and_no_negative_eigenvalue(self):
        p = self.parameters()
        correlation = self.build(*p).correlation().numpy()
        np.testing.assert_allclose(correlation, normalised(self.twin(*p)), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(np.diag(correlation), 1, rtol=1e-12)
        assert np.linalg.eigvalsh(correlation).min() > -1e-12

    def test_draws_have_the_twins_moments(self):
        p = self.parameters()
        q = self.build(*p).draw((DRAWS,), seeded(1)).numpy()
        assert_plausible(whitened_p_values(q, self.twin(*p)))

    def test_draws_have_the_law_of_the_papers_cholesky(self):
        p = self.parameters()
        sigma = self.twin(*p)
        oracle = cholesky_draw(torch.from_numpy(sigma), DRAWS, seeded(2)).numpy()
        q = self.build(*p).draw((DRAWS,), seeded(3)).numpy()
        assert_plausible(whitened_p_values(oracle, sigma))  # the oracle is one
        assert_plausible(same_share_p_values(both_positive(q), both_positive(oracle), DRAWS))
        assert_plausible([stats.ks_2samp(q[:, i], oracle[:, i]).pvalue for i in range(self.d)])

    def test_orthant_frequencies_are_the_arcsine_law(self):
        p = self.parameters()
        rho = normalised(self.twin(*p))[np.triu_indices(self.d, 1)]
        counts = both_positive(self.build(*p).draw((DRAWS,), seeded(4)).numpy())
        shares = 0.25 + np.arcsin(rho) / (2 * np.pi)
        assert_plausible([stats.binomtest(int(c), DRAWS, s).pvalue for c, s in zip(counts, shares, strict=True)])

    def test_standardised_draws_have_standard_normal_marginals(self):
        s = standard_draw(self.build(*self.parameters()), (DRAWS,), seeded(5)).numpy()
        assert_plausible([stats.kstest(s[:, i], "norm").pvalue for i in range(self.d)])

    # Batch axes.

    def test_one_covariance_serves_any_batch_shape(self):
        covariance = self.build(*self.parameters())
        assert covariance.draw((3, 2), seeded()).shape == (3, 2, self.d)
        assert covariance.draw((), seeded()).shape == (self.d,)

    def test_leading_axes_are_covariances_side_by_side(self):
        p = self.parameters(batch=(2, 3))
        together = self.build(*p)
        for index in np.ndindex(2, 3):
            alone = self.build(*(value[index] for value in p))
            for name in ("dense", "correlation", "deviation"):
                both = getattr(together, name)(), getattr(alone, name)()
                torch.testing.assert_close(both[0][index], both[1], rtol=1e-13, atol=1e-14)

    def test_every_row_of_a_batch_draws_from_its_own_covariance(self):
        p = self.parameters(batch=(2,))
        repeated = tuple(value.unsqueeze(0).expand(DRAWS // 2, *value.shape) for value in p)
        q = self.build(*repeated).draw((DRAWS // 2, 2), seeded(6)).numpy()
        tests = [whitened_p_values(q[:, i], self.twin(*(value[i] for value in p))) for i in range(2)]
        assert_plausible(np.concatenate(tests))

    # Gradients.

    @pytest.mark.parametrize("answer", ["draw", "standard_draw", "deviation", "variance", "correlation", "dense"])
    def test_gradients(self, answer):
        p = tuple(value.requires_grad_() for value in self.parameters(batch=(2,)))

        def compute(*values):
            covariance = self.build(*values)
            if answer == "draw":
                return covariance.draw((2,), seeded())
            if answer == "standard_draw":
                return standard_draw(covariance, (2,), seeded())
            return getattr(covariance, answer)()

        assert gradcheck(compute, p)

    def test_zero_everywhere_is_independent_with_finite_gradients(self):
        p = tuple(torch.zeros_like(value).requires_grad_() for value in self.parameters())
        covariance = self.build(*p)
        torch.testing.assert_close(covariance.correlation(), torch.eye(self.d, dtype=torch.float64))
        s = standard_draw(covariance, (100,), seeded())
        s.sum().backward()
        assert torch.isfinite(s).all()
        assert all(torch.isfinite(value.grad).all() for value in p if value.grad is not None)

    # Randomness and number formats.

    def test_the_generator_fixes_the_draw_and_the_global_one_is_left_alone(self, global_seeds_untouched):
        covariance = self.build(*self.parameters())
        assert torch.equal(covariance.draw((7,), seeded(8)), covariance.draw((7,), seeded(8)))
        assert not torch.equal(covariance.draw((7,), seeded(8)), covariance.draw((7,), seeded(9)))

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_the_dtype_is_kept(self, dtype):
        covariance = self.build(*self.parameters(dtype=dtype))
        for value in (covariance.draw((2,), seeded()), covariance.deviation(), covariance.correlation()):
            assert value.dtype == dtype

    @pytest.mark.parametrize("scale", [1e-20, 1e-8, 1e-3, 1.0, 1e8, 1e20])
    def test_float32_extremes_keep_the_standardised_draw(self, scale):
        p = tuple((value * scale).requires_grad_() for value in self.parameters(dtype=torch.float32))
        p = tuple(value.detach().requires_grad_() for value in p)
        covariance = self.build(*p)
        expected = normalised(self.twin(*(value.detach().double() for value in p)))
        correlation = covariance.correlation().detach().numpy()
        np.testing.assert_allclose(correlation, expected, atol=1e-5)
        s = standard_draw(covariance, (DRAWS,), seeded(10))
        s.square().mean().backward()
        assert torch.isfinite(s).all()
        assert all(torch.isfinite(value.grad).all() for value in p if value.grad is not None)
        assert_plausible(whitened_p_values(s.detach().double().numpy(), expected + 1e-9 * np.eye(self.d)))

    def test_float32_features_of_very_different_scale_keep_the_standardised_draw(self):
        p = self.mixed_scales(*self.parameters(dtype=torch.float32))
        s = standard_draw(self.build(*p), (DRAWS,), seeded(11)).double().numpy()
        expected = normalised(self.twin(*(value.double() for value in p)))
        assert np.isfinite(s).all()
        assert_plausible(whitened_p_values(s, expected + 1e-9 * np.eye(self.d)))

    def mixed_scales(self, *parameters):
        """The same parameters with one feature at 1e20 and another at 0.01."""
        raise NotImplementedError
