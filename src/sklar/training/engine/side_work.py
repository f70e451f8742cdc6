"""Work that runs beside the rest of a step, and that cannot be forgotten: a handle must be read before the next start.

Small kernels leave most of a GPU idle, and small products most of a CPU's threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")


class SideWork:
    """One place beside the step for one piece of work at a time.

    On a GPU it is a stream. On a CPU work runs at once or, with `thread`, in a second thread, but only where products
    are too small to be shared by several and torch has been given one of them (`runtime.threads_for`, entered after
    this was made). An operation leaves the interpreter to the other thread while it computes. The thread lives as long
    as a `with` block, however that ends; without one work runs at once.

    A start whose handle nobody reads is an error: at the next start, and at the end of a `with` block.

    Examples
    --------
    >>> with SideWork(torch.device("cpu")) as side:
    ...     handle = side.start(lambda x: x + 1, torch.ones(()))
    ...     int(handle.result())
    2
    """

    def __init__(self, device: torch.device, thread: bool = False) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.threaded = thread and device.type == "cpu" and torch.get_num_threads() > 1
        self.pool: ThreadPoolExecutor | None = None
        self.unread: Handle | None = None

    def another(self) -> SideWork:
        """A second place like this one, also where torch has been given one thread since this was made."""
        other = SideWork(self.device)
        other.threaded = self.threaded
        return other

    def start(self, work: Callable[..., Result], *inputs: Tensor) -> Handle[Result]:
        """Begin `work(*inputs)`; what it returns, and what it changes, may be read after `result()` of the handle."""
        self._require_read()
        if self.pool is not None and torch.get_num_threads() == 1:
            handle: Handle[Result] = Handle(self, inputs, running=self.pool.submit(work, *inputs))
        elif self.stream is None:
            handle = Handle(self, inputs, value=work(*inputs))
        else:
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                handle = Handle(self, inputs, value=work(*inputs))
        self.unread = handle
        return handle

    def __enter__(self) -> SideWork:
        if self.threaded:
            self.pool = ThreadPoolExecutor(1, initializer=lambda: torch.set_num_threads(1))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self.unread is not None:
            self.unread.abandon()
        if self.pool is not None:
            self.pool.shutdown()
            self.pool = None
        self._require_read()

    def _require_read(self) -> None:
        if self.unread is not None:
            raise RuntimeError("work was started beside a step and its handle was not read: call its result()")


class Handle(Generic[Result]):
    """Work under way. It holds the memory that the work reads until `result` has joined it."""

    def __init__(
        self,
        side: SideWork,
        inputs: tuple[Tensor, ...],
        value: Result | None = None,
        running: Future[Result] | None = None,
    ) -> None:
        self._side: SideWork | None = side
        self._inputs, self._value, self._running = inputs, value, running

    def result(self) -> Result:
        """Join, the first time; return what the work returned.

        A CUDA graph must not wait for what it has not captured, so a second call does not wait again.
        """
        side, self._side = self._side, None
        if side is not None:
            side.unread = None
            if self._running is not None:
                self._value = self._running.result()
            elif side.stream is not None:
                torch.cuda.current_stream().wait_stream(side.stream)
            self._inputs = ()
        return self._value  # type: ignore[return-value]

    def abandon(self) -> None:
        """Let the work end, whatever comes of it: its step has failed already."""
        side, self._side = self._side, None
        if side is not None:
            side.unread = None
        if self._running is not None:
            self._running.exception()
