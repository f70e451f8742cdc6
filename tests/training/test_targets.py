"""Losses of targets beyond a class or a value, against plain formulas."""

import numpy as np
import pytest
import torch
from scipy.stats import poisson

from sklar.metrics import concordance
from sklar.training.targets import CountsTask, LabelsTask, RiskTask, ValuesTask, baseline_hazard
from tests.helpers import seeded


def survival(n=40, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    time = rng.exponential(size=n)
    time = np.ceil(4 * time) if ties else time
    return np.column_stack([time, rng.random(n) < 0.7]).astype(np.float64)


def negative_partial_likelihood(time, event, risk):
    """Breslow's, by the definition: a sum over events and their risk sets."""
    return -sum(risk[i] - torch.logsumexp(risk[time >= time[i]], 0) for i in range(len(time)) if event[i])


@pytest.mark.parametrize("ties", [False, True])
def test_the_gradient_is_that_of_the_partial_likelihood(ties):
    targets = torch.from_numpy(survival(ties=ties))
    task, rows = RiskTask(targets), torch.arange(40)
    risk = torch.randn(40, generator=seeded()).double().requires_grad_()
    (ours,) = torch.autograd.grad(task.batch_loss(risk.view(1, 40, 1), rows).sum(), risk)
    (theirs,) = torch.autograd.grad(negative_partial_likelihood(targets[:, 0], targets[:, 1], risk), risk)
    torch.testing.assert_close(ours, theirs)
    # and with a baseline of the same outputs, so is that of the uncoupled loss
    task.renew(risk.detach().unsqueeze(-1), rows)
    (uncoupled,) = torch.autograd.grad(task.row_loss(risk.view(1, 40, 1), rows).sum(), risk)
    torch.testing.assert_close(uncoupled, theirs)


@pytest.mark.parametrize("ties", [False, True])
def test_the_coupled_loss_is_the_partial_likelihood_but_for_a_constant(ties):
    targets = torch.from_numpy(survival(ties=ties))
    task, rows = RiskTask(targets), torch.arange(40)
    risk = torch.randn(2, 40, generator=seeded()).double()
    losses = task.batch_loss(risk.unsqueeze(-1), rows).sum(-1)
    exact = torch.stack([negative_partial_likelihood(targets[:, 0], targets[:, 1], r) for r in risk])
    torch.testing.assert_close(losses - exact, targets[:, 1].sum().expand(2))


def test_the_first_baseline_is_that_of_nelson_and_aalen():
    time, event = torch.tensor([3.0, 1.0, 2.0, 2.0]), torch.tensor([1.0, 1.0, 1.0, 0.0])
    hazard, log_at_risk = baseline_hazard(time, event, torch.zeros(4), torch.tensor([0.5, 1.0, 2.5, 9.0]))
    np.testing.assert_allclose(hazard, [0, 1 / 4, 1 / 4 + 1 / 3, 1 / 4 + 1 / 3 + 1], rtol=1e-6)
    np.testing.assert_allclose(log_at_risk.exp(), [1, 4, 3, 3], rtol=1e-6)


def test_counts_have_the_poisson_likelihood():
    counts = np.array([0, 1, 5, 12])
    task = CountsTask(torch.from_numpy(counts[:, None] / counts.mean()))
    log_rate = torch.tensor([[-0.5], [0.1], [0.2], [1.0]]).double()
    losses = task.row_loss(log_rate, torch.arange(4)).numpy() * counts.mean()
    exact = -poisson.logpmf(counts, counts.mean() * np.exp(log_rate[:, 0].numpy()))
    constant = -poisson.logpmf(counts, counts.mean()) - (counts.mean() - 0 * counts)
    np.testing.assert_allclose(losses, exact - constant)


def test_several_targets_count_the_same():
    targets = torch.randn(6, 3, generator=seeded())
    output = torch.randn(2, 6, 3, generator=seeded(1))
    rows = torch.tensor([5, 0, 1, 2, 3, 4])
    values = ValuesTask(targets).row_loss(output, rows)
    torch.testing.assert_close(values, (output - targets[rows]).square().mean(-1))
    labels = (targets > 0).float()
    p = output.sigmoid()
    exact = -(labels[rows] * p.log() + (1 - labels[rows]) * (1 - p).log()).mean(-1)
    torch.testing.assert_close(LabelsTask(labels).row_loss(output, rows), exact)


@pytest.mark.parametrize("task", [ValuesTask, LabelsTask, CountsTask, RiskTask])
def test_residuals_are_the_slope_of_the_loss(task):
    width = 2 if task is RiskTask else 1
    targets = torch.from_numpy(survival(8))[:, :width].round().clamp(0, 1)
    task, rows = task(targets), torch.arange(8)
    output = torch.randn(8, 1, generator=seeded()).double().requires_grad_()
    (slope,) = torch.autograd.grad(task.row_loss(output, rows).sum(), output)
    scale = -2 if task.kind == "values" else -1
    torch.testing.assert_close(scale * task.residuals(output, rows), slope)


def test_concordance_counts_pairs():
    targets, risk = survival(30, ties=True), np.random.default_rng(1).integers(5, size=30)
    agreed = known = 0.0
    for i in range(30):
        for j in range(30):
            if targets[i, 1] and targets[i, 0] < targets[j, 0]:
                known += 1
                agreed += (risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j])
    assert concordance(targets[:, 0], targets[:, 1], risk) == pytest.approx(agreed / known)
    assert concordance([1, 2], [False, False], [0, 1]) == 0.5
