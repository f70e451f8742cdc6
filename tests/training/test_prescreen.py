import numpy as np
import pytest
import torch

from sklar.training import prescreen
from sklar.training.objectives import Task
from sklar.training.prescreen import strongest_columns
from tests.helpers import seeded


def rows(n=600, d=50):
    return torch.randn(n, d, generator=seeded())


@pytest.mark.parametrize("block", [7, 1000])
def test_related_columns_are_found_in_any_block(block, monkeypatch):
    """Linear, of the size alone, and for the third of three classes."""
    monkeypatch.setattr(prescreen, "BLOCK", block)
    x = rows()
    targets = {
        (3, 44): (x[:, 3] - x[:, 44], Task(None)),
        (10,): ((x[:, 10].abs() > 0.7).long(), Task(2)),
        (49,): (1 + (x[:, 49] > 0).long() - (x[:, 20] > 5).long(), Task(3)),
    }
    for columns, (y, task) in targets.items():
        assert strongest_columns(lambda part: x[:, part], 50, y, task, len(columns)).tolist() == list(columns)


def test_the_columns_are_in_order_and_only_one_block_is_asked_for_at_a_time(monkeypatch):
    monkeypatch.setattr(prescreen, "BLOCK", 20)
    x, asked = rows(), []
    chosen = strongest_columns(lambda part: (asked.append(part), x[:, part])[1], 50, (x[:, 0] > 0).long(), Task(2), 30)
    assert [part.stop - part.start for part in asked] == [20, 20, 10]
    assert len(chosen) == 30
    assert np.all(np.diff(chosen) > 0)


def test_no_more_columns_than_there_are():
    x = rows(d=4)
    assert strongest_columns(lambda part: x[:, part], 4, x[:, 0], Task(None)).tolist() == [0, 1, 2, 3]
