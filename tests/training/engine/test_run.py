"""Loops of a fit: numbers of steps, rates, an early end, and a bar that shows where it resumes."""

import io

import pytest
import torch

from sklar.training.engine import checkpoint as checkpoints
from sklar.training.engine.checkpoint import checkpointing
from sklar.training.engine.optim import RateSchedule, adam
from sklar.training.engine.progress import Part, Progress
from sklar.training.engine.run import Run


def counted(run, n_steps, most=10**9, **options):
    """A loop that counts its steps, and fails after so many."""
    total = torch.zeros((), dtype=torch.long)
    done = []
    for k in run.steps(n_steps, {"total": total}, **options):
        if len(done) == most:
            raise KeyboardInterrupt
        total.add_(k)
        done.append(k)
    return int(total), done


def test_without_a_checkpoint_all_steps_are_done():
    assert counted(Run(), 4) == (6, [0, 1, 2, 3])
    assert counted(Run(), 0) == (0, [])


def test_rates_follow_their_schedule():
    optimiser = adam([torch.nn.Parameter(torch.zeros(1))], 1.0)
    rates = [(optimiser, RateSchedule(2.0, floor=1.0))]
    assert all(optimiser.param_groups[0]["lr"] == 2.0 for _ in Run().steps(3, {}, rates))


def test_a_loop_ends_where_it_says():
    seen = []
    for k in Run().steps(9, {}, until=lambda: len(seen) == 3):
        seen.append(k)
    assert seen == [0, 1, 2]


def resumed(folder, bar=None, most=10**9):
    with checkpointing(folder, {}, seed=0) as kept:
        run = Run(bar, kept)
        return [counted(run, 5, most), counted(run, 5, most)]


def test_the_bar_shows_where_it_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", float("inf"))
    whole = resumed(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        resumed(tmp_path / "run", most=3)
    said = io.StringIO()
    with Progress([Part("one", 5), Part("two", 5)], file=said) as bar:
        again = resumed(tmp_path / "run", bar)
        assert bar.n == 10
        assert bar.initial == 3
    assert [total for total, _ in again] == [total for total, _ in whole] == [10, 10]
    assert again[0][1] == [3, 4]
    assert "training: resumed at 30 % of the time" in said.getvalue()
    assert [done for _, done in resumed(tmp_path / "run")] == [[], []]
