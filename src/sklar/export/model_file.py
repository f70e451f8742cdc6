"""A fitted model as tensors and plain metadata, and back. No class is looked up but those listed here."""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from typing import Any, NamedTuple

import torch

import sklar
from sklar.export.architecture_fields import read_architecture, require_tensors
from sklar.export.fields import entries, record, refused, text, whole
from sklar.export.link_fields import read_copies, read_replacements
from sklar.export.plain import plain_labels, plain_parameters, plain_values
from sklar.export.predictor_fields import (
    PREFIX,
    plain_predictor,
    predictor_tensors,
    read_predictor,
    require_saveable,
)
from sklar.export.schema_fields import read_schema, read_target, read_training
from sklar.export.storage import ModelFileError, read_model, write_model
from sklar.fitted import FittedModel
from sklar.model.acquisition_model import AcquisitionArchitecture, AcquisitionModel
from sklar.model.ensemble import EnsembleArchitecture, EnsembleModel
from sklar.model.honest_model import HonestArchitecture, HonestModel
from sklar.model.selection import Architecture, GateModel, SelectionModel
from sklar.table.schema import Schema

NETWORKS: dict[str, tuple[type[Any], type[Any]]] = {
    "joint": (SelectionModel, Architecture),
    "honest": (HonestModel, HonestArchitecture),
    "acquisition": (AcquisitionModel, AcquisitionArchitecture),
    "ensemble": (EnsembleModel, EnsembleArchitecture),
}


FIELDS = (
    "format_version",
    "library_version",
    "class",
    "parameters",
    "objective",
    "network",
    "architecture",
    "priced",
    "schema",
    "target",
    "predictor",
    "missing_cells",
    "decimal",
    "copies",
    "replacements",
    "training",
)


class Saved(NamedTuple):
    """What a file holds."""

    fitted: FittedModel
    parameters: dict[str, Any]  # of the estimator that `fitted.name` names


def write_fitted(path: str | PathLike[str], fitted: FittedModel, parameters: dict[str, Any]) -> None:
    """Write a fitted model and the parameters of its estimator."""
    require_saveable(fitted.predictor)
    network, schema, target = fitted.network, fitted.schema, fitted.target
    networks = {"network": network} | ({} if fitted.priced is None else {"priced": fitted.priced})
    tensors = {
        f"{name}.{key}": value.float() for name, one in networks.items() for key, value in one.state_dict().items()
    }
    tensors["scaling.centre"] = torch.from_numpy(schema.encoding.scaling.centre)
    tensors["scaling.spread"] = torch.from_numpy(schema.encoding.scaling.spread)
    tensors |= predictor_tensors(fitted.predictor)
    metadata = {
        "library_version": sklar.__version__,
        "class": fitted.name,
        "parameters": plain_parameters(parameters),
        "objective": fitted.objective,
        "network": next(name for name, (cls, _) in NETWORKS.items() if isinstance(network, cls)),
        "architecture": plain_parameters(asdict(network.architecture)),
        "priced": None if fitted.priced is None else plain_parameters(asdict(fitted.priced.architecture)),
        "schema": {
            "names": list(schema.names),
            "labels": schema.labels,
            "encoding": None if schema.encoding.is_plain else schema.encoding.to_dict(),
            "columns": schema.columns.tolist(),
            "gates": schema.gates.tolist(),
            "recodings": [one._asdict() for one in schema.recodings_read],
        },
        "target": {
            "kind": target.kind,
            "classes": None if target.classes is None else plain_labels(target.classes),
            "centre": target.centre,
            "spread": target.spread,
            "names": list(target.names),
        },
        "predictor": plain_predictor(fitted.predictor),
        "missing_cells": list(fitted.missing_cells),
        "decimal": fitted.decimal,
        "copies": [list(group) for group in fitted.copies],
        "replacements": [one._asdict() for one in fitted.replacements],
        "training": {
            "penalty": fitted.penalty,
            "path": fitted.path,
            "history": list(map(plain_values, fitted.history)),
        },
    }
    write_model(path, tensors, metadata)


def read_fitted(path: str | PathLike[str]) -> Saved:
    """Read what `write_fitted` wrote; a file that does not describe a model is a ModelFileError that names the field.

    What a file says is checked against its own tensors before anything of that size is made, so that memory and time
    are in proportion to the file.
    """
    tensors, metadata = read_model(path)
    try:
        return _rebuilt(tensors, metadata)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


def _rebuilt(tensors: dict[str, torch.Tensor], metadata: dict[str, Any]) -> Saved:
    record("metadata", metadata, FIELDS)
    parameters, training = metadata["parameters"], read_training(metadata["training"])
    if not isinstance(parameters, dict):
        raise refused("parameters", "an object", parameters)
    kind = text("network", metadata["network"], NETWORKS)
    network_class, architecture_class = NETWORKS[kind]
    size = sum(value.numel() for value in tensors.values())
    architecture = read_architecture("architecture", architecture_class, metadata["architecture"], size)
    if kind == "acquisition":
        whole("architecture.k", architecture.k, 1)
    schema = read_schema(text("class", metadata["class"]), metadata["schema"], tensors)
    _require_gates(schema, architecture)
    priced = None
    if metadata["priced"] is not None:
        of_prices = read_architecture("priced", architecture_class, metadata["priced"], size)
        _require_gates(schema, of_prices)
        priced = _network(tensors, network_class, of_prices, "priced")
    target = read_target(metadata["target"], architecture.n_outputs, architecture.output_kind)
    gates = schema.gating.gates
    fitted = FittedModel(
        objective=_objective(metadata["objective"], kind, architecture),
        schema=schema,
        network=_network(tensors, network_class, architecture),
        target=target,
        penalty=training["penalty"],
        path=training["path"],
        history=training["history"],
        device=text("parameters.device", parameters.get("device")),
        missing_cells=tuple(
            text("missing_cells", cell) for cell in entries("missing_cells", metadata["missing_cells"])
        ),
        decimal=None if metadata["decimal"] is None else text("decimal", metadata["decimal"], (".", ",")),
        priced=priced,
        replacements=read_replacements(metadata["replacements"], schema.names),
        copies=read_copies(metadata["copies"], schema.names),
        predictor=read_predictor(metadata["predictor"], tensors, gates, target, architecture.n_outputs),
    )
    return Saved(fitted, parameters)


def _network(
    tensors: dict[str, torch.Tensor], network_class: type[Any], architecture: Any, which: str = "network"
) -> GateModel:
    """The network that answers, or the `priced` one, with the file's weights checked against it."""
    other = ("scaling.", PREFIX, "network." if which == "priced" else "priced.")
    state = {name: value for name, value in tensors.items() if not name.startswith(other)}
    require_tensors(network_class, architecture, state, which)
    network = network_class(architecture, torch.Generator())  # no draw from the global generator
    network.load_state_dict({name.removeprefix(f"{which}."): value for name, value in state.items()})
    return network.double().eval()


def _require_gates(schema: Schema, architecture: Any) -> None:
    """Raise unless the network has the gates of the table's schema."""
    gates = schema.gating.gates
    of_input = () if gates.of_input is None else tuple(gates.of_input.tolist())
    if architecture.n_features != gates.n or architecture.gate_of_input != of_input:
        raise ModelFileError("architecture.n_features and gate_of_input do not fit schema.gates and its encoding")


def _objective(given: Any, network: str, architecture: Any) -> str:
    is_joint = network == "joint" or not getattr(architecture, "honest", True)
    return text("objective", given, ("joint" if is_joint else "honest",))
