"""The plain-torch kernels against autograd through the formulas as written, and their bounded memory."""

import sys

import pytest
import torch
from torch.autograd import gradcheck

from sklar import kernels
from sklar.kernels import reference
from tests.helpers import PEAK, run_python, seeded


@pytest.fixture
def tiny_chunks(monkeypatch):
    """Several chunks, the last one short."""
    monkeypatch.setattr(reference, "CHUNK_ENTRIES", {"cpu": 60})


def doubles(*shape, seed=0):
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64, requires_grad=True)


def head(replicas=2, n=3, r=4, d=5):
    shapes = ((replicas, n, r), (replicas, r, d * d), (replicas, 1, d * d), (replicas, n, d))
    return [doubles(*shape, seed=seed) for seed, shape in enumerate(shapes)]


def stored_draw(hidden, weight, bias, zeta, activation):
    """The same with L stored: the definition."""
    loadings = (hidden @ weight + bias).unflatten(-1, (zeta.shape[-1], -1))
    loadings = loadings.tanh() if activation == "tanh" else loadings.relu()
    return (loadings @ zeta.unsqueeze(-1)).squeeze(-1), loadings.square().sum(-1)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_full_draw_is_the_one_that_stores_L(activation, tiny_chunks):
    for mine, stored in zip(reference.full_draw(*head(), activation), stored_draw(*head(), activation), strict=True):
        torch.testing.assert_close(mine, stored)
    assert gradcheck(lambda *tensors: reference.full_draw(*tensors, activation), head())


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_adjoint_of_the_top_k_steps(k, tiny_chunks):
    assert gradcheck(lambda keys: reference.relaxed_topk(keys, k, 0.5, 0.5**0.5), (doubles(7, 5),))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_low_rank_mask_is_hard_forward_and_relaxed_backward(activation):
    scores, head = doubles(6, 5), doubles(6, 15, seed=1)
    xi, eps = doubles(6, 2, seed=3).detach(), doubles(6, 5, seed=4).detach()
    mask = reference.low_rank_mask(scores, head, xi, eps, 0.7, activation)
    assert set(mask.unique().tolist()) == {0.0, 1.0}
    on_loadings, on_sigma = (torch.tanh, torch.relu) if activation == "tanh" else (torch.relu, torch.tanh)
    loadings, sigma = on_loadings(head[:, :10].view(6, 2, 5)).mT, on_sigma(head[:, 10:]).abs().clamp_min(1e-3)
    q = (loadings * xi.unsqueeze(-2)).sum(-1) + sigma * eps
    s = q / (loadings.square().sum(-1) + sigma.square()).sqrt()
    noise = torch.special.log_ndtr(s) - torch.special.log_ndtr(-s)
    relaxed = torch.sigmoid((noise + scores) / 0.7)
    assert torch.equal(mask.detach() > 0.5, relaxed > 0.5)
    assert_same_gradients(mask, relaxed, (scores, head))


def test_without_a_head_gates_are_independent():
    """Also where rows share scores or a draw."""
    for of_scores, of_eps in (((6, 5), (6, 5)), ((1, 5), (6, 5)), ((6, 5), (1, 5))):
        scores, eps = doubles(*of_scores), doubles(*of_eps, seed=1).detach()
        mask = kernels.low_rank_mask(scores, None, None, eps, 0.7)
        relaxed = torch.sigmoid((torch.special.log_ndtr(eps) - torch.special.log_ndtr(-eps) + scores) / 0.7)
        assert torch.equal(mask.detach() > 0.5, relaxed > 0.5)
        assert_same_gradients(mask, relaxed, (scores,))


def assert_same_gradients(mine, written, learning):
    push = doubles(*mine.shape, seed=5).detach()
    for one, other in zip(
        torch.autograd.grad(mine, learning, push), torch.autograd.grad(written, learning, push), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak memory from /proc")
def test_memory_is_bounded_forward_and_backward():
    """L of 300 rows and 300 features is 108 MB, the 100 top-k steps of 1000 rows of 500 features 200 MB each way."""
    code = f"""{PEAK}
import torch
from sklar.kernels import reference
torch.set_num_threads(1)
def draw(n, d):
    tensors = [torch.randn(s, requires_grad=True) for s in ((1, n, 2), (1, 2, d * d), (1, 1, d * d))]
    sum(t.sum() for t in reference.full_draw(*tensors, torch.randn(1, n, d), "tanh")).backward()
def steps(n, d, k):
    reference.relaxed_topk(torch.randn(n, d, requires_grad=True), k, 1.0, 1.0).square().sum().backward()
draw(300, 60)
steps(1000, 500, 2)
before = peak()
draw(300, 300)
steps(1000, 500, 100)
print(peak() - before)
"""
    assert float(run_python(code)) < 70  # MiB
