"""Requests that wait are answered together: a model takes hardly longer for fifty rows than for one.

Nobody waits for others to come: whatever has arrived while the model was busy makes the next batch. More requests than
`most_waiting`, and those that would wait longer than `max_wait` seconds, by the pace of the last batch, are refused at
once, so that those accepted are answered in time.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklar.scale.serving.errors import RequestError

Parts = dict[str, np.ndarray]  # of an answer, by name: (n, ...)
Answer = Callable[[np.ndarray], Parts]  # of rows (n, d)


class Waiting(NamedTuple):
    """Rows of one request, and where its answer goes."""

    rows: np.ndarray
    answer: asyncio.Future[Parts]


class Batcher:
    """One question to a model, asked for many requests at a time."""

    def __init__(self, ask: Answer, most_rows: int, most_waiting: int, max_wait: float) -> None:
        self.ask, self.most_rows, self.most_waiting, self.max_wait = ask, most_rows, most_waiting, max_wait
        self.waiting: deque[Waiting] = deque()
        self.n_waiting = self.rows_waiting = 0  # requests and rows, those being answered too
        self.seconds_a_row = 0.0  # of the last batch
        self.is_busy = False

    async def answer(self, rows: np.ndarray) -> Parts:
        """The answer about the rows of one request."""
        if self.n_waiting >= self.most_waiting:
            raise RequestError("busy", f"{self.n_waiting} requests are waiting already; try again in a second")
        if self.rows_waiting * self.seconds_a_row > self.max_wait:
            raise RequestError("busy", f"{self.rows_waiting} rows are waiting already; try again in a second")
        loop = asyncio.get_running_loop()
        request = Waiting(rows, loop.create_future())
        self.waiting.append(request)
        self.n_waiting += 1
        self.rows_waiting += len(rows)
        if not self.is_busy:
            self.is_busy = True
            loop.call_soon(self._answer_some)  # after the requests that have arrived by now
        return await request.answer

    def _answer_some(self) -> None:
        """Answer those that wait, as many as one batch holds; a large batch leaves the loop to others meanwhile."""
        batch = self._next_batch()
        rows = batch[0].rows if len(batch) == 1 else np.concatenate([request.rows for request in batch])
        loop = asyncio.get_running_loop()
        if len(rows) <= IN_LOOP:
            self._deliver(batch, *_outcome(self.ask, rows))
        else:
            work = loop.run_in_executor(None, _outcome, self.ask, rows)
            work.add_done_callback(lambda done: self._deliver(batch, *done.result()))

    def _next_batch(self) -> list[Waiting]:
        batch = [self.waiting.popleft()]
        size = len(batch[0].rows)
        while self.waiting and size + len(self.waiting[0].rows) <= self.most_rows:
            batch.append(self.waiting.popleft())
            size += len(batch[-1].rows)
        return batch

    def _deliver(self, batch: list[Waiting], outcome: Parts | Exception, seconds: float) -> None:
        first = 0
        for request in batch:
            last = first + len(request.rows)
            if request.answer.done():  # the client has gone
                pass
            elif isinstance(outcome, Exception):
                request.answer.set_exception(outcome)
            else:
                request.answer.set_result({name: values[first:last] for name, values in outcome.items()})
            first = last
        self.n_waiting -= len(batch)
        self.rows_waiting -= first
        self.seconds_a_row = seconds / first
        if self.waiting:
            asyncio.get_running_loop().call_soon(self._answer_some)
        else:
            self.is_busy = False


IN_LOOP = 256  # rows that are answered sooner than a thread is called


def _outcome(ask: Answer, rows: np.ndarray) -> tuple[Parts | Exception, float]:
    """What is answered, or what went wrong, and how many seconds it took."""
    began = time.perf_counter()
    try:
        found: Parts | Exception = ask(rows)
    except Exception as error:  # every request of the batch is told
        found = error
    return found, time.perf_counter() - began
