"""From a table that was read to what training takes: tensors on the device, of the columns worth training on."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sklar.table.constant import constant_columns
from sklar.table.copies import exact_copies
from sklar.table.recoding import learn_recodings
from sklar.table.schema import Schema
from sklar.target import EncodedTarget
from sklar.training.data import TrainingData
from sklar.training.engine.checkpoint import Checkpoint, checkpointing
from sklar.training.honest.prescreen import strongest_features
from sklar.training.honest.settings import WIDEST
from sklar.training.identity import identity
from sklar.training.replacement import Replacement
from sklar.training.tasks import Task


class Prepared(NamedTuple):
    """What a table gives to training."""

    schema: Schema
    data: TrainingData
    copies: list[list[int]]  # columns that say exactly the same, of which the first is read and the others are not


def prepare(
    schema: Schema, rows: Any, encoded: EncodedTarget, k: int | None, device: torch.device, screen: bool, least: int = 0
) -> Prepared:
    """The rows of a table on the device; with `screen`, of a very wide one the features that look strongest alone.

    With `screen` columns of one value, and exact copies of a column, are left out too, if enough are left for k, or the
    `least` that a row gets.
    """
    y = torch.from_numpy(encoded.numbers).to(device)
    weight = None if encoded.weight is None else torch.from_numpy(encoded.weight.astype(np.float32)).to(device)
    copies: list[list[int]] = []
    if screen:
        schema = without_constants(schema, rows, max(1, least, k or 0))
        schema, copies = without_copies(schema, rows, max(least, k or 0))
        schema = _screened(schema, rows, encoded, k, y, weight)
    x = torch.from_numpy(schema.training_inputs(rows)).to(device)
    return Prepared(schema, TrainingData(x, y, weight, schema.gating.gates), copies)


def without_constants(schema: Schema, rows: Any, least: int) -> Schema:
    """The schema without gates all of whose columns have one value, unless forced; all stay where too few were left."""
    gates, constant = schema.gating.gates, constant_columns(rows, schema.columns.tolist())
    varies = np.bincount(schema.gates, ~np.isin(schema.columns, constant), minlength=gates.n) > 0
    kept = np.flatnonzero(varies if gates.forced is None else varies | gates.forced.cpu().numpy())
    return schema.only(kept) if least <= len(kept) < gates.n else schema


def without_copies(schema: Schema, rows: Any, least: int) -> tuple[Schema, list[list[int]]]:
    """The schema without columns that say exactly what another says, and the groups of them, the one read first.

    The others of a group are those not forced, and the dearer ones. Columns that share a gate with others stay; and all
    stay where fewer than `least` gates would be left.
    """
    gates = schema.gating.gates
    alone = schema.columns[np.bincount(schema.gates)[schema.gates] == 1]
    gate_of = dict(zip(schema.columns.tolist(), schema.gates.tolist(), strict=True))

    def order(column: int) -> tuple[bool, float, int]:
        gate = gate_of[column]
        is_forced = gates.forced is not None and bool(gates.forced[gate])
        return not is_forced, 1.0 if gates.cost is None else float(gates.cost[gate]), column

    found = [sorted(group, key=order) for group in exact_copies(rows, alone.tolist())]
    groups = [[group[0], *(column for column in group[1:] if order(column)[0])] for group in found]
    left_out = {gate_of[column] for group in groups for column in group[1:]}
    if not left_out or gates.n - len(left_out) < least:
        return schema, []
    kept = np.array([gate for gate in range(gates.n) if gate not in left_out])
    groups = [group for group in groups if len(group) > 1]
    recodings = learn_recodings(rows, groups, schema.encoding.categories)
    return replace(schema.only(kept), recodings=recodings), groups


def named(schema: Schema, replacements: Iterable[Replacement]) -> tuple[Replacement, ...]:
    """Replacements of gates, numbered as in `prepare`'s schema, by the names of their first columns."""
    names = [schema.names[column] for column in schema.first_columns]
    return tuple(one._replace(feature=names[one.feature], by=names[one.by]) for one in replacements)


def copies_read(schema: Schema, union: list[int], copies: list[list[int]]) -> tuple[tuple[str, ...], ...]:
    """The names of copies of the columns that a model reads, which has the gates `union` of `prepare`'s schema."""
    read = set(schema.only(union).columns.tolist())
    return tuple(tuple(schema.names[column] for column in group) for group in copies if group[0] in read)


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
