"""Tables that need not fit in memory: Parquet and Arrow files, folders and patterns of them, Arrow datasets, DuckDB
queries. They are read batch by batch, in bounded memory, and never whole.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from sklar.table.batches import read_ahead, require_flat, with_values
from sklar.table.csv_format import TableError
from sklar.table.datasets import dataset_of
from sklar.table.sampling import Sampler

BATCH_ROWS = 65_536  # read at a time

Work = Callable[[Any, int, int], Any]  # an Arrow table, its number among the batches, the number of its first row


def open_source(X: Any) -> Source | None:
    """The source that X names or is; None for a table in memory.

    A path, a folder, a pattern, an Arrow dataset, a DuckDB relation, or a Dask DataFrame.

    Examples
    --------
    >>> import pyarrow, pyarrow.dataset
    >>> open_source(pyarrow.dataset.dataset(pyarrow.table({"a": [1, 2]}))).n_rows
    2
    >>> open_source([[1.0, 2.0]]) is None
    True
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, str | PathLike):
        return ArrowSource(dataset_of(str(X)), str(X))
    package = type(X).__module__.split(".")[0]
    if package == "pyarrow" and hasattr(X, "to_batches") and hasattr(X, "scanner"):
        return ArrowSource(X, "the dataset")
    if package in ("duckdb", "_duckdb") and hasattr(X, "to_arrow_reader"):
        return QuerySource(X)
    if package == "dask" and hasattr(X, "map_partitions") and hasattr(X, "columns"):
        return DaskSource(X)
    return None


class Source(ABC):
    """Named columns of rows that are read in batches, any number of times."""

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self.name, self.columns = name, list(columns)
        repeated = next((column for column in self.columns if self.columns.count(column) > 1), None)
        if repeated is not None:
            raise TableError(f"{name}: column {repeated!r} stands in it more than once; rename one")

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows it has."""

    @property
    def repeats(self) -> bool:
        """Whether every pass has the same rows in the same batches; what a query answers may differ."""
        return False

    @abstractmethod
    def _tables(self, columns: list[str]) -> Iterator[Any]:
        """Arrow tables of consecutive rows."""

    def batches(self, columns: Sequence[str] | None = None) -> Generator[Any]:
        """All rows in order, as Arrow tables of some columns (None: all); none of them is empty."""
        wanted = self.columns if columns is None else list(columns)
        self.require(wanted)
        import pyarrow

        try:
            yield from read_ahead(self._checked(wanted))
        except (pyarrow.ArrowException, OSError) as error:
            raise TableError(f"{self.name}: cannot be read ({error})") from error

    def _checked(self, columns: list[str]) -> Iterator[Any]:
        """Those that are not empty, of cells that can be read."""
        for table in self._tables(columns):
            require_flat(self.name, table.schema)
            if table.num_rows:
                yield table

    def require(self, columns: Sequence[str]) -> None:
        """Raise for a column that is not there."""
        for column in columns:
            if column not in self.columns:
                known = ", ".join(self.columns[:10]) + (", ..." if len(self.columns) > 10 else "")
                raise TableError(f"{self.name} has no column {column!r}; it has {known}")

    def without(self, columns: Collection[str]) -> Source:
        """The same with fewer columns."""
        self.require(list(columns))
        fewer = copy.copy(self)
        fewer.columns = [column for column in self.columns if column not in columns]
        return fewer

    def with_values(self, columns: Sequence[str]) -> Source:
        """The rows alone that miss none of these columns."""
        self.require(columns)
        return RowsWith(self, columns)

    def head(self, size: int, columns: Sequence[str]) -> Any:
        """The first rows, at least `size` where there are so many, as one Arrow table."""
        import pyarrow

        found: list[Any] = []
        with closing(self.batches(columns)) as tables:
            for table in tables:
                found.append(table)
                if sum(part.num_rows for part in found) >= size:
                    break
        if not found:
            raise TableError(f"{self.name} has no rows")
        return pyarrow.concat_tables(found)

    def row(self, number: int, columns: Sequence[str]) -> Any:
        """One row, as an Arrow table."""
        left = number
        with closing(self.batches(columns)) as tables:
            for table in tables:
                if 0 <= left < table.num_rows:
                    return table.slice(left, 1)
                left -= table.num_rows
        raise TableError(f"{self.name} has rows 0 to {self.n_rows - 1}; there is no row {number}")

    def map(self, work: Work, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """`work(table, number, first_row)` of every batch of rows, in order."""
        first_row = 0
        for number, table in enumerate(self.batches(columns)):
            yield work(table, number, first_row)
            first_row += table.num_rows

    def sample(self, size: int, seed: int, columns: Sequence[str] | None = None) -> Any:
        """`size` rows drawn uniformly without replacement, in their order, as one Arrow table; all where fewer."""
        sampler = Sampler(self.n_rows, size, seed)
        parts = list(self.map(sampler.draw, columns))
        if not parts:
            raise TableError(f"{self.name} has no rows")
        return sampler.together(parts)


class ArrowSource(Source):
    """An Arrow dataset."""

    def __init__(self, dataset: Any, name: str) -> None:
        super().__init__(name, dataset.schema.names)
        self.dataset = dataset

    @property
    def n_rows(self) -> int:
        """From the files' metadata, where they have it."""
        return self.dataset.count_rows()

    @property
    def repeats(self) -> bool:
        """Files are read as they are."""
        return True

    def _tables(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow

        for batch in self._batches({"columns": columns, "batch_size": BATCH_ROWS}):
            yield pyarrow.Table.from_batches([batch])

    def _batches(self, asked: dict[str, Any]) -> Iterator[Any]:
        """Of row groups of Parquet files, and of other files: Arrow reads up to 1 GiB of one scan ahead of its use.

        So it does of a filtered dataset, whose files it does not show.
        """
        try:
            files = self.dataset.get_fragments()
        except ValueError:
            yield from self.dataset.to_batches(**asked)
            return
        for file in files:
            for part in file.split_by_row_group() if hasattr(file, "split_by_row_group") else [file]:
                yield from part.to_batches(schema=self.dataset.schema, **asked)


class QuerySource(Source):
    """A DuckDB relation: `duckdb.sql("select ...")`. DuckDB keeps the order of rows unless it is told not to."""

    def __init__(self, relation: Any) -> None:
        with self._answering():
            super().__init__("the query", relation.columns)
        self.relation = relation

    @property
    def n_rows(self) -> int:
        """Counted by a query of its own."""
        with self._answering():
            return self.relation.aggregate("count(*)").fetchall()[0][0]

    def _tables(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow

        chosen = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        with self._answering():
            for batch in self.relation.project(chosen).to_arrow_reader(BATCH_ROWS):
                yield pyarrow.Table.from_batches([batch])

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Inside, what DuckDB has to say is an error of the table, without the query's text below it."""
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            raise TableError(f"the query failed: {str(error).splitlines()[0]}") from error


class RowsWith(Source):
    """The rows of a source that have a value of some columns."""

    def __init__(self, source: Source, needed: Sequence[str]) -> None:
        super().__init__(source.name, source.columns)
        self.source, self.needed = source, list(needed)

    @cached_property
    def n_rows(self) -> int:
        """Counted in a pass over these columns."""
        return sum(table.num_rows for table in self._tables(self.needed))

    @property
    def repeats(self) -> bool:
        """As those that they are chosen from do."""
        return self.source.repeats

    def _tables(self, columns: list[str]) -> Iterator[Any]:
        for table in self.source.batches(list(dict.fromkeys([*columns, *self.needed]))):
            yield table.select(columns).filter(with_values(table.select(self.needed)))


class DaskSource(Source):
    """A Dask DataFrame: its partitions are read, and worked on, where Dask has them."""

    def __init__(self, frame: Any) -> None:
        super().__init__("the Dask DataFrame", [str(name) for name in frame.columns])
        self.frame = frame

    @cached_property
    def lengths(self) -> list[int]:
        """Rows of each partition."""
        return [int(length) for length in self.frame.map_partitions(len, meta=(None, "int64")).compute()]

    @property
    def n_rows(self) -> int:
        """Counted by the workers."""
        return sum(self.lengths)

    def _tables(self, columns: list[str]) -> Iterator[Any]:
        yield from (_arrow_table(part.compute()) for part in self.frame[columns].to_delayed())

    def map(self, work: Work, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """`work` of every partition, done by the workers; only what it returns comes here."""
        import dask

        wanted = self.columns if columns is None else list(columns)
        self.require(wanted)
        do, starts = dask.delayed(_work_on), np.cumsum([0, *self.lengths]).tolist()
        parts = self.frame[wanted].to_delayed()
        tasks = [do(work, self.name, part, i, starts[i]) for i, part in enumerate(parts) if self.lengths[i]]
        yield from dask.compute(*tasks)


def _arrow_table(frame: Any) -> Any:
    import pyarrow

    return pyarrow.Table.from_pandas(frame, preserve_index=False)


def _work_on(work: Work, name: str, frame: Any, number: int, first_row: int) -> Any:
    table = _arrow_table(frame)
    require_flat(name, table.schema)
    return work(table, number, first_row)
