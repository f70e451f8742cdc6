"""Model files as an attacker would write them: contents edited at random, checksum right."""

import copy
import json

import numpy as np
import torch
from safetensors.torch import save_file

from sklar.export.storage import _digest, _text

HOSTILE = [
    None, True, False, 0, 1, -1, 2, 3, 7, 255, 256, 2**20, 2**31, 2**40, 2**63, -(2**63), 10**400, 0.5, -0.5, 1e-320,
    1e308, -1e308, 1e16, "", "x", "0", "auto", "joint", "honest", "classes", "<U1000000000", "<i8", "|O", "\x00",
    "é" * 9, [], {}, [[]], [{}], [0], [1, 0], [0, 0], ["a", "a"], {"a": 1}, {"select": 5}, [None], [True], [1e308],
    ["x"] * 300,
]  # fmt: skip
RAW = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "9" * 5000,
    "[" * 100_000 + "]" * 100_000,
    '{"a":' * 100_000,
    '"\\ud800"',
]
DTYPES = (torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.float64, torch.float32)
VALUES = (float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e-40, -1.0, 0.0)


def write_edited(path, tensors, metadata, raw=None):
    """Write a file whose checksum is right; `raw` stands for the first null of the metadata."""
    try:
        digest = _digest(_text(metadata), tensors)
    except (TypeError, ValueError, RecursionError):
        digest = "0" * 64
    text = json.dumps({**metadata, "digest": digest})
    save_file(tensors, path, metadata={"sklar": text if raw is None else text.replace("null", raw, 1)})


def edited(random, tensors, metadata):
    """One to three edits of a file's contents, and raw JSON to put in, if any."""
    tensors, metadata, raw = dict(tensors), copy.deepcopy(metadata), None
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        kind = random.random()
        if kind < 0.75:
            _edit_json(random, metadata)
        elif kind < 0.97:
            _edit_tensor(random, tensors)
        else:
            raw = RAW[random.integers(len(RAW))]
    return tensors, metadata, raw


def _places(node):
    """(container, key) of every value in a tree."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


def _edit_json(random, metadata):
    # parts of the file are equally likely, whatever their size
    part = str(random.choice(sorted(metadata)))
    places = [(metadata, part)]
    if isinstance(metadata[part], dict | list):
        places += list(_places(metadata[part]))
    node, key = places[random.integers(len(places))]
    how = random.integers(6)
    if how == 0:
        del node[key]
    elif how == 1 and isinstance(node, dict):
        node[f"{key}x"] = node[key]
    elif how == 2 and isinstance(node[key], list) and node[key]:
        node[key].append(node[key][-1])
    elif how == 3 and type(node[key]) in (int, float):
        node[key] = [node[key] + 1, node[key] - 1, node[key] * 2, -node[key], node[key] + 0.5][random.integers(5)]
    elif how == 4:
        other, place = places[random.integers(len(places))]
        node[key] = copy.deepcopy(other[place])
    else:
        node[key] = copy.deepcopy(HOSTILE[random.integers(len(HOSTILE))])


def _edit_tensor(random, tensors):
    if not tensors:
        return
    name = str(random.choice(sorted(tensors)))
    value, how = tensors[name], random.integers(7)
    if how == 0:
        del tensors[name]
    elif how == 1:
        tensors[name + "x"] = tensors.pop(name)
    elif how == 2:
        tensors[name] = value.to(DTYPES[random.integers(len(DTYPES))])
    elif how == 3:
        tensors[name] = value.mT.contiguous() if value.ndim > 1 else value.unsqueeze(0).clone()
    elif how == 4:
        tensors[name] = value[..., : value.shape[-1] // 2].contiguous() if value.ndim else value
    elif how == 5:
        tensors["network.more"] = torch.zeros(0, 2**40)
    elif value.numel() and value.is_floating_point():
        value = value.clone()
        value.view(-1)[random.integers(value.numel())] = VALUES[random.integers(len(VALUES))]
        tensors[name] = value


def rows_for(schema, n=4):
    """A table that a schema takes: named columns."""
    random = np.random.default_rng(0)
    columns = {}
    dates = schema.encoding.dates
    for name, kept, is_date in zip(schema.names, schema.encoding.categories, dates, strict=True):
        if kept is not None:
            columns[name] = np.array([kept[i % len(kept)] for i in range(n)] + [None], dtype=object)[:-1]
        else:
            columns[name] = np.datetime64("2020-01-01", "D") + np.arange(n) if is_date else random.standard_normal(n)
    return columns


def every_answer(estimator, folder):
    """Ask all that an estimator can be asked; whatever fails, raises."""
    fitted = estimator.fitted_
    X = rows_for(fitted.schema)
    estimator.select(X), estimator.predict(X), estimator.selection_proba(X), estimator.selection_frequency(X)
    estimator.sample_masks(X, 2, 0), estimator.transform(X), estimator.correlation(X)
    if fitted.objective == "honest":
        [str(group) for group in estimator.interchangeable(1.0)]
    str(estimator.explain({name: values[:1] for name, values in X.items()}))
    estimator.explain({name: values[:1] for name, values in X.items()}).to_dict()
    if fitted.target.classes is not None:
        estimator.predict_proba(X)
    if fitted.k is not None:
        estimator.rank(X), estimator.rank_interval(X)
    y = estimator.predict(X)
    if (
        y.ndim == 1
        and fitted.target.kind != "risk"
        and np.isfinite(y.astype(float) if y.dtype.kind == "f" else 0).all()
    ):
        estimator.report(X, y, folder / "r.html", audit=False)
    repr(estimator), estimator.get_params(), estimator.n_models_
    estimator.save(folder / "again.sklar")
