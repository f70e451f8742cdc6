"""Dask in, Dask out: answers about each partition, made by whoever computes it, when it is computed.

The model is one value of the graph: Dask sends it to each worker once, whatever the number of partitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.fitted import FittedModel
from sklar.table.sources import open_source

DTYPES: dict[str, Any] = {"masks": np.bool_, "ranks": np.int64}  # the others are float64, but for predicted classes


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
    one = example(fitted, what, len(names))
    return (_frame if hasattr(X, "map_partitions") else _array)(X, model, what, names, one)


def example(fitted: FittedModel, what: str, n_columns: int) -> np.ndarray:
    """An answer about one row, of the type that all have: (1, n_columns).

    What pandas and Arrow make of a type can depend on its values: text is an object until they have seen some.
    """
    classes, dtype = fitted.target.classes, DTYPES.get(what, np.float64)
    if what == "predictions" and classes is not None:
        one = np.zeros(1, dtype=np.int64) if fitted.target.kind == "labels" else classes[:1]
        return np.repeat(one, n_columns)[np.newaxis]
    return np.zeros((1, n_columns), dtype=dtype)


def _frame(X: Any, model: Any, what: str, names: list[str], one: np.ndarray) -> Any:
    meta = _no_rows(one, names, X._meta.index)
    return X.map_partitions(_frame_answer, model, what, names, one, meta=meta, enforce_metadata=False)


def _frame_answer(part: Any, fitted: FittedModel, what: str, names: list[str], one: np.ndarray) -> Any:
    """The answer about one partition, with its index."""
    if not len(part):
        return _no_rows(one, names, part.index)
    return _as_frame(_answer(part, fitted, what, one.dtype).reshape(len(part), len(names)), names, part.index)


def _no_rows(one: np.ndarray, names: list[str], index: Any) -> Any:
    """What an answer about one row is, without it."""
    return _as_frame(one, names, None).iloc[:0].set_axis(index, axis=0)


def _as_frame(values: np.ndarray, names: list[str], index: Any) -> Any:
    import pandas

    if len(names) == 1 and names[0] == "prediction":
        return pandas.Series(values[:, 0], index=index, name="prediction")
    return pandas.DataFrame(values, columns=names, index=index)


def _array(X: Any, model: Any, what: str, names: list[str], one: np.ndarray) -> Any:
    """Block of rows by block of rows; their columns must be together."""
    import dask
    import dask.array

    whole = X.rechunk({1: -1})
    ask, inside = dask.delayed(_array_answer), () if names == ["prediction"] else (len(names),)
    blocks = [
        dask.array.from_delayed(ask(block, model, what, inside, one.dtype), (n_rows, *inside), dtype=one.dtype)
        for block, n_rows in zip(whole.to_delayed()[:, 0], whole.chunks[0], strict=True)
    ]
    return dask.array.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def _array_answer(block: Any, fitted: FittedModel, what: str, inside: tuple[int, ...], kind: Any) -> np.ndarray:
    if not len(block):
        return np.empty((0, *inside), dtype=kind)
    return _answer(block, fitted, what, kind).reshape(len(block), *inside)


def _answer(part: Any, fitted: FittedModel, what: str, kind: Any) -> np.ndarray:
    return np.asarray(getattr(fitted, what)(fitted.read(part))).astype(kind, copy=False)
