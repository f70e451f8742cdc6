"""Answers about the rows of a table of any kind: an array or a frame of one in memory, a stream of one that is larger,
and of a Dask collection a Dask collection.

What a fitted model is asked goes by the name of its method (`masks`, `predictions`, ...), so that it can be sent to
other processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from sklar.estimators.dask_answers import example, is_dask, lazily
from sklar.fitted import FittedModel
from sklar.table.adapter import adapt
from sklar.table.sources import Source, open_source

LIKE_TABLE = ("masks", "selection_proba", "votes")  # a DataFrame in gives a DataFrame out


def ask(fitted: FittedModel, what: str, X: Any) -> Any:
    """What a model says about every row of X: an array, or a frame where X is one; of a source, an Arrow stream.

    Examples
    --------
    >>> import pyarrow, pyarrow.dataset
    >>> from sklar import CopulaSelectorRegressor
    >>> table = pyarrow.table({"a": [0.0, 1.0, 2.0, 3.0] * 9, "y": [0.0, 1.0, 2.0, 3.0] * 9})
    >>> dataset = pyarrow.dataset.dataset(table)
    >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(dataset, target="y")
    >>> answers = ask(selector.fitted_, "masks", dataset)
    >>> type(answers).__name__, answers.schema.names, answers.read_all().num_rows
    ('RecordBatchReader', ['a'], 36)
    """
    if is_dask(X):
        return lazily(fitted, what, answer_names(fitted, what), X)
    source = open_source(X)
    if source is not None:
        return _stream(fitted, what, source)
    answer = getattr(fitted, what)(fitted.read(X))
    return fitted.like(X, answer) if what in LIKE_TABLE else answer


def answer_names(fitted: FittedModel, what: str) -> list[str]:
    """What the columns of an answer are called."""
    if what == "ranks":
        return [f"rank_{place + 1}" for place in range(fitted.k or 0)]
    n_outputs = fitted.network.architecture.n_outputs
    if what == "probabilities":
        first = 1 if fitted.target.kind == "labels" else 0  # labels have no names: they are counted
        classes = () if fitted.target.classes is None else fitted.target.classes
        return [f"proba_{label + 1 if first else label}" for label in classes]
    if what == "predictions":
        several = fitted.target.kind == "labels" or (fitted.target.kind == "values" and n_outputs > 1)
        return [f"prediction_{j + 1}" for j in range(n_outputs)] if several else ["prediction"]
    return list(fitted.schema.names)


def block_answer(fitted: FittedModel, what: str, table: Any) -> dict[str, np.ndarray]:
    """The answer about the rows of one Arrow table, as named columns."""
    by_position = fitted.schema.labels == "position"
    answer = getattr(fitted, what)(fitted.read(adapt(table).dense() if by_position else table))
    columns = answer.reshape(len(answer), -1).T
    return dict(zip(answer_names(fitted, what), columns, strict=True))


def _stream(fitted: FittedModel, what: str, source: Source) -> Any:
    """The answer as an Arrow stream: one batch of rows is read, answered and handed on at a time."""
    import pyarrow

    tables = source.batches(fitted.schema.names)
    blocks = (pyarrow.RecordBatch.from_pydict(block_answer(fitted, what, table)) for table in tables)
    first = next(blocks, None)  # also shows, at once, what is wrong with the table
    if first is None:
        names = answer_names(fitted, what)
        columns = example(fitted, what, len(names)).T
        first = pyarrow.RecordBatch.from_pydict(dict(zip(names, columns, strict=True))).slice(0, 0)
    rest: Iterator[Any] = chain([first], blocks)
    return pyarrow.RecordBatchReader.from_batches(first.schema, rest)
