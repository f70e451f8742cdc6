"""Few rows: several splits decide together; many: none are needed."""

from dataclasses import replace

import pytest
import torch

from sklar.model.gates import Gates
from sklar.training.data import TrainingData
from sklar.training.engine.run import Run
from sklar.training.honest.rehearsal import _splits, rehearse
from sklar.training.honest.settings import HonestSettings, PredictorSettings, Schedule, SelectorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

SETTINGS = HonestSettings(
    SelectorSettings(hidden=8),
    PredictorSettings(hidden=8, batch_size=100),
    Schedule().scaled(0.05),
    n_folds=2,
)


def data(n=200, d=5, gates=None):
    x = torch.randn(n, d, generator=seeded())
    return TrainingData(x, (x[:, 0] > 0).long(), None, gates or Gates(d))


@pytest.mark.parametrize("gates", [None, Gates.of(4, [0, 1, 2, 3, 3])])
def test_every_row_is_held_out_once(gates):
    parts = list(_splits(data(gates=gates), Task(2), 5, 0))
    assert len(parts) == (1 if gates is None else 5)
    x = torch.cat([part.x for part in parts])  # (5, n, d): the last fifth of each is held out
    held = x[:, 160:].flatten(0, 1)
    assert len(held.unique(dim=0)) == 200


@pytest.mark.parametrize("gates", [None, Gates.of(4, [0, 1, 2, 3, 3])])
def test_what_decides_is_seen_and_what_was_tried_is_recorded(gates):
    found = rehearse(data(300, gates=gates), Task(2), SETTINGS, 0, Run())
    assert found.shows
    assert found.strength in SETTINGS.strengths
    assert [record["strength"] for record in found.tried] == list(SETTINGS.strengths)
    assert sum(record["chosen"] for record in found.tried) == 1


def test_noise_shows_nothing():
    """One draw: a false alarm in one of a hundred fresh seeds or so."""
    noise = data(200)._replace(y=torch.randint(2, (200,), generator=seeded(5)))
    assert not rehearse(noise, Task(2), SETTINGS, 0, Run()).shows


def test_many_rows_one_strength_or_nothing_held_out_need_none():
    for settings, n in (
        (SETTINGS, 1500),
        (replace(SETTINGS, strengths=(1.0,)), 200),
        (replace(SETTINGS, held_fraction=0.0), 200),
    ):
        assert rehearse(data(n), Task(2), settings, 0, Run()) is None
