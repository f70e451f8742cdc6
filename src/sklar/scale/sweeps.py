"""Many pieces of work on a Dask cluster: a worker that dies loses nothing, a scheduler that goes away is one line.

Every piece is done by itself and its result handed over as soon as it is there, in whatever order: whoever writes
results down, each once, can stop anywhere and go on later (see `paper.experiments.rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

PATIENCE = 10  # seconds to find a scheduler


def over_dask(address: str, work: Callable[..., Any], items: Sequence[Any], *given: Any) -> Iterator[Any]:
    """`work(item, *given)` of every item, on the cluster of a scheduler, as they are finished.

    The items of a worker that dies are done again by others; an item that has killed several is given up with an error.
    """
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(f"no Dask scheduler answers at {address} ({error})") from error
    try:
        repeated = ([value] * len(items) for value in given)
        futures = client.map(work, items, *repeated, pure=False)
        for done in distributed.as_completed(futures):
            yield done.result()
    except distributed.KilledWorker as error:
        raise RuntimeError(f"{error.task} has ended several workers (memory?); the others are done") from error
    except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
        raise ConnectionError(f"the Dask scheduler at {address} has gone; the same command goes on later") from error
    finally:
        client.close(timeout=1)


def _distributed() -> Any:
    try:
        import distributed
        import distributed.comm
    except ImportError as error:
        raise ImportError('a Dask cluster needs dask: pip install "sklar[dask]"') from error
    return distributed
