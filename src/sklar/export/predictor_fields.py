"""A predictor of the user's in a model file: boosted trees as plain arrays, and as a file describes them, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sklar.export.fields import entries, indices, record, refused, text, truth
from sklar.export.storage import ModelFileError
from sklar.model.gates import Gates
from sklar.predictor.answers import UserPredictor
from sklar.predictor.conversion import TreeModel
from sklar.predictor.inputs import ShownInputs
from sklar.predictor.trees import NAMES, Trees
from sklar.target import Target

PREFIX = "predictor."
LINKS = {"classes": ("logit",), "labels": ("logit",), "values": ("identity", "log"), "counts": ("identity", "log")}


def require_saveable(predictor: UserPredictor | None) -> None:
    """Raise where a predictor is no trees that a file can hold."""
    if predictor is not None and not predictor.is_plain:
        raise ValueError(
            f"a model file runs no code, and cannot hold this {predictor.name}: it holds boosted trees that split by "
            "thresholds (HistGradientBoosting, LightGBM, XGBoost). Fit with one of these, or keep the estimator with "
            "joblib.dump, and load that only from people you trust"
        )


def predictor_tensors(predictor: UserPredictor | None) -> dict[str, torch.Tensor]:
    """What a file holds of it as tensors."""
    if predictor is None:
        return {}
    arrays = {
        f"{i}.{name}": value for i, one in enumerate(predictor.models) for name, value in one.trees.arrays().items()
    }
    arrays["weight"] = predictor.inputs.weight
    return {f"{PREFIX}{name}": torch.from_numpy(np.ascontiguousarray(value)) for name, value in arrays.items()}


def plain_predictor(predictor: UserPredictor | None) -> dict[str, Any] | None:
    """What a file says of it."""
    if predictor is None:
        return None
    links = [model.link for model in predictor.models]
    starts, both = predictor.inputs.starts.tolist(), predictor.with_networks
    return {"name": predictor.name, "links": links, "starts": starts, "with_networks": both}


def read_predictor(
    given: Any, tensors: dict[str, torch.Tensor], gates: Gates, target: Target, n_outputs: int
) -> UserPredictor | None:
    """The predictor that a file describes; None where networks predict."""
    arrays = {name.removeprefix(PREFIX): value.numpy() for name, value in tensors.items() if name.startswith(PREFIX)}
    if given is None:
        if arrays:
            raise ModelFileError(f"tensor {PREFIX}{min(arrays)} belongs to a predictor, and the file has none")
        return None
    record("predictor", given, ("name", "links", "starts", "with_networks"))
    if target.kind not in LINKS:
        raise refused("predictor", f"null where the target's kind is {target.kind!r}", given)
    n_models = 1 if target.kind == "classes" else n_outputs
    links = [
        text("predictor.links", link, LINKS[target.kind])
        for link in entries("predictor.links", given["links"], n_models)
    ]
    expected = {"weight", *(f"{i}.{name}" for i in range(n_models) for name in NAMES)}
    if wrong := expected ^ arrays.keys():
        raise ModelFileError(f"tensor {PREFIX}{min(wrong)} is {'missing' if min(wrong) in expected else 'unknown'}")
    for name, value in arrays.items():
        if value.dtype != np.float64 or value.ndim != 1:
            raise ModelFileError(f"tensor {PREFIX}{name} must be a list of float64")
    inputs = _inputs(given["starts"], arrays["weight"], gates)
    width = n_outputs if target.kind == "classes" and n_outputs > 2 else 1
    models = [TreeModel(_trees(arrays, i, inputs.n_columns, width), link) for i, link in enumerate(links)]
    name, both = text("predictor.name", given["name"]), truth("predictor.with_networks", given["with_networks"])
    return UserPredictor(inputs, target.kind, tuple(models), name, both)


def _inputs(given: Any, weight: np.ndarray, gates: Gates) -> ShownInputs:
    """The columns that trees read: each begins where a gate does, or inside one."""
    starts = np.array(indices("predictor.starts", given, gates.n_inputs), dtype=np.intp)
    of_input = np.arange(gates.n) if gates.of_input is None else gates.of_input.numpy()
    first = np.flatnonzero(np.diff(of_input, prepend=-1))
    if (np.diff(starts) <= 0).any() or not np.isin(first, starts).all():
        raise refused("predictor.starts", "ascending, with the first input of every gate", given)
    if len(weight) != gates.n_inputs or (np.abs(weight) > np.finfo(np.float32).max).any():
        raise ModelFileError(f"tensor {PREFIX}weight must hold a float32 for each of the {gates.n_inputs} inputs")
    return ShownInputs(weight, starts, of_input[starts])


def _trees(arrays: dict[str, np.ndarray], number: int, n_columns: int, width: int) -> Trees:
    try:
        trees = Trees.from_arrays({name: arrays[f"{number}.{name}"] for name in NAMES}, n_columns)
    except ValueError as error:
        raise ModelFileError(f"tensor {PREFIX}{number}.{error}") from error
    if len(trees.baseline) != width:
        raise ModelFileError(f"tensor {PREFIX}{number}.baseline must have {width} entries")
    return trees
