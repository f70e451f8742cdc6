"""A table's schema, a target and what training left, as a file describes them, checked."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import torch

from sklar.export.fields import entries, indices, number, record, refused, steps, text, truth, whole
from sklar.export.link_fields import read_recodings
from sklar.export.storage import ModelFileError
from sklar.model.gates import Gates
from sklar.table.encoding import MOST_CATEGORIES, Encoding
from sklar.table.gating import Gating
from sklar.table.scaling import Scaling
from sklar.table.schema import Schema
from sklar.target import KINDS, Target

LABELS = ("text", "other", "position")
PATH_COLUMNS = ("penalty", "mean_features", "loss", "error")
# What a path may be a table of: with scores, of penalties alone where no row was held out, or of a ranker's counts.
PATHS = (PATH_COLUMNS, (*PATH_COLUMNS, "score", "score_error"), ("penalty",), ("k", "loss", "prefix_loss"))
# Types of class labels: truth values, whole numbers, floats, text, objects that are text, and dates and
# times as whole numbers.
LABEL_TYPES = re.compile(r"\|b1|\|O|[|<][iu][1248]|<f[248]|<U\d+|<[mM]8\[\w+\]")


def read_schema(owner: str, given: Any, tensors: dict[str, torch.Tensor]) -> Schema:
    """The columns of a table, and the gates that open them."""
    record("schema", given, ("names", "labels", "encoding", "columns", "gates", "recodings"))
    names = [
        text(f"schema.names[{i}]", name) for i, name in enumerate(entries("schema.names", given["names"], None, 1))
    ]
    d = len(names)
    if len(set(names)) < d:
        raise ModelFileError("schema.names holds a name twice")
    encoding = _encoding(_scaling(tensors, d), given["encoding"], d)
    columns = np.array(indices("schema.columns", given["columns"], d), dtype=np.intp)
    last = entries("schema.gates", given["gates"], len(columns), 1)[-1]
    n_gates = whole("schema.gates", last, 0, len(columns) - 1) + 1
    gates = np.array(steps("schema.gates", given["gates"], n_gates), dtype=np.intp)
    of_input = np.repeat(gates, encoding.widths()[columns]).tolist()
    gating = Gating(columns, gates, Gates.of(n_gates, of_input))
    recodings = read_recodings(given["recodings"], encoding.categories, set(columns.tolist()))
    return Schema(owner, tuple(names), text("schema.labels", given["labels"], LABELS), encoding, gating, recodings)


def _scaling(tensors: dict[str, torch.Tensor], d: int) -> Scaling:
    found = []
    for name in ("scaling.centre", "scaling.spread"):
        if name not in tensors or tensors[name].dtype != torch.float64 or tuple(tensors[name].shape) != (d,):
            raise ModelFileError(f"tensor {name} must hold one float64 for each of the {d} columns")
        found.append(tensors[name].numpy())
    if not (found[1] > 0).all():
        raise ModelFileError("tensor scaling.spread must be above 0")
    return Scaling(*found)


def _encoding(scaling: Scaling, given: Any, d: int) -> Encoding:
    if given is not None:
        record("schema.encoding", given, ("missing", "others", "categories", "dates", "with_cycles"))
        truth("schema.encoding.with_cycles", given["with_cycles"])
        for name in ("missing", "dates"):
            for i, value in enumerate(entries(f"schema.encoding.{name}", given[name], d)):
                truth(f"schema.encoding.{name}[{i}]", value)
        for i, value in enumerate(entries("schema.encoding.others", given["others"], d)):
            number(f"schema.encoding.others[{i}]", value, least=0, most=1)
        for i, kept in enumerate(entries("schema.encoding.categories", given["categories"], d)):
            _categories(f"schema.encoding.categories[{i}]", kept, pooled=given["others"][i] > 0)
    return Encoding.from_dict(scaling, given)


def _categories(where: str, kept: Any, pooled: bool) -> None:
    if kept is None and not pooled:
        return
    is_text = {isinstance(value, str) for value in entries(where, kept, least=1 if pooled else 0)}
    if len(is_text) > 1:
        raise refused(where, "all text, or all numbers", kept)
    for value in () if is_text == {True} else kept:
        truth(where, value) if isinstance(value, bool) else number(where, value)
    if len(kept) > MOST_CATEGORIES or len(set(kept)) < len(kept):
        raise refused(where, f"at most {MOST_CATEGORIES} different categories", kept)


def read_target(given: Any, n_outputs: int, output_kind: str) -> Target:
    """What outputs mean."""
    record("target", given, ("kind", "classes", "centre", "spread", "names"))
    kind = text("target.kind", given["kind"], KINDS if not output_kind else (output_kind,))
    if kind not in ("classes", "labels") and given["classes"] is not None:
        raise refused("target.classes", f"null where the target's kind is {kind!r}", given["classes"])
    classes = _classes(given["classes"], kind, n_outputs) if kind in ("classes", "labels") else None
    if kind in ("counts", "risk"):
        whole("architecture.n_outputs", n_outputs, 1, 1)
    several = kind == "values" and n_outputs > 1
    for name, above in (("centre", -math.inf), ("spread", 0.0)):
        values = entries(f"target.{name}", given[name], n_outputs) if several else [given[name]]
        for value in values:
            number(f"target.{name}", value, above=above)
    names = tuple(text("target.names", name) for name in entries("target.names", given["names"]))
    return Target(kind, classes, given["centre"], given["spread"], names)


def _classes(given: Any, kind: str, n_outputs: int) -> np.ndarray:
    record("target.classes", given, ("dtype", "values"))
    dtype = text("target.classes.dtype", given["dtype"])
    if not LABEL_TYPES.fullmatch(dtype):
        raise refused("target.classes.dtype", "a type of labels", dtype)
    values = entries("target.classes.values", given["values"], n_outputs, 1 if kind == "labels" else 2)
    for i, value in enumerate(values):
        _label(f"target.classes.values[{i}]", value, dtype[1])
    try:  # text is as wide as its labels, whatever the file says
        classes = np.array(values, dtype="U" if dtype[1] == "U" else np.dtype(dtype))
    except (OverflowError, TypeError, ValueError) as error:
        raise ModelFileError(f"target.classes.values do not fit the type {dtype!r} ({error})") from error
    if len(np.unique(classes)) < len(classes) or (kind == "labels" and values != list(range(n_outputs))):
        raise refused("target.classes.values", "different classes" if kind == "classes" else "counted from 0", values)
    return classes


def _label(where: str, value: Any, kind: str) -> None:
    """A label as JSON holds one of this numpy kind."""
    if kind == "b":
        truth(where, value)
    elif kind in "iumM":
        whole(where, value, -(2**63), 2**64 - 1)
    elif kind == "f":
        number(where, value)
    else:
        text(where, value)


def read_training(given: Any) -> dict[str, Any]:
    """The penalty, the path that it was chosen from, and the history."""
    record("training", given, ("penalty", "path", "history"))
    path = given["path"]
    if path != {}:
        names = set(path) if isinstance(path, dict) else set()
        columns = next((columns for columns in PATHS if names == set(columns)), PATH_COLUMNS)
        record("training.path", path, columns)
        length = len(entries(f"training.path.{columns[0]}", path[columns[0]], least=1))
        for name, values in path.items():
            for value in entries(f"training.path.{name}", values, length):
                number(f"training.path.{name}", value, **{"above": 0.0} if name == columns[0] else {})
    number("training.penalty", given["penalty"], **{"above": 0.0} if path else {"least": 0.0})
    for i, one in enumerate(entries("training.history", given["history"])):
        if not isinstance(one, dict) or any(isinstance(value, dict | list) for value in one.values()):
            raise refused(f"training.history[{i}]", "an object of plain values", one)
    return given
