"""Architectures from words, and refused before a network of their size is made."""

import json
from dataclasses import asdict, replace

import pytest
import torch

from sklar.export.architecture_fields import read_architecture, require_tensors
from sklar.export.model_file import NETWORKS
from sklar.export.storage import ModelFileError
from sklar.model.ensemble import EnsembleArchitecture
from sklar.model.honest_model import HonestArchitecture
from sklar.model.selection import Architecture, SelectionModel
from tests.helpers import PEAK, run_python

SMALL = {"n_features": 3, "n_outputs": 2, "choice_hidden": 4, "predict_hidden": 5}


def examples(kind):
    """Architectures of a kind, one with all that a list can hold."""
    if kind is EnsembleArchitecture:
        first = HonestArchitecture(**SMALL, gate_of_input=(0, 1, 1, 2), forced=(1,))
        second = HonestArchitecture(**{**SMALL, "n_features": 2}, gate_of_input=(0, 0, 1))
        yield kind(**SMALL, gate_of_input=(0, 1, 1, 2), members=(first, second), columns=((0, 1, 2), (1, 2)))
        return
    yield kind(**SMALL)
    yield kind(**SMALL, k=2, gate_of_input=(0, 0, 1, 2), forced=(0, 2))
    yield kind(**SMALL, covariance="block", blocks=((0, 2), (1,)))


def words(architecture):
    return json.loads(json.dumps(asdict(architecture)))


@pytest.mark.parametrize("name", NETWORKS)
def test_every_kind_comes_back(name):
    network, kind = NETWORKS[name]
    for architecture in examples(kind):
        again = read_architecture("architecture", kind, words(architecture), 1000)
        assert again == architecture
        state = network(architecture, torch.Generator()).state_dict()
        require_tensors(network, again, {f"network.{key}": value for key, value in state.items()})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_features", 0),
        ("n_features", 2**63),
        ("n_outputs", True),
        ("k", 4),
        ("k", 0),
        ("covariance", "none"),
        ("temperature", 0),
        ("temperature", None),
        ("correlation_strength", -1),
        ("activation", "exec"),
        ("replicas", 2),
        ("gate_of_input", [0, 1]),
        ("gate_of_input", [0, 1, 3]),
        ("forced", [3]),
        ("forced", [1, 1]),
        ("blocks", [[0, 1], [1, 2]]),
        ("blocks", 5),
        ("output_kind", "x"),
        ("min_features", -1),
    ],
)
def test_a_field_that_cannot_be_is_named(field, value):
    given = {**words(Architecture(**SMALL)), field: value}
    with pytest.raises(ModelFileError, match=rf"architecture\.{field}"):
        read_architecture("architecture", Architecture, given, 1000)


def test_fields_are_listed():
    given = words(Architecture(**SMALL))
    with pytest.raises(ModelFileError, match="architecture has a field that this version does not know: 'select'"):
        read_architecture("architecture", Architecture, {**given, "select": 5}, 1000)
    del given["forced"]
    with pytest.raises(ModelFileError, match=r"architecture\.forced is missing"):
        read_architecture("architecture", Architecture, given, 1000)


def test_members_must_fit_their_ensemble():
    given = words(next(examples(EnsembleArchitecture)))
    for change, says in (
        ({"columns": [[0, 1, 2], [0, 2]]}, r"members\[1\]\.gate_of_input does not fit"),
        ({"columns": [[0, 1, 2], [1, 3]]}, r"columns\[1\]\[1\]"),
        ({"columns": [[0, 1, 2]]}, "columns must be a list of 2"),
        ({"n_outputs": 3}, r"members\[0\]\.n_outputs"),
        ({"members": []}, "members must be a list of at least 1"),
    ):
        with pytest.raises(ModelFileError, match=says):
            read_architecture("architecture", EnsembleArchitecture, {**given, **change}, 1000)


def test_tensors_must_be_those_of_the_network():
    architecture = Architecture(**SMALL)
    network = SelectionModel(architecture, torch.Generator())
    state = {f"network.{key}": value for key, value in network.state_dict().items()}
    wrong = {**state, "network.choice.first.bias": torch.zeros(1, 1, 5)}
    with pytest.raises(ModelFileError, match=r"tensor network\.choice\.first\.bias: shape \(1, 1, 5\)"):
        require_tensors(SelectionModel, architecture, wrong)
    with pytest.raises(ModelFileError, match=r"tensor network\.more: shape"):
        require_tensors(SelectionModel, architecture, {**state, "network.more": torch.zeros(1)})
    negative = {**state, "network.predict.first_norm.variance": torch.full((1, 1, 5), -1.0)}
    with pytest.raises(ModelFileError, match="negative variance"):
        require_tensors(SelectionModel, architecture, negative)
    too_large = replace(architecture, choice_hidden=2**62, n_features=2**62)
    with pytest.raises(ModelFileError, match="too large for any file"):
        require_tensors(SelectionModel, too_large, state)


def test_a_large_architecture_is_refused_without_its_memory():
    """A network of 2^40 weights, and a block of 10^5 features squared, in words of some bytes."""
    code = f"""{PEAK}
import torch
from sklar.export.architecture_fields import read_architecture, require_tensors
from sklar.export.storage import ModelFileError
from sklar.model.selection import Architecture, SelectionModel
from dataclasses import asdict
before, refused = peak(), 0
large = Architecture(n_features=2**20, n_outputs=2, choice_hidden=2**20)
try:
    require_tensors(SelectionModel, large, {{}})
except ModelFileError:
    refused += 1
given = asdict(Architecture(n_features=100_000, n_outputs=2, covariance="block"))
given |= {{"blocks": [list(range(100_000))], "gate_of_input": [], "forced": []}}
try:
    read_architecture("architecture", Architecture, given, 1000)
except ModelFileError:
    refused += 1
print(refused, peak() - before)
"""
    refused, more = run_python(code).split()
    assert refused == "2"
    assert float(more) < 100


def test_shapes_are_known_without_torchs_compiler():
    """Loading it takes longer than all else of loading a model."""
    code = """
import sys, torch
from sklar.export.architecture_fields import require_tensors
from sklar.model.honest_model import HonestArchitecture, HonestModel
architecture = HonestArchitecture(n_features=3, n_outputs=2, forced=(1,))
state = HonestModel(architecture, torch.Generator()).state_dict()
require_tensors(HonestModel, architecture, {f"network.{key}": value for key, value in state.items()})
print("sympy" in sys.modules)
"""
    assert run_python(code).strip() == "False"
