"""The architecture of a network as a file describes it, checked before anything of its size is made."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any, get_type_hints

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from sklar.export.fields import entries, indices, number, record, refused, steps, text, truth, whole
from sklar.export.storage import ModelFileError
from sklar.model.ensemble import EnsembleArchitecture
from sklar.model.honest_model import HonestArchitecture
from sklar.model.networks import ACTIVATIONS
from sklar.model.selection import COVARIANCES, Architecture
from sklar.target import KINDS

# A number of this size fits every table; in larger files it may be as large as the file's tensors.
USUAL_SIZE = 2**20
OPTIONS = {
    "covariance": COVARIANCES,
    "activation": tuple(ACTIVATIONS),
    "loadings_activation": tuple(ACTIVATIONS),
    "loadings_precision": ("float32", "bfloat16"),
    "output_kind": ("", *KINDS),
}
FROM_ZERO = ("n_factors", "min_features", "row_hidden", "order_k", "n_bins")  # other whole numbers begin at 1
RANGES = {"temperature": {"above": 0.0}, "step_exponent": {"least": 0.0}, "correlation_strength": {"least": 0.0}}


def read_architecture(where: str, kind: type[Any], given: Any, n_entries: int) -> Any:
    """An architecture of this kind; `n_entries` is what the file's tensors hold together."""
    names = [field.name for field in fields(kind)]
    record(where, given, names)
    hints, most = get_type_hints(kind), max(USUAL_SIZE, n_entries)
    plain = {
        name: _value(f"{where}.{name}", name, hints[name], given[name], most)
        for name in names
        if hints[name] in (int, float, bool, str, int | None)
    }
    d = plain["n_features"]
    if plain["k"] is not None:
        whole(f"{where}.k", plain["k"], 1, d)
    whole(f"{where}.replicas", plain["replicas"], 1, 1)
    of_input = _gates(f"{where}.gate_of_input", given["gate_of_input"], d)
    listed: dict[str, Any] = {
        "gate_of_input": of_input,
        "forced": indices(f"{where}.forced", given["forced"], d),
        "blocks": _blocks(f"{where}.blocks", given["blocks"], d, plain["covariance"], most),
    }
    if "cut" in names:
        listed["cut"] = indices(f"{where}.cut", given["cut"], len(of_input) or d)
        if bool(plain["n_bins"]) != bool(listed["cut"]):
            raise refused(f"{where}.cut", "the inputs that n_bins pieces are of", given["cut"])
    if plain["k"] is not None and len(listed["forced"]) > plain["k"]:
        raise refused(f"{where}.forced", f"at most {plain['k']} features", listed["forced"])
    if kind is EnsembleArchitecture:
        listed |= _members(where, given, plain, of_input, n_entries)
    if missing := set(names) - plain.keys() - listed.keys():
        raise ModelFileError(f"{where}.{min(missing)} cannot be read by this version")
    return kind(**plain, **listed)


def require_tensors(
    network: type[nn.Module], architecture: Any, tensors: dict[str, torch.Tensor], which: str = "network"
) -> None:
    """Raise unless tensors are those of the network, and finite; on torch's meta device a network has shapes alone."""
    try:
        with torch.device("meta"), _NoDraws():
            state = network(architecture).state_dict()
    except (RuntimeError, OverflowError) as error:  # sizes whose product no machine can count
        raise ModelFileError(f"architecture describes a network too large for any file ({error})") from error
    expected = {f"{which}.{name}": tuple(value.shape) for name, value in state.items()}
    got = {name: tuple(value.shape) for name, value in tensors.items()}
    for name in sorted(expected.keys() | got.keys()):
        if expected.get(name) != got.get(name):
            raise ModelFileError(
                f"tensor {name}: shape {got.get(name, 'none')}, where architecture has {expected.get(name, 'none')}"
            )
        if name.endswith(".variance") and not (tensors[name] >= 0).all():
            raise ModelFileError(f"tensor {name} holds a negative variance")


class _NoDraws(TorchFunctionMode):
    """Inside, first weights are not drawn; to draw them on the meta device, torch would load its compiler."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return args[0] if func in (torch.Tensor.normal_, torch.Tensor.uniform_) else func(*args, **(kwargs or {}))


def _value(where: str, name: str, hint: Any, value: Any, most: int) -> Any:
    if hint is bool:
        return truth(where, value)
    if hint is str:
        return text(where, value, OPTIONS[name])
    if hint is float:
        return float(number(where, value, **RANGES[name]))
    return None if value is None and hint is not int else whole(where, value, 0 if name in FROM_ZERO else 1, most)


def _gates(where: str, given: Any, d: int) -> tuple[int, ...]:
    return steps(where, given, d) if entries(where, given) else ()


def _blocks(where: str, given: Any, d: int, covariance: str, most: int) -> tuple[tuple[int, ...], ...]:
    blocks = tuple(indices(f"{where}[{i}]", block, d) for i, block in enumerate(entries(where, given)))
    members = [column for block in blocks for column in block]
    if len(set(members)) < len(members) or (covariance == "block" and blocks and len(members) < d):
        raise ModelFileError(f"{where} must hold every feature once")
    if sum(len(block) ** 2 for block in blocks) > most:
        raise ModelFileError(f"{where} has more entries than the file's tensors")
    return blocks


def _members(
    where: str, given: dict[str, Any], own: dict[str, Any], of_input: tuple[int, ...], n_entries: int
) -> dict[str, Any]:
    """The members of an ensemble, and the features that each reads."""
    kind: type[Architecture] = HonestArchitecture if own["honest"] else Architecture
    listed = entries(f"{where}.members", given["members"], least=1)
    columns = entries(f"{where}.columns", given["columns"], len(listed))
    members = [read_architecture(f"{where}.members[{i}]", kind, one, n_entries) for i, one in enumerate(listed)]
    for i, member in enumerate(members):
        for name in ("n_outputs", "output_kind", "k", "choice_hidden", "predict_hidden"):
            if getattr(member, name) != own[name]:
                raise refused(f"{where}.members[{i}].{name}", f"{own[name]!r}, as that of the others", member)
    read = tuple(
        indices(f"{where}.columns[{i}]", one, own["n_features"], members[i].n_features) for i, one in enumerate(columns)
    )
    widths = Counter(of_input or range(own["n_features"]))
    for i, (member, gates) in enumerate(zip(members, read, strict=True)):
        if Counter(member.gate_of_input or range(member.n_features)) != {j: widths[g] for j, g in enumerate(gates)}:
            raise ModelFileError(f"{where}.members[{i}].gate_of_input does not fit {where}.gate_of_input")
    return {"members": tuple(members), "columns": read}
