"""The top-k mask (Algorithm 3) and the paper's two theorems. False alarms: see tests/helpers.py."""

import itertools
import sys

import numpy as np
import pytest
import torch
from scipy import stats
from torch.autograd import gradcheck

from sklar.model import copula, topk_mask
from sklar.model.covariance import Independent, LowRank
from tests.helpers import PEAK, assert_plausible, run_python, seeded

WEIGHTS = np.array([0.3, 1.0, 2.0, 0.7])
DRAWS = 40_000
TEMPERATURES = (1e-3, 1e-2, 0.1, 1.0, 10.0)


def keys_of(n, d, seed=0, dtype=torch.float32):
    """Keys as training makes them: scores a few units wide, standard normal draws."""
    weights = topk_mask.sampling_weights(3 * torch.randn(n, d, generator=seeded(seed), dtype=dtype))
    s = copula.standard_draw(Independent(torch.ones(d, dtype=dtype)), (n,), seeded(seed + 1))
    return topk_mask.sampling_keys(weights, copula.log_uniform(s))


def naive_topk(keys, k, temperature, step_exponent):
    """The recursion of section 3.3, as printed there, in float64."""
    v = keys.astype(np.float64)
    total = np.zeros_like(v)
    for step in range(k):
        p = np.exp(v / temperature)
        p /= p.sum(axis=-1, keepdims=True)
        total += p
        if step + 1 < k:
            v = v + temperature**step_exponent * np.log(1 - p)
    return total


# The recursion.


@pytest.mark.parametrize("step_exponent", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_it_is_the_recursion_as_printed(k, temperature, step_exponent):
    keys = torch.randn(50, 7, generator=seeded(), dtype=torch.float64)
    relaxed = topk_mask.relaxed_topk(keys, k, temperature, step_exponent)
    np.testing.assert_allclose(
        relaxed.numpy(), naive_topk(keys.numpy(), k, temperature, step_exponent), rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 2), (10, 3), (10, 10), (300, 300), (5000, 20)])
def test_value_and_gradient_are_finite_and_sum_to_k(d, k, temperature):
    keys = keys_of(2, d).requires_grad_()
    relaxed = topk_mask.relaxed_topk(keys, k, temperature)
    (relaxed * torch.randn(2, d, generator=seeded())).sum().backward()
    assert torch.isfinite(relaxed).all()
    assert torch.isfinite(keys.grad).all()
    assert (relaxed >= 0).all()
    torch.testing.assert_close(relaxed.sum(-1), torch.full((2,), float(k)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("temperature", [1e-3, 10.0])
def test_all_of_five_thousand_features(temperature):
    keys = keys_of(1, 5000).requires_grad_()
    relaxed = topk_mask.relaxed_topk(keys, 5000, temperature)
    relaxed.square().sum().backward()
    assert torch.isfinite(relaxed).all()
    assert torch.isfinite(keys.grad).all()
    torch.testing.assert_close(relaxed.detach().sum(), torch.tensor(5000.0), rtol=1e-3, atol=0)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("keys", [[0.0] * 6, [-1.0, -1.0, -2.0, -2.0, -3.0, -3.0], [-7.5e7] * 3 + [0.0] * 3])
def test_ties_share_alike(keys, temperature):
    keys = torch.tensor(keys, requires_grad=True)
    relaxed = topk_mask.relaxed_topk(keys, 4, temperature)
    relaxed.square().sum().backward()
    assert torch.isfinite(relaxed).all()
    assert torch.isfinite(keys.grad).all()
    for i, j in itertools.combinations(range(6), 2):
        if keys[i] == keys[j] and temperature >= 0.1:  # below, each of k steps multiplies rounding by 1 / t
            assert relaxed[i].item() == pytest.approx(relaxed[j].item(), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_furthest_keys_that_training_can_make_are_finite(temperature):
    """Noise at its clamp over the smallest weight, beside noise at the other clamp."""
    log_u = copula.log_uniform(torch.tensor([-1e9, -12.0, 0.0, 12.0, 1e9]))
    weights = torch.full((5,), topk_mask.SMALLEST_WEIGHT)
    keys = topk_mask.sampling_keys(weights, log_u).requires_grad_()
    relaxed = topk_mask.relaxed_topk(keys, 5, temperature)
    relaxed.square().sum().backward()
    assert torch.isfinite(relaxed).all()
    assert torch.isfinite(keys.grad).all()


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_gradients(k, temperature):
    keys = torch.randn(2, 5, generator=seeded(), dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda v: topk_mask.relaxed_topk(v, k, temperature, 0.5), (keys,))


def test_as_the_temperature_falls_it_becomes_the_k_largest_keys():
    """At 1e-3 keys closer than that still share a step, so the limit is taken further down."""
    keys = keys_of(200, 12, dtype=torch.float64)
    for k in (1, 3, 11):
        relaxed = topk_mask.relaxed_topk(keys, k, 1e-9)
        assert torch.equal(topk_mask.hard_topk(relaxed, k), topk_mask.hard_topk(keys, k))


def test_log_complement_is_exact_where_p_rounds_to_one():
    log_p = torch.log_softmax(torch.tensor([100.0, 0.0, -1.0], dtype=torch.float64), dim=-1)
    others = np.exp(-100.0) + np.exp(-101.0)
    np.testing.assert_allclose(topk_mask.log_complement(log_p).numpy()[0], np.log(others), rtol=1e-13)
    p = np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(topk_mask.log_complement(torch.from_numpy(np.log(p))).numpy(), np.log(1 - p), rtol=1e-13)


# Memory.


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak memory from /proc")
def test_without_a_gradient_memory_does_not_grow_with_k():
    code = f"""{PEAK}
import torch
from sklar.model.topk_mask import relaxed_topk
torch.set_num_threads(1)
keys = torch.randn(200, 5000)                      # 4 MB
with torch.no_grad():
    relaxed_topk(keys, 2, 1.0)
    before = peak()
    relaxed_topk(keys, 50, 1.0)                    # one kept copy a step would add 200 MB, autograd a multiple
print(peak() - before)
"""
    assert float(run_python(code)) < 60  # MiB


# Weights, keys and the hard mask.


def test_weights_are_positive_and_increase_with_the_score():
    weights = topk_mask.sampling_weights(torch.tensor([-1e4, -5.0, 0.0, 5.0, 1e4]))
    assert (weights > 0).all()
    assert (weights.diff() > 0).all()


def test_the_hard_mask_has_k_features_and_the_ranking_lists_them_best_first():
    scores = torch.tensor([[0.1, 3.0, -1.0, 2.0], [5.0, 5.0, 5.0, 5.0]])
    assert topk_mask.hard_topk(scores, 2).tolist()[0] == [False, True, False, True]
    assert topk_mask.ranking(scores, 3).tolist()[0] == [1, 3, 0]
    assert topk_mask.hard_topk(scores, 3).sum(-1).tolist() == [3, 3]
    own = topk_mask.hard_topk(scores, torch.tensor([[1], [3]]))  # every row its own
    assert torch.equal(own[0], topk_mask.hard_topk(scores, 1)[0])
    assert own.sum(-1).tolist() == [1, 3]
    assert len(set(topk_mask.ranking(scores, 3)[1].tolist())) == 3


def test_a_gradient_beyond_float32_is_cut_not_lost():
    """300 choices among 300 at 1e-3: the exact gradient, in float64, is of the order 1e96."""
    keys = keys_of(2, 300).requires_grad_()
    topk_mask.relaxed_topk(keys, 300, 1e-3).square().sum().backward()
    assert torch.isfinite(keys.grad).all()
    assert keys.grad.abs().max() > 1


# Theorems 1 and 2. Both let the temperature fall to 0: COLD is so low that, of all draws together, two keys closer
# than 1,000 temperatures are expected less than once in a million runs.

COLD = 1e-16


def drawn_masks(covariance, weights, k, temperature):
    s = copula.standard_draw(covariance, (DRAWS,), seeded(3))
    keys = topk_mask.sampling_keys(torch.from_numpy(weights), copula.log_uniform(s))
    return keys, topk_mask.hard_topk(topk_mask.relaxed_topk(keys, k, temperature), k)


def ordered_share(order, weights=WEIGHTS):
    """P(i_1, ..., i_k) = prod_j alpha_(i_j) / (sum alpha - those drawn before): the right side of Theorem 1."""
    left, share = weights.sum(), 1.0
    for i in order:
        share *= weights[i] / left
        left -= weights[i]
    return share


def nearly_independent():
    """1 / sigma -> 0: loadings of order 1 beside noise of 10,000."""
    loadings = torch.randn(4, 2, generator=seeded(), dtype=torch.float64)
    return LowRank(loadings, torch.full((4,), 1e4, dtype=torch.float64))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_theorem_1_sets_follow_weighted_sampling_without_replacement(k):
    _, masks = drawn_masks(nearly_independent(), WEIGHTS, k, temperature=COLD)
    sets = list(itertools.combinations(range(4), k))
    counts = [int((masks[:, list(chosen)].all(-1)).sum()) for chosen in sets]
    expected = [DRAWS * sum(map(ordered_share, itertools.permutations(chosen))) for chosen in sets]
    assert sum(counts) == DRAWS
    assert_plausible(stats.chisquare(counts, expected).pvalue)


def test_theorem_1_orders_follow_the_product_formula():
    keys, _ = drawn_masks(nearly_independent(), WEIGHTS, 2, temperature=COLD)
    drawn = topk_mask.ranking(keys, 2).numpy()
    orders = list(itertools.permutations(range(4), 2))
    counts = [int((drawn == order).all(axis=1).sum()) for order in orders]
    assert_plausible(stats.chisquare(counts, [DRAWS * ordered_share(order) for order in orders]).pvalue)


def test_theorem_1_needs_independence():
    """The chi-square above has power: with strong correlation the formula is refused."""
    covariance = LowRank(torch.ones(4, 1, dtype=torch.float64), torch.full((4,), 0.5, dtype=torch.float64))
    keys, _ = drawn_masks(covariance, WEIGHTS, 1, temperature=COLD)
    counts = np.bincount(topk_mask.ranking(keys, 1).numpy().ravel(), minlength=4)
    assert stats.chisquare(counts, DRAWS * WEIGHTS / WEIGHTS.sum()).pvalue < 1e-12


def wrong_share(sigma, k):
    covariance = LowRank(torch.ones(4, 1, dtype=torch.float64), torch.full((4,), sigma, dtype=torch.float64))
    _, masks = drawn_masks(covariance, WEIGHTS, k, temperature=COLD)
    best = topk_mask.hard_topk(torch.from_numpy(WEIGHTS), k)
    return (masks != best).any(-1).double().mean().item()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_theorem_2_one_common_factor_gives_the_deterministic_top_k(k):
    """As sigma -> 0 the share of other masks falls to 0.

    At sigma = 1e-3 two keys change places only if log u_i / log u_j exceeds a ratio of weights, 1.4 or more, while
    s_i and s_j differ by 1e-3 sqrt(2) N(0, 1). For |s| < 8 that needs a normal draw beyond 20: it never happens.
    """
    shares = [wrong_share(sigma, k) for sigma in (1.0, 0.3, 0.1, 1e-3)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.05
    assert shares[-1] == 0


def test_places_count_from_the_best():
    assert topk_mask.places(torch.tensor([[0.5, 3.0, -1.0, 3.0]])).tolist() == [[3, 1, 4, 2]]
