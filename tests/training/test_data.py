"""Defaults of an objective, and several trainings as one."""

import numpy as np
import torch

from sklar.model.ensemble import EnsembleModel
from sklar.model.selection import Architecture, SelectionModel
from sklar.training.data import Trained, combined, with_defaults


def test_what_is_none_gets_the_default_of_the_objective():
    assert with_defaults({"a": None, "b": 2, "c": None}, {"a": 1, "b": 9}) == {"a": 1, "b": 2, "c": None}


def member(seed, union, penalty, path):
    model = SelectionModel(Architecture(len(union), 2), torch.Generator().manual_seed(seed))
    return Trained(model, union, penalty, path, [{"epoch": 0, "loss": float(seed)}])


def test_one_training_is_as_it_is_and_several_are_an_ensemble():
    first = member(0, [0, 2], 1.0, {"penalty": [1.0, 2.0]})
    assert combined([first]) is first
    both = combined([first, member(1, [2, 3], 3.0, {"penalty": [3.0, 6.0]})])
    assert isinstance(both.model, EnsembleModel)
    assert both.union == [0, 2, 3]
    assert both.penalty == 2.0
    np.testing.assert_allclose(both.path["penalty"], [2.0, 4.0])
    assert [record["model"] for record in both.history] == [0, 1]
