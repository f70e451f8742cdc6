"""A fitted model as tensors and plain metadata, and back. No class is looked up but those listed here."""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import torch

import sklar
from sklar.export.storage import ModelFileError, read_model, write_model
from sklar.fitted import FittedModel
from sklar.model.acquisition_model import AcquisitionArchitecture, AcquisitionModel
from sklar.model.ensemble import EnsembleArchitecture, EnsembleModel
from sklar.model.gates import Gates
from sklar.model.honest_model import HonestArchitecture, HonestModel
from sklar.model.selection import Architecture, GateModel, SelectionModel
from sklar.table.encoding import Encoding
from sklar.table.gating import Gating
from sklar.table.scaling import Scaling
from sklar.table.schema import Schema
from sklar.target import Target

NETWORKS: dict[str, tuple[type[Any], type[Any]]] = {
    "joint": (SelectionModel, Architecture),
    "honest": (HonestModel, HonestArchitecture),
    "acquisition": (AcquisitionModel, AcquisitionArchitecture),
    "ensemble": (EnsembleModel, EnsembleArchitecture),
}


class Saved(NamedTuple):
    """What a file holds."""

    fitted: FittedModel
    parameters: dict[str, Any]  # of the estimator that `fitted.name` names


def write_fitted(path: str | PathLike[str], fitted: FittedModel, parameters: dict[str, Any]) -> None:
    """Write a fitted model and the parameters of its estimator."""
    network, schema, target = fitted.network, fitted.schema, fitted.target
    networks = {"network": network} | ({} if fitted.priced is None else {"priced": fitted.priced})
    tensors = {
        f"{name}.{key}": value.float() for name, one in networks.items() for key, value in one.state_dict().items()
    }
    tensors["scaling.centre"] = torch.from_numpy(schema.encoding.scaling.centre)
    tensors["scaling.spread"] = torch.from_numpy(schema.encoding.scaling.spread)
    metadata = {
        "library_version": sklar.__version__,
        "class": fitted.name,
        "parameters": {key: _plain(value) for key, value in parameters.items()},
        "objective": fitted.objective,
        "network": next(name for name, (cls, _) in NETWORKS.items() if isinstance(network, cls)),
        "architectures": {
            name: {key: _plain(value) for key, value in asdict(one.architecture).items()}
            for name, one in networks.items()
        },
        "schema": {
            "names": list(schema.names),
            "labels": schema.labels,
            "encoding": None if schema.encoding.is_plain else schema.encoding.to_dict(),
            "columns": schema.columns.tolist(),
            "gates": schema.gates.tolist(),
        },
        "target": {
            "kind": target.kind,
            "classes": None if target.classes is None else _array(target.classes),
            "centre": target.centre,
            "spread": target.spread,
            "names": list(target.names),
        },
        "missing_cells": list(fitted.missing_cells),
        "training": {"penalty": fitted.penalty, "path": fitted.path, "history": fitted.history},
    }
    write_model(path, tensors, metadata)


def read_fitted(path: str | PathLike[str]) -> Saved:
    """Read what `write_fitted` wrote; a file that does not describe a model is a ModelFileError."""
    tensors, metadata = read_model(path)
    try:
        return Saved(_rebuilt(tensors, metadata), dict(metadata["parameters"]))
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, IndexError) as error:
        raise ModelFileError(f"{path}: its metadata does not describe a model ({error})") from error


def _rebuilt(tensors: dict[str, torch.Tensor], metadata: dict[str, Any]) -> FittedModel:
    training, device = metadata["training"], metadata["parameters"]["device"]
    return FittedModel(
        objective=metadata["objective"],
        schema=_schema(tensors, metadata),
        network=_network(tensors, metadata, "network"),
        target=_target(metadata["target"]),
        penalty=training["penalty"],
        path=training["path"],
        history=training["history"],
        device=device,
        priced=_network(tensors, metadata, "priced") if "priced" in metadata["architectures"] else None,
        missing_cells=tuple(metadata["missing_cells"]),
    )


def _network(tensors: dict[str, torch.Tensor], metadata: dict[str, Any], which: str) -> GateModel:
    """The `network` that answers, or the `priced` one that does at other penalties."""
    given = dict(metadata["architectures"][which])
    given["blocks"] = tuple(tuple(block) for block in given["blocks"])
    given.update({name: tuple(given[name]) for name in ("gate_of_input", "forced") if name in given})
    network_class, architecture_class = NETWORKS[metadata["network"]]
    network = network_class(architecture_class(**given), torch.Generator())  # no draw from the global generator
    prefix = f"{which}."
    network.load_state_dict({key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)})
    return network.double().eval()


def _schema(tensors: dict[str, torch.Tensor], metadata: dict[str, Any]) -> Schema:
    kept = metadata["schema"]
    scaling = Scaling(tensors["scaling.centre"].numpy(), tensors["scaling.spread"].numpy())
    columns, gates = (np.array(kept[name], dtype=np.intp) for name in ("columns", "gates"))
    encoding = Encoding.from_dict(scaling, kept["encoding"])
    of_input = np.repeat(gates, encoding.widths()[columns]).tolist()
    gating = Gating(columns, gates, Gates.of(int(gates[-1]) + 1, of_input))
    return Schema(metadata["class"], tuple(kept["names"]), kept["labels"], encoding, gating)


def _target(kept: dict[str, Any]) -> Target:
    classes = kept["classes"]
    if classes is not None:
        classes = np.array(classes["values"], dtype=np.dtype(classes["dtype"]))
    return Target(kept["kind"], classes, kept["centre"], kept["spread"], tuple(kept["names"]))


def _array(values: np.ndarray) -> dict[str, Any]:
    return {"dtype": values.dtype.str, "values": values.tolist()}


def _plain(value: Any) -> Any:
    """What JSON can hold; a random generator has no place in a file and becomes None."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if isinstance(value, np.random.RandomState) else value
