import numpy as np
import pytest
import torch

from sklar.model.gates import Gates
from sklar.training.honest import prescreen
from sklar.training.honest.prescreen import strongest_features
from sklar.training.targets import CountsTask, LabelsTask, RiskTask, ValuesTask
from sklar.training.tasks import Task
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
        assert strongest_features(lambda part: x[:, part], 50, y, task, len(columns)).tolist() == list(columns)


def test_the_columns_are_in_order_and_only_one_block_is_asked_for_at_a_time(monkeypatch):
    monkeypatch.setattr(prescreen, "BLOCK", 20)
    x, asked = rows(), []
    chosen = strongest_features(lambda part: (asked.append(part), x[:, part])[1], 50, (x[:, 0] > 0).long(), Task(2), 30)
    assert [part.stop - part.start for part in asked] == [20, 20, 10]
    assert len(chosen) == 30
    assert np.all(np.diff(chosen) > 0)


def test_a_feature_is_as_strong_as_its_strongest_input_and_forced_ones_stay():
    """Columns 0-9 are one feature; of 41 features the one with the relevant input and the forced one are kept."""
    x = rows()
    gates = Gates.of(41, [0] * 10 + list(range(1, 41)), forced=[30])
    y = (x[:, 4] + x[:, 20] > 0).long()
    chosen = strongest_features(lambda part: x[:, part] + 1, 50, y, Task(2), 3, gates)
    assert chosen.tolist() == [0, 11, 30]


def test_rows_that_do_not_count_are_not_heard():
    x, counts = rows(), (torch.arange(600) % 2 == 0).float()
    y = torch.where(counts > 0, x[:, 3], x[:, 8])
    assert strongest_features(lambda part: x[:, part], 50, y, Task(None), 1, weight=counts + 1e-6).tolist() == [3]
    assert strongest_features(lambda part: x[:, part], 50, y, Task(None), 1, weight=1.01 - counts).tolist() == [8]


@pytest.mark.parametrize("kind", [ValuesTask, LabelsTask, CountsTask, RiskTask])
def test_every_kind_of_target(kind):
    x = rows()
    second = {LabelsTask: (x[:, 6] > 0).float(), RiskTask: (torch.arange(600) % 3 > 0).float()}
    first = {LabelsTask: (x[:, 5] > 0).float(), CountsTask: x[:, 5].exp(), RiskTask: (2 * x[:, 5]).exp()}
    columns = [first.get(kind, x[:, 5]), second.get(kind, x[:, 6])][: 1 if kind is CountsTask else 2]
    chosen = strongest_features(lambda part: x[:, part], 50, torch.arange(600), kind(torch.stack(columns, 1)), 2)
    assert 5 in chosen
    assert (6 in chosen) or kind in (CountsTask, RiskTask)


def test_no_more_columns_than_there_are():
    x = rows(d=4)
    assert strongest_features(lambda part: x[:, part], 4, x[:, 0], Task(None)).tolist() == [0, 1, 2, 3]
