"""What is trained: how it is pruned, and which masks it decides for."""

import pytest
import torch

from tests.helpers import seeded
from tests.training.stages import small_stage, weighed_stage


def test_pruning_keeps_the_scores_of_rows_without_the_others():
    whole = small_stage()
    x = torch.randn(2, 7, 4, generator=seeded(3))
    keep = torch.tensor([[True, False, True, False], [False, True, True, True]])
    x = x * keep[:, None]
    penalty = torch.zeros(2, 1, 1)
    before = whole.scores(x, penalty).detach()
    columns = whole.prune(keep)
    assert columns.shape == (2, 3)
    after = whole.scores(x.gather(2, columns[:, None].expand(2, 7, 3)) * whole.alive[:, None], penalty).detach()
    for problem in range(2):
        inside = columns[problem][whole.alive[problem]]
        torch.testing.assert_close(after[problem][:, whole.alive[problem]], before[problem][:, inside])
        assert (after[problem][:, ~whole.alive[problem]] < -20).all()


@pytest.mark.parametrize("min_features", [0, 2])
def test_a_level_leaves_forced_gates_and_the_least_number_of_features(min_features):
    high, x = weighed_stage(level=100.0, min_features=min_features)
    masks = high.masks(x, torch.zeros(1))
    assert masks.shape == (1, 100, 4)
    assert masks[..., 3].all()
    assert (masks.sum(-1) == max(1, min_features)).all()
