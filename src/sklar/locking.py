"""One writer at a time: a lock that ends with its process, so that a killed one holds nobody up."""

from __future__ import annotations

from typing import IO


def lock(file: IO[bytes], refusal: str) -> None:
    """Lock an open file until it is closed; where another process holds it, raise an OSError that says `refusal`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as first, open(first.name, "rb") as second:
    ...     lock(first, "another run is writing")
    ...     lock(second, "another run is writing")
    Traceback (most recent call last):
    ...
    OSError: another run is writing
    """
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise OSError(refusal) from error
