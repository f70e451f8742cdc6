"""Dask in, Dask out: answers about each partition, made by whoever computes it, when it is computed.

The model is one value of the graph: Dask sends it to each worker once, whatever the number of partitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.fitted import FittedModel
from sklar.table.sources import open_source

DTYPES = {"masks": np.bool_, "ranks": np.int64}  # of answers; the others are float64, but for predicted classes


def is_dask(X: Any) -> bool:
    """Whether X is a Dask DataFrame or Array."""
    return type(X).__module__.split(".")[0] == "dask" and (hasattr(X, "map_partitions") or hasattr(X, "map_blocks"))


def lazily(fitted: FittedModel, what: str, names: list[str], X: Any) -> Any:
    """What a model says about the rows of X: a Dask DataFrame (a Series, of one column), or an Array for an Array.

    Examples
    --------
    >>> import dask.array
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((90, 3))
    >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0])
    >>> masks = selector.select(dask.array.from_array(X, chunks=(30, 3)))
    >>> masks.shape, masks.dtype, bool((masks.compute() == selector.select(X)).all())
    ((90, 3), dtype('bool'), True)
    """
    import dask

    source = open_source(X)
    if source is not None and fitted.schema.labels == "text":  # as in files, a target may stand beside them
        source.require(fitted.schema.names)
        X = X[list(fitted.schema.names)]
    model = dask.delayed(fitted, pure=True)
    kind = _dtype(fitted, what)
    return (_frame if hasattr(X, "map_partitions") else _array)(X, model, what, names, kind)


def _dtype(fitted: FittedModel, what: str) -> Any:
    if what == "predictions" and fitted.target.classes is not None:
        return np.dtype(np.int64) if fitted.target.kind == "labels" else fitted.target.classes.dtype
    return np.dtype(DTYPES.get(what, np.float64))


def _frame(X: Any, model: Any, what: str, names: list[str], kind: Any) -> Any:
    meta = _as_frame(np.empty((0, len(names)), dtype=kind), names, X._meta.index)
    return X.map_partitions(_frame_answer, model, what, names, kind, meta=meta, enforce_metadata=False)


def _frame_answer(part: Any, fitted: FittedModel, what: str, names: list[str], kind: Any) -> Any:
    """The answer about one partition, with its index."""
    answer = _answer(part, fitted, what, kind) if len(part) else np.empty((0, len(names)), dtype=kind)
    return _as_frame(answer.reshape(len(part), len(names)), names, part.index)


def _as_frame(values: np.ndarray, names: list[str], index: Any) -> Any:
    import pandas

    if len(names) == 1 and names[0] == "prediction":
        return pandas.Series(values[:, 0], index=index, name="prediction")
    return pandas.DataFrame(values, columns=names, index=index)


def _array(X: Any, model: Any, what: str, names: list[str], kind: Any) -> Any:
    """Block of rows by block of rows; their columns must be together."""
    import dask
    import dask.array

    whole = X.rechunk({1: -1})
    ask, inside = dask.delayed(_array_answer), () if names == ["prediction"] else (len(names),)
    blocks = [
        dask.array.from_delayed(ask(block, model, what, inside, kind), (n_rows, *inside), dtype=kind)
        for block, n_rows in zip(whole.to_delayed()[:, 0], whole.chunks[0], strict=True)
    ]
    return dask.array.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def _array_answer(block: Any, fitted: FittedModel, what: str, inside: tuple[int, ...], kind: Any) -> np.ndarray:
    if not len(block):
        return np.empty((0, *inside), dtype=kind)
    return _answer(block, fitted, what, kind).reshape(len(block), *inside)


def _answer(part: Any, fitted: FittedModel, what: str, kind: Any) -> np.ndarray:
    return np.asarray(getattr(fitted, what)(fitted.read(part))).astype(kind, copy=False)
