"""Bodies of requests as a model's rows, and answers as bodies: JSON, or Arrow streams for many rows.

A request is checked on its own, before it is answered together with others: a mistake is one client's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sklar.estimators.answers import answer_names
from sklar.fitted import FittedModel
from sklar.scale.serving.errors import ARROW, JSON, RequestError
from sklar.table.schema import Schema

LARGEST = float(np.finfo(np.float64).max)
Parts = dict[str, np.ndarray]  # of an answer, by name; each has a value, or values, a row


def read_rows(schema: Schema, body: bytes, content_type: str, max_rows: int) -> np.ndarray:
    """The rows of a request, checked against the columns of `fit`: float64 (n, d), categories as codes.

    Examples
    --------
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> schema = CopulaSelectorRegressor(penalty=0.01, max_epochs=2).fit(X, X[:, 0]).fitted_.schema
    >>> read_rows(schema, b'{"rows": [{"x0": 1.5, "x1": 2}]}', "application/json", 10).tolist()
    [[1.5, 2.0]]
    """
    if _kind(content_type) == ARROW:
        return _from_arrow(schema, body, max_rows)
    cells = _cells(schema, _records(body), max_rows)
    return _plain_rows(schema, cells) if schema.encoding.is_plain else _any_rows(schema, cells)


def read_each(schema: Schema, body: bytes, content_type: str, max_rows: int) -> list[dict[str, np.ndarray]]:
    """The rows of a request, each as a table of its own, checked as `read_rows` does."""
    read_rows(schema, body, content_type, max_rows)
    records = _arrow_table(body).to_pylist() if _kind(content_type) == ARROW else _records(body)
    cells = _cells(schema, records, max_rows)
    return [{name: _column([value]) for name, value in zip(schema.names, row, strict=True)} for row in cells]


def _kind(content_type: str) -> str:
    kind = content_type.split(";")[0].strip().lower() or JSON
    if kind not in (JSON, ARROW):
        raise RequestError("unknown_content_type", f"send {JSON} or {ARROW}; got {kind}")
    return kind


def _records(body: bytes) -> list[dict[str, Any]]:
    """The rows of a JSON body."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError("not_json", f"the body is not JSON ({error})") from error
    rows = content.get("rows") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise RequestError("bad_rows", 'the body must be {"rows": [{"column": value, ...}, ...]}, with a row at least')
    if len(content) > 1:
        unknown = next(key for key in content if key != "rows")
        raise RequestError("unknown_key", f"the body has {unknown!r} beside 'rows'; the model answers at its own price")
    return rows


def _cells(schema: Schema, rows: list[dict[str, Any]], max_rows: int) -> list[list[Any]]:
    """The values of each row, in the order of `fit`; columns that the model does not know are left out."""
    _require_few(len(rows), max_rows)
    try:
        return [[row[name] for name in schema.names] for row in rows]
    except KeyError as error:
        raise RequestError("missing_column", f"a row has no {error.args[0]!r}", error.args[0]) from error


def _column(values: Sequence[Any]) -> np.ndarray:
    """Cells of any type, one a row."""
    column: np.ndarray = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _plain_rows(schema: Schema, cells: list[list[Any]]) -> np.ndarray:
    """Of a model that reads numbers alone: checked as one array; null is missing."""
    rows = _array(cells)
    if rows.dtype.kind == "O":
        rows = _array([[np.nan if value is None else value for value in row] for row in cells])
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":  # text, lists, or whole numbers beyond 64 bits
        _require_numbers(schema, cells)
        rows = np.array([[np.nan if value is None else float(value) for value in row] for row in cells])
    if np.isinf(rows).any():
        _require_numbers(schema, cells)
    return schema.read_off_copies(rows.astype(np.float64))


def _array(cells: list[list[Any]]) -> np.ndarray:
    """Cells as numpy understands them; without rows and columns where it does not."""
    try:
        return np.array(cells)
    except (ValueError, OverflowError):  # lists of several lengths, or whole numbers beyond 1e308
        return np.empty(0)


def _require_numbers(schema: Schema, cells: list[list[Any]]) -> None:
    """Raise, naming the first cell that is neither a finite number nor missing."""
    for number, row in enumerate(cells):
        for name, value in zip(schema.names, row, strict=True):
            if value is not None and (not isinstance(value, int | float) or abs(value) > LARGEST):
                raise _bad_cell(number, name, value, "a number")


def _require_flat(schema: Schema, cells: list[list[Any]]) -> None:
    """Raise, naming the first cell that is a list or an object."""
    for number, row in enumerate(cells):
        for name, value in zip(schema.names, row, strict=True):
            if isinstance(value, list | dict):
                raise _bad_cell(number, name, value, "one value")


def _bad_cell(row: int, name: str, value: Any, wanted: str) -> RequestError:
    what = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else repr(value)[:40]
    return RequestError("bad_value", f"row {row}: column {name!r} holds {what}, not {wanted}", name)


def _any_rows(schema: Schema, cells: list[list[Any]]) -> np.ndarray:
    """Of any other model: column by column, as a table in memory is."""
    _require_flat(schema, cells)
    columns = zip(schema.names, zip(*cells, strict=True), strict=True)
    return _checked(schema, {name: _column(column) for name, column in columns})


def _from_arrow(schema: Schema, body: bytes, max_rows: int) -> np.ndarray:
    table = _arrow_table(body)
    counts = Counter(table.column_names)
    for name in schema.names:
        if not counts[name]:
            raise RequestError("missing_column", f"the table has no column {name!r}", name)
        if counts[name] > 1:
            raise RequestError("repeated_column", f"column {name!r} stands in the table {counts[name]} times", name)
    if not table.num_rows:
        raise RequestError("bad_rows", "the table has no rows")
    _require_few(table.num_rows, max_rows)
    table = table.select(list(schema.names))
    return _checked(schema, table if schema.labels != "position" else table.to_pandas().to_numpy())


def _arrow_table(body: bytes) -> Any:
    import pyarrow

    try:
        with pyarrow.ipc.open_stream(body) as stream:
            return stream.read_all()
    except (pyarrow.ArrowException, OSError) as error:
        raise RequestError("not_arrow", f"the body is not an Arrow stream ({error})") from error


def _checked(schema: Schema, table: Any) -> np.ndarray:
    try:
        return schema.read(table)
    except (ValueError, TypeError, NotImplementedError) as error:
        said = str(error)  # which begins with the column, where it is about one
        column = next((name for name in schema.names if said.startswith(f"column {name!r}")), None)
        raise RequestError("bad_value", said, column) from error


def _require_few(n_rows: int, max_rows: int) -> None:
    if n_rows > max_rows:
        raise RequestError("too_many_rows", f"{n_rows} rows in one request; at most {max_rows} are answered")


def parts_of(fitted: FittedModel, what: str) -> Callable[[np.ndarray], Parts]:
    """What is asked about rows: masks or, for outputs, predictions and, of classifiers, probabilities."""
    target = fitted.target

    def masks(rows: np.ndarray) -> Parts:
        return {"masks": fitted.masks(rows)}

    def outputs(rows: np.ndarray) -> Parts:
        found = fitted.outputs(rows)
        parts = {"predictions": target.predictions(found)}
        return {**parts, "probabilities": target.probabilities(found)} if target.is_classified else parts

    return masks if what == "masks" else outputs


def json_answer(fitted: FittedModel, parts: Parts) -> dict[str, Any]:
    """An answer as JSON can hold it: predictions, or the names of each row's features."""
    if "masks" in parts:
        names = fitted.schema.names
        return {"selected": [[names[j] for j in np.flatnonzero(row)] for row in parts["masks"]]}
    found: dict[str, Any] = {"predictions": parts["predictions"].tolist()}
    if "probabilities" in parts:
        labels = [name.removeprefix("proba_") for name in answer_names(fitted, "probabilities")]
        found["probabilities"] = dict(zip(labels, parts["probabilities"].T.tolist(), strict=True))
    return found


def arrow_answer(fitted: FittedModel, parts: Parts) -> bytes:
    """The same as an Arrow stream, columns named as in files (`answer_names`)."""
    import pyarrow

    columns = {
        name: column
        for part, values in parts.items()
        for name, column in zip(answer_names(fitted, part), values.reshape(len(values), -1).T, strict=True)
    }
    table, sink = pyarrow.table(columns), pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()
