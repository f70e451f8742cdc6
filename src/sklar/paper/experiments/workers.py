"""Processes that work side by side, and that do not outlive the one that started them, however it ends."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")
SECONDS = 0.5  # between two looks at the parent


def in_processes(work: Callable[..., Result], given: Iterable[tuple[Any, ...]], jobs: int) -> Iterator[Result]:
    """What `work(*each)` returns for each given, as it comes, from so many processes."""
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    yield from parallel(delayed(_as_child)(os.getpid(), pickle.dumps((work, each))) for each in given)


def _as_child(parent: int, pickled: bytes) -> Any:
    """Do the work; what it needs is imported, which takes seconds, when the parent is watched already."""
    if os.getpid() != parent:  # not a thread of it
        end_with(parent)
    work, given = pickle.loads(pickled)
    return work(*given)


@cache
def end_with(parent: int) -> None:
    """From now on this process ends when its parent has, and leaves Ctrl-C to it.

    A parent that was killed cannot tell anyone; but its children then get another parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS)
    os._exit(1)
