"""What the learned correlation of gates says about features, and its gradient against autograd's."""

import pytest
import torch

from sklar.training.honest.gate_correlation import GateCorrelation
from sklar.training.honest.settings import Pull
from tests.helpers import seeded


@pytest.mark.parametrize("with_pattern", [False, True])
def test_the_gradient_is_that_of_mean_mixed_differences_times_r_plus_the_pull(with_pattern):
    problems, folds, n, d, pull = 2, 3, 50, 5, Pull(apart=0.05, together=0.4)
    pattern = (torch.rand(problems, d, 4, generator=seeded(5)) < 0.5).float() if with_pattern else None
    learned = GateCorrelation(problems, d, 4, pull, seeded(), pattern)
    with torch.no_grad():
        learned.loadings.mul_(8.0)
    pairs = torch.rand(problems * folds, n, d, generator=seeded(1)).topk(2).indices
    mixed = torch.randn(problems * folds, n, generator=seeded(2))
    mixed[pairs[..., 0] == 4] = 0.0
    learned.learn(pairs, mixed)
    root = learned.root()
    r = root @ root.mT * (1 - torch.eye(d))
    objective = (pull.apart * r.clamp_max(0).square() + pull.together * r.clamp_min(0).square()).sum() / 2
    for p in range(problems):
        rows = slice(p * folds, (p + 1) * folds)
        for i in range(d):
            for j in range(d):
                of_cell = mixed[rows][(pairs[rows] == torch.tensor([i, j])).all(-1)]
                if len(of_cell):
                    objective = objective + of_cell.mean() * r[p, i, j]
    (expected,) = torch.autograd.grad(objective, learned.loadings)
    torch.testing.assert_close(learned.loadings.grad, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("with_pattern", [False, True])
def test_centred_loadings_have_no_common_part_and_their_gradient_is_autograds(with_pattern):
    pattern = torch.block_diag(torch.ones(2, 2), torch.ones(3, 3)).unsqueeze(0) if with_pattern else None
    learned = GateCorrelation(1, 5, 5, Pull(), seeded(), pattern, centred=True)
    loadings = learned.patterned()
    torch.testing.assert_close(loadings.sum(1), torch.zeros(1, 5), rtol=0, atol=1e-6)
    if with_pattern:
        assert (loadings[pattern == 0] == 0).all()
    pairs = torch.tensor([[[0, 1], [2, 4], [3, 1]]])
    learned.learn(pairs, torch.tensor([[1.0, -2.0, 0.5]]))
    found, root = learned.loadings.grad, learned.root()
    r = root @ root.mT * (1 - torch.eye(5))
    objective = r[0, 0, 1] - 2 * r[0, 2, 4] + 0.5 * r[0, 3, 1]
    objective = objective + (0.05 * r.clamp_max(0).square() + 0.4 * r.clamp_min(0).square()).sum() / 2
    (expected,) = torch.autograd.grad(objective, learned.loadings)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
