"""Rows of a training that are replaced by others of a larger table, which a thread reads ahead of the steps."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol

import numpy as np


class NewRows(NamedTuple):
    """Rows to train on in the places of others."""

    places: np.ndarray  # the numbers of the rows that they replace, (n,)
    x: np.ndarray  # float32 (n, D)
    y: np.ndarray  # (n,)
    n_steps: int  # steps until the next rows come


Reader = Callable[[], Generator[NewRows]]  # which never ends: a table is read over and over


class Renewable(Protocol):
    """Rows that others can replace."""

    def put(self, new: NewRows) -> None:
        """Give new rows the places of others."""


class Renewal:
    """New rows for a training, as long as a `with` block, however that ends.

    Which rows come before which step does not depend on how fast they are read: a step whose rows are late waits.

    Examples
    --------
    >>> def numbers():
    ...     while True:
    ...         yield NewRows(np.array([0]), np.ones((1, 2), dtype=np.float32), np.array([1]), n_steps=2)
    >>> class Rows:
    ...     def put(self, new):
    ...         print("new rows for", new.places)
    >>> with Renewal(numbers()) as renewal:
    ...     for step in range(3):
    ...         renewal.before_step(Rows())
    new rows for [0]
    new rows for [0]
    """

    def __init__(self, blocks: Generator[NewRows], verbose: bool = False) -> None:
        self.blocks, self.verbose = blocks, verbose
        self.n_left = 0  # steps until the next rows are due
        self.n_rows = 0  # that have come
        self.waited = 0.0  # seconds that steps have waited for rows

    def __enter__(self) -> Renewal:
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="sklar-reader")
        self.coming: Future[NewRows] = self.pool.submit(next, self.blocks)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.pool.shutdown()  # after the block that is being read
        self.blocks.close()
        if self.verbose and kind is None:
            said = f"{self.n_rows:,} new rows were read; steps waited {self.waited:.1f} s for them"
            print(f"training: {said}", file=sys.stderr)

    def before_step(self, rows: Renewable) -> None:
        """Put new rows in, if it is time for them."""
        if self.n_left == 0:
            start = time.perf_counter()
            new = self.coming.result()
            self.waited += time.perf_counter() - start
            self.coming = self.pool.submit(next, self.blocks)
            rows.put(new)
            self.n_rows += len(new.places)
            self.n_left = new.n_steps
        self.n_left -= 1


def renewing(reader: Reader | None, verbose: bool = False) -> AbstractContextManager[Renewal | None]:
    """The renewal by what a reader reads; None without one. With `verbose` it says how it went."""
    return nullcontext() if reader is None else Renewal(reader(), verbose)
