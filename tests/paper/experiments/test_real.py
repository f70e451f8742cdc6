"""Accuracies from k features on real data: here the digits that scikit-learn ships."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sklar.paper.baselines import REGISTRY
from sklar.paper.experiments import real
from sklar.paper.experiments.specs import spec_of
from sklar.paper.experiments.units import Cell, Unit
from sklar.training.honest.judge import train_judge

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def digits():
    return real.real_split("digits", 0)


def unit_of(name, ks=(20,), overrides=()):
    spec = spec_of("figure-accuracy", quick=True)
    return Unit(spec, spec.method(name), tuple(Cell(name, "digits", k, 0) for k in ks), overrides)


def test_all_seeds_share_the_split_but_isolets(digits, monkeypatch):
    assert real.real_split("digits", 5) is digits
    monkeypatch.setattr(real, "load_isolet", lambda split, seed: (np.zeros((3, 1)),) * 4)
    real._load.cache_clear()
    assert real.real_split("isolet", 1) is not real.real_split("isolet", 2)
    real._load.cache_clear()


def test_held_out_rows_are_training_rows_that_nothing_learns_from(digits, monkeypatch):
    held = real.real_split("digits", 0, held_out=True)
    np.testing.assert_array_equal(np.concatenate([held.x, held.test_x]), digits.x)
    np.testing.assert_array_equal(np.concatenate([held.y, held.test_y]), digits.y)
    assert len(held.test_x) == len(digits.x) // 6
    seen = []
    monkeypatch.setattr(real, "train_judge", lambda x, y, *_, **__: seen.append(len(x)) or train_judge(x, y, *_, **__))
    real._judge.cache_clear()
    unit = unit_of("forest")
    real.measure_real(replace(unit, spec=replace(unit.spec, held_out=True)), CPU)
    assert seen == [len(held.x)]


def test_refits_see_only_what_is_shown(digits):
    shown = [np.zeros(digits.x.shape, bool), np.ones(digits.x.shape, bool)]
    tests = [np.zeros(digits.test_x.shape, bool), np.ones(digits.test_x.shape, bool)]
    nothing, everything = real.refit_accuracies(digits, shown, tests, CPU, seed=0, steps=40)
    assert nothing < 25
    assert everything > 85


@pytest.mark.parametrize("name", ["forest", "gdfs", "l2x", "joint-independent"])
def test_both_accuracies_of_every_cell(name):
    overrides = (("max_epochs", 4),) if name == "joint-independent" else ()
    found = real.measure_real(unit_of(name, overrides=overrides), CPU)
    assert [one.cell.k for one in found] == [20]
    for one in found:
        assert set(one.values) == {"accuracy", "evalx"}
        assert all(10 < value <= 100 for value in one.values.values())
        assert dict(one.notes)["accuracy_of"] == ("refit" if name == "forest" else "own")


@pytest.mark.parametrize(
    ("name", "params"), [("forest", {"n_trees": 5}), ("gdfs", {"k": 6, "iterations": 2, "warmup": 2})]
)
def test_masks_are_those_that_the_baseline_selects(digits, name, params):
    baseline = REGISTRY[name](random_state=0, **params).fit(digits.x[:200], digits.y[:200])
    for k, mask in real.masks_for(baseline, digits.test_x[:30], [2, 6], CPU).items():
        np.testing.assert_array_equal(mask, baseline.select(digits.test_x[:30], k=k))


def test_the_choice_of_features_leaks_nothing_to_the_judge(digits):
    """Masks that spell the label in a constant corner: a code, worth nothing to the judge."""
    unit = unit_of("forest")
    code = np.zeros(digits.test_x.shape, bool)
    code[np.arange(len(code)), digits.test_y] = True  # the label as a place
    honest = np.ones(digits.test_x.shape, bool)
    cell = unit.cells[0]
    assert real.evalx_accuracy(unit, cell, code, CPU) < 45
    assert real.evalx_accuracy(unit, cell, honest, CPU) > 85
