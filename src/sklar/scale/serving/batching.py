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
Outcome = Parts | Exception  # of one request


class Waiting(NamedTuple):
    """Rows of one request, and where its answer goes."""

    rows: np.ndarray
    answer: asyncio.Future[Outcome]


class Batcher:
    """One question to a model, asked for many requests at a time."""

    def __init__(self, ask: Answer, most_rows: int, most_waiting: int, max_wait: float) -> None:
        self.ask, self.most_rows, self.most_waiting, self.max_wait = ask, most_rows, most_waiting, max_wait
        self.waiting: deque[Waiting] = deque()
        self.n_waiting = self.rows_waiting = 0  # requests and rows, those being answered too
        self.seconds_a_row = 0.0  # of the last batch
        self.work: asyncio.Task[None] | None = None  # that answers; however it ended, the next request begins another

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
        if self.work is None or self.work.done():
            self.work = loop.create_task(self._answer_all())  # begins after the requests that have arrived by now
        found = await request.answer
        if isinstance(found, Exception):
            raise found
        return found

    async def _answer_all(self) -> None:
        """Answer those that wait, batch by batch, until none does."""
        while self.waiting:
            await self._answer_some()
            await asyncio.sleep(0)  # the loop is for others too

    async def _answer_some(self) -> None:
        """Answer as many as one batch holds; whatever is raised, each of them is told something."""
        batch = self._next_batch()
        parts = [request.rows for request in batch]
        n_rows, seconds = sum(map(len, parts)), 0.0
        found: list[Outcome] = [RequestError("busy", "the server is stopping")] * len(batch)
        try:
            found, seconds = await self._outcomes(parts, n_rows)
        except Exception as error:  # there is no thread, say
            found = [error] * len(batch)
        finally:
            self.n_waiting -= len(batch)
            self.rows_waiting -= n_rows
            self.seconds_a_row = seconds / max(1, n_rows)
            for request, outcome in zip(batch, found, strict=True):
                if not request.answer.done():  # the client is still there
                    request.answer.set_result(outcome)

    async def _outcomes(self, parts: list[np.ndarray], n_rows: int) -> tuple[list[Outcome], float]:
        """What each request is answered, and how many seconds it took; a large batch leaves the loop to others."""
        if n_rows <= IN_LOOP:
            return _timed(self.ask, parts)
        return await asyncio.get_running_loop().run_in_executor(None, _timed, self.ask, parts)

    def _next_batch(self) -> list[Waiting]:
        batch = [self.waiting.popleft()]
        size = len(batch[0].rows)
        while self.waiting and size + len(self.waiting[0].rows) <= self.most_rows:
            batch.append(self.waiting.popleft())
            size += len(batch[-1].rows)
        return batch


IN_LOOP = 256  # rows that are answered sooner than a thread is called


def _timed(ask: Answer, parts: list[np.ndarray]) -> tuple[list[Outcome], float]:
    began = time.perf_counter()
    return _asked(ask, parts), time.perf_counter() - began


def _asked(ask: Answer, parts: list[np.ndarray]) -> list[Outcome]:
    """What each request is answered, or what went wrong: where they fail together, each is asked about apart."""
    try:
        found = ask(parts[0] if len(parts) == 1 else np.concatenate(parts))
    except Exception as error:
        return [error] if len(parts) == 1 else [_asked(ask, [rows])[0] for rows in parts]
    ends = np.cumsum([len(rows) for rows in parts]).tolist()
    return [
        {name: values[end - len(rows) : end] for name, values in found.items()}
        for rows, end in zip(parts, ends, strict=True)
    ]
