"""Files written whole or not at all: a crash, a full disk or Ctrl-C leaves what was there before.

A process that is killed leaves its unfinished part behind; the next one to write the same file removes it. A lock that
ends with its process tells such a part from one that is being written.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

ENDING = ".part"
LONGEST_PREFIX = 50  # characters of the name that a part begins with: its own name has to fit too


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file beside `path` to write to; it takes the place of `path` when the block ends without an error.

    A file that is replaced keeps its mode, and a symbolic link stays one: the file it names is replaced.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as part:
    ...         _ = part.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text(), len(os.listdir(folder))
    ('whole', 1)
    """
    path = _followed(path)
    _remove_leftovers(path)
    handle, part = _locked_part(path)
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def replace_file(path: str | os.PathLike[str], payload: bytes | str) -> None:
    """Write bytes, or text in UTF-8."""
    with replacing(path) as part:
        part.write_bytes(payload.encode() if isinstance(payload, str) else payload)


def require_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError now that `replacing` would raise later: no right to write, or a name too long.

    Examples
    --------
    >>> require_replaceable("x" * 300)
    Traceback (most recent call last):
    ...
    OSError: [Errno 36] File name too long: ...
    """
    path = _followed(path)
    with suppress(FileNotFoundError):
        os.lstat(path)  # a name too long for its folder's system
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    handle, part = _locked_part(path)
    part.unlink()
    os.close(handle)


def _followed(path: str | os.PathLike[str]) -> Path:
    """Where a file lies that may be named by a symbolic link."""
    return Path(os.path.realpath(path))


def _prefix(path: Path) -> str:
    return f".{path.name[:LONGEST_PREFIX]}."


def _locked_part(path: Path) -> tuple[int, Path]:
    """A new part of `path`, open and locked."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=_prefix(path), suffix=ENDING)
        _lock(handle)
        if os.fstat(handle).st_nlink:  # not taken for a leftover before it was locked
            return handle, Path(name)
        os.close(handle)


def _lock(handle: int, wait: bool = True) -> None:
    """Lock an open file until it is closed, or its process ends; OSError if it is and we do not `wait`."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _remove_leftovers(path: Path) -> None:
    """Remove the parts of `path` that no process holds."""
    for name in os.listdir(path.parent):
        if not (name.startswith(_prefix(path)) and name.endswith(ENDING)):
            continue
        part = path.parent / name
        try:
            handle = os.open(part, os.O_RDWR)
        except OSError:  # another process was quicker, or it is another user's
            continue
        try:
            _lock(handle, wait=False)
            part.unlink(missing_ok=True)
        except OSError:
            pass  # it is being written
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
