"""Methods on Syn1-6 against a truth of other rows."""

import numpy as np
import pytest
import torch

from sklar.paper.experiments.specs import spec_of
from sklar.paper.experiments.synthetic import draw, measure_synthetic
from sklar.paper.experiments.units import Cell, Unit


def unit_of(name, seeds=(0,), dataset="syn1"):
    spec = spec_of("table-11d", quick=True)
    return Unit(spec, spec.method(name), tuple(Cell(name, dataset, None, seed) for seed in seeds))


def test_train_and_test_rows_and_seeds_are_different_draws():
    unit = unit_of("tree", seeds=(0, 1))
    draws = [draw(unit, cell, part)[0] for cell in unit.cells for part in (0, 1)]
    for i in range(4):
        for j in range(i):
            assert not np.intersect1d(draws[i][:, 0], draws[j][:, 0]).size


@pytest.mark.parametrize("name", ["sklar", "joint", "invase", "tree", "scfs", "constant-union"])
def test_every_cell_is_scored(name):
    unit = unit_of(name, seeds=(0, 1))
    found = measure_synthetic(unit, torch.device("cpu"))
    assert [one.cell for one in found] == list(unit.cells)
    for one in found:
        assert 0 <= one.values["tpr"] <= 100
        assert 0 <= one.values["fdr"] <= 100
        assert ("accuracy" in one.values) == (name in ("sklar", "joint", "invase"))


def test_a_method_that_is_given_k_selects_k():
    (found,) = measure_synthetic(unit_of("tree", dataset="syn4"), torch.device("cpu"))
    assert dict(found.notes)["features"] == 4
