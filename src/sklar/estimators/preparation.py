"""From a table that was read to what training takes: tensors on the device, of the columns worth training on."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sklar.table.schema import Schema
from sklar.target import EncodedTarget
from sklar.training.data import TrainingData
from sklar.training.engine.checkpoint import Checkpoint, checkpointing
from sklar.training.honest.prescreen import strongest_features
from sklar.training.honest.settings import WIDEST
from sklar.training.identity import identity
from sklar.training.tasks import Task


def prepare(
    schema: Schema, rows: Any, encoded: EncodedTarget, k: int | None, device: torch.device, screen: bool
) -> tuple[Schema, TrainingData]:
    """The rows of a table on the device; with `screen`, of a very wide one the features that look strongest alone."""
    y = torch.from_numpy(encoded.numbers).to(device)
    weight = None if encoded.weight is None else torch.from_numpy(encoded.weight.astype(np.float32)).to(device)
    if screen:
        schema = _screened(schema, rows, encoded, k, y, weight)
    x = torch.from_numpy(schema.training_inputs(rows)).to(device)
    return schema, TrainingData(x, y, weight, schema.gating.gates)


def checkpoint_of(
    folder: str | PathLike[str] | None, name: str, params: dict[str, Any], data: TrainingData, task: Task, seed: int
) -> AbstractContextManager[Checkpoint | None]:
    """The checkpoint of this fit in a folder; None without one."""
    if folder is None:
        return nullcontext()
    return checkpointing(folder, identity(name, params, data, task, seed), seed)


def require_finite_weights(model: nn.Module) -> None:
    """Raise where training has diverged."""
    if not all(bool(torch.isfinite(weight).all()) for weight in model.parameters()):
        raise ValueError("training diverged: a weight is not finite; lower learning_rate, or rescale the target")


def _screened(
    schema: Schema, rows: Any, encoded: EncodedTarget, k: int | None, y: Tensor, weight: Tensor | None
) -> Schema:
    """All features; of a very wide table the forced ones, and those that a look at each alone finds strongest."""
    gates = schema.gating.gates
    n_forced = 0 if gates.forced is None else int(gates.forced.sum())
    most = max(WIDEST, 2 * (k or 0), n_forced)
    if gates.n <= most:
        return schema
    read = schema.column_inputs(rows)

    def block(part: slice) -> Tensor:
        return torch.from_numpy(read(part)).to(y.device)

    task, gates = encoded.task.to(y.device), gates.to(y.device)
    return schema.only(strongest_features(block, len(schema.columns), y, task, most, gates, weight))
