"""Judges in the cache."""

import numpy as np
import pytest
import torch

from sklar.model.masked_predictor import MaskedPredictor
from sklar.paper.experiments.judge_cache import MIN_STEPS_TO_CACHE, cached_judge
from sklar.training.honest.judge import JudgeSettings
from tests.helpers import seeded

LONG = JudgeSettings(hidden=4, steps=MIN_STEPS_TO_CACHE)


@pytest.fixture
def trainings(monkeypatch, tmp_path):
    """Counts trainings; the cache is a folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = []

    def make():
        done.append(1)
        return MaskedPredictor(3, 4, 2, 1, seeded(len(done)))

    return make, done, tmp_path


def data(shift=0.0):
    return np.arange(12, dtype=np.float32).reshape(4, 3) + shift, np.array([0, 1, 0, 1])


def test_the_same_judge_is_trained_once(trainings):
    make, done, folder = trainings
    first, second = (cached_judge("t", data(), LONG, make) for _ in range(2))
    assert len(done) == 1
    x, mask = torch.randn(1, 5, 3, generator=seeded()), torch.ones(1, 5, 3)
    assert torch.equal(first(x, mask), second(x, mask))
    assert [path.suffix for path in folder.rglob("*") if path.is_file()] == [".pt"]


@pytest.mark.parametrize(
    ("rows", "settings"),
    [(data(1.0), LONG), (data(), JudgeSettings(hidden=4, steps=MIN_STEPS_TO_CACHE + 1))],
)
def test_other_data_or_settings_are_another_judge(trainings, rows, settings):
    make, done, _ = trainings
    cached_judge("t", data(), LONG, make)
    cached_judge("t", rows, settings, make)
    assert len(done) == 2


def test_quick_judges_and_unwritable_caches_only_cost_time(trainings, monkeypatch):
    make, done, folder = trainings
    cached_judge("t", data(), JudgeSettings(hidden=4, steps=10), make)
    assert not any(folder.iterdir())
    blocked = folder / "a file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    for _ in range(2):
        cached_judge("t", data(), LONG, make)
    assert len(done) == 3
