"""Cells and units: every cell once, and what may train side by side does."""

import pytest

from sklar.paper.experiments.specs import spec_of
from sklar.paper.experiments.units import Cell, Unit, cells_of, units_of


def test_on_a_gpu_data_sets_and_seeds_go_side_by_side():
    spec = spec_of("table-11d")
    methods = spec.methods
    units = list(units_of(spec, cells_of(spec, range(10), methods), methods, "cuda"))
    sizes = {unit.method.name: len(unit.cells) for unit in units}
    assert sizes["sklar"] == sizes["joint"] == 60
    invase = [unit for unit in units if unit.method.name == "invase"]
    # its author's settings: Syn1-2, then Syn3, 4 and 6, then Syn5
    assert [len(unit.cells) for unit in invase] == [20, 30, 10]
    assert [unit.params.get("activation", "relu") for unit in invase] == ["relu", "selu", "selu"]
    assert sizes["l2x"] == 10  # k is the number of relevant features of its data set
    assert sizes["lasso"] == 1
    assert all(len(unit.cells) == 1 for unit in units_of(spec, cells_of(spec, range(2), methods), methods, "cpu"))
    spec = spec_of("figure-accuracy")
    units = list(units_of(spec, cells_of(spec, range(3), spec.methods), spec.methods, "cuda"))
    sizes = {unit.method.name: len(unit.cells) for unit in units}
    assert (sizes["sklar"], sizes["gdfs"], sizes["cae"], sizes["forest"]) == (3, 12, 3, 4)
    assert all(len({cell.dataset for cell in unit.cells}) == 1 for unit in units)


@pytest.mark.parametrize("name", ["table-11d", "table-nola", "figure-accuracy"])
@pytest.mark.parametrize("device_type", ["cpu", "cuda"])
def test_every_cell_is_in_one_unit(name, device_type):
    spec = spec_of(name)
    cells = cells_of(spec, range(3), spec.methods)
    assert len(cells) == len(set(cells)) == len(spec.methods) * len(spec.datasets) * max(1, len(spec.ks)) * 3
    units = list(units_of(spec, cells, spec.methods, device_type))
    assert sorted(map(str, (cell for unit in units for cell in unit.cells))) == sorted(map(str, cells))
    assert all({cell.method for cell in unit.cells} == {unit.method.name} for unit in units)


def test_overrides_replace_a_methods_parameters():
    spec = spec_of("table-11d", quick=True)
    unit = Unit(spec, spec.method("tree"), (Cell("tree", "syn1", None, 0),), (("n_trees", 3),))
    assert unit.params == {"n_trees": 3}


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([("syn1", None, 0)], "tree on syn1, 1 seed"),
        ([("syn1", None, 0), ("syn4", None, 1)], "tree on 2 data sets, 2 seeds"),
        ([("digits", 10, 0), ("digits", 20, 0)], "tree on digits, k = 10, 20, 1 seed"),
    ],
)
def test_the_name_of_a_unit(cells, says):
    spec = spec_of("table-11d")
    assert str(Unit(spec, spec.method("tree"), tuple(Cell("tree", *cell) for cell in cells))) == says
