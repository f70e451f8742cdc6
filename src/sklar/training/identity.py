"""What makes a fit this fit and no other: where any of it differs, a checkpoint is another fit's."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

import sklar
from sklar.training.data import TrainingData
from sklar.training.tasks import Task

SILENT = ("verbose", "device", "random_state")  # parameters that say nothing, or are said otherwise below
IN_DATA = ("groups", "forced", "forbidden", "costs", "class_weight")  # parameters that the data's digest knows


def identity(name: str, params: dict[str, Any], data: TrainingData, task: Task, seed: int) -> dict[str, str]:
    """Names and values, as text, of all that decides what the estimator `name` becomes; of data a digest."""
    gates = data.gates
    given = {key: str(value) for key, value in params.items() if key not in (*SILENT, *IN_DATA)}
    return {
        **given,
        "estimator": name,
        "random_state": _random_state(params["random_state"], seed),
        "device": data.x.device.type,
        "sklar": sklar.__version__,
        "torch": torch.__version__,
        "X": _digest(data.x),
        "y": _digest(data.y, *(getattr(task, field.name) for field in fields(task)), type(task).__name__),
        "sample_weight or class_weight": _digest(data.weight),
        "groups, forced, forbidden or costs": _digest(gates.n, gates.of_input, gates.forced, gates.cost),
    }


def _random_state(given: Any, seed: int) -> str:
    """A number as it is; of a generator what it gave; None is any."""
    return str(given) if given is None or isinstance(given, Integral) else f"a generator that gives {seed}"


def _digest(*values: Any) -> str:
    digest = hashlib.sha256()
    for value in values:
        if isinstance(value, Tensor):
            digest.update(f"{value.dtype} {tuple(value.shape)}".encode())
            digest.update(value.cpu().contiguous().numpy().data)
        else:
            digest.update(str(value).encode())
    return f"sha256:{digest.hexdigest()}"
