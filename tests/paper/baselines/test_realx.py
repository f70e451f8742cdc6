"""REAL-X: its gradient is unbiased, and its masks do not encode where L2X's do (Jethani et al., AISTATS 2021)."""

import itertools

import numpy as np
import pytest
import torch

from sklar.datasets import make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.realx import _logistic_given_sign, rebar_surrogate
from tests.helpers import FALSE_ALARM, seeded


def curved(mask):
    """A loss of three gates with interactions, (..., 3) -> (...)."""
    a, b, c = mask.unbind(-1)
    return (a + 2 * b - c - 0.4).square() + a * c


def test_gradient_is_unbiased():
    """The mean of many REBAR gradients against the exact one. False alarm 1e-6: 5.1 standard errors, of three."""
    logits = torch.tensor([0.5, -0.8, 0.2], dtype=torch.float64, requires_grad=True)
    exact = torch.zeros(())
    for z in itertools.product((0.0, 1.0), repeat=3):
        mask = torch.tensor(z, dtype=torch.float64)
        chance = -torch.nn.functional.binary_cross_entropy_with_logits(logits, mask, reduction="sum")
        exact = exact + chance.exp() * curved(mask)
    (exact_gradient,) = torch.autograd.grad(exact, logits)
    n = 40_000
    many = logits.detach().expand(1, n, 3).clone().requires_grad_()
    rebar_surrogate(many, curved, 0.5, seeded()).sum().backward()
    gradients = many.grad[0]
    error = gradients.std(0) / n**0.5
    assert ((gradients.mean(0) - exact_gradient).abs() < 5.1 * error).all()


def test_control_variate_lowers_the_variance():
    n = 20_000
    start = torch.zeros(1, n, 3, dtype=torch.float64)
    rebar = start.clone().requires_grad_()
    rebar_surrogate(rebar, curved, 0.5, seeded()).sum().backward()
    plain = start.clone().requires_grad_()
    mask = torch.bernoulli(torch.full_like(start, 0.5), generator=seeded(1))
    chance = -torch.nn.functional.binary_cross_entropy_with_logits(plain, mask, reduction="none").sum(-1)
    (curved(mask) * chance).sum().backward()
    assert rebar.grad.var(1).sum() < 0.7 * plain.grad.var(1).sum()


@pytest.mark.parametrize("sign", [0.0, 1.0])
def test_conditional_noise_has_the_sign_and_the_law(sign):
    """Given its sign, z = logit + logistic noise has the tail of its law. False alarm 1e-6, by Hoeffding."""
    n, at = 50_000, torch.tensor(0.7)
    b = torch.full((n,), sign)
    given = _logistic_given_sign(at.expand(n), b, seeded())
    assert ((given > 0) == (b > 0.5)).all()
    level = 1.5 if sign else -1.5
    side = 2 * sign - 1  # P(z > level | z > 0) = sigmoid(at - level) / sigmoid(at), and its mirror image
    tail = torch.sigmoid(side * (at - level)) / torch.sigmoid(side * at)
    share = (given > level if sign else given < level).float().mean()
    assert abs(share - tail) < np.sqrt(np.log(2 / FALSE_ALARM) / (2 * n))


def test_quick_syn1():
    X, y, _ = make_synthetic("syn1", n_samples=4000, random_state=0)
    unseen, _, relevant = make_synthetic("syn1", n_samples=2000, random_state=1)
    params = {"iterations": 400, "warmup": 150, "batch_size": 250, "selector_hidden": 30, "predictor_hidden": 50}
    masks = REGISTRY["realx"](random_state=0, learning_rate=3e-3, **params).fit(X, y).select(unseen)
    assert true_positive_rate(relevant, masks) > 95
    assert false_discovery_rate(relevant, masks) < 10


def accuracy_on_masks(judge, X, y, masks):
    """Accuracy of a REAL-X predictor when it is shown X through given masks."""
    return np.mean(judge.predict_masked(X, masks) == y)


@pytest.mark.slow
def test_l2x_encodes_and_realx_does_not():
    """Source: Jethani et al. 2021: judged by EVAL-X, the accuracy of L2X falls and that of REAL-X does not.

    EVAL-X is a predictor trained on random masks only (here a REAL-X that never leaves its warm-up). What a
    method's own predictor gets right beyond it, the masks gave away. L2X shows one feature per row of Syn4, with the
    settings that encode most of twelve tried (docs/baselines.md lists them): with its published ones
    the gap was .005. So this shows that L2X can encode and that the audit sees it, not that L2X always does.
    Seen: .090 and -.001. Of 10,000 rows a difference of accuracies has a standard error of at most .0071.
    """
    X, y, _ = make_synthetic("syn4", n_samples=30_000, random_state=0)
    unseen, target, _ = make_synthetic("syn4", n_samples=10_000, random_state=1)
    shared = {"iterations": 3000, "batch_size": 500, "predictor_hidden": 100}
    judge = REGISTRY["realx"](warmup=3000, random_state=7, **shared).fit(X, y)
    params = {"k": 1, "temperature": 0.5, "weight_decay": 1e-5, "learning_rate": 3e-3}
    gaps = {}
    for baseline in (REGISTRY["l2x"](random_state=0, **shared, **params), REGISTRY["realx"](random_state=0, **shared)):
        baseline.fit(X, y)
        judged = accuracy_on_masks(judge, unseen, target, baseline.select(unseen))
        gaps[type(baseline).__name__] = baseline.score(unseen, target) - judged
    assert gaps["L2X"] > 0.05
    assert abs(gaps["RealX"]) < 0.02
