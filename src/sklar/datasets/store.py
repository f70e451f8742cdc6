"""Where real data sets lie: `$SKLAR_DATA`, else the user's cache folder, else their public homes.

A file may lie packed (.gz) or unpacked. A published sum is of its content, unpacked, so that it does not matter who
packed it. Where a file `SHA256SUMS` lies beside it, as `sha256sum` writes it, the file as it lies must agree with that.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from sklar.atomic import replace_file

FOLDER_VARIABLE = "SKLAR_DATA"
TIMEOUT_SECONDS = 60
SUMS_FILE = "SHA256SUMS"


class DataError(ValueError):
    """A data file that is missing, damaged or not what it claims to be; the message is one line."""


def cache_folder() -> Path:
    """The user's cache folder for data."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sklar"


def folders() -> list[Path]:
    """Where files are looked for, first match first: `$SKLAR_DATA` alone where it is set."""
    given = os.environ.get(FOLDER_VARIABLE)
    return [Path(given)] if given else [cache_folder()]


def read(name: str, fetch: Callable[[], bytes] | None = None, md5: str | None = None) -> bytes:
    """The unpacked content of the file `name` (such as "mnist/train-images-idx3-ubyte").

    Parameters
    ----------
    name : path below the data folder, without .gz
    fetch : gets the unpacked content from its public home, where no folder holds it
    md5 : what the content must hash to
    """
    for folder in folders():
        for path in (folder / f"{name}.gz", folder / name):
            if path.is_file():
                _check_listed_sum(path)
                return _checked(_unpacked(path), md5, str(path))
    if fetch is None or os.environ.get(FOLDER_VARIABLE):
        raise DataError(_missing(name))
    try:
        content = fetch()
    except (OSError, EOFError, ValueError, KeyError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"{_missing(name)} (download failed: {error})") from error
    keep(name, _checked(content, md5, f"what was downloaded as {name}"))
    return content


def download(address: str) -> bytes:
    """What lies at an address."""
    with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as answer:
        return answer.read()


def _unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is damaged: it does not unpack ({error}); fetch it again") from error


def _check_listed_sum(path: Path) -> None:
    """Raise where the list of sums beside a file has another one for it."""
    sums = path.with_name(SUMS_FILE)
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.is_file() else []
    listed = {words[1].lstrip("*"): words[0] for words in map(str.split, lines) if len(words) == 2}
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if listed.get(path.name, found) != found:
        raise DataError(f"{path} is damaged: its SHA-256 sum is {found}, not that in {SUMS_FILE}; fetch it again")


def _checked(content: bytes, md5: str | None, where: str) -> bytes:
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if md5 is not None and found != md5:
        raise DataError(f"{where} is damaged: its content has the MD5 sum {found}, not {md5}; fetch it again")
    return content


def keep(name: str, content: bytes) -> None:
    """Pack a file into the cache, whole or not at all."""
    target = cache_folder() / f"{name}.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_file(target, gzip.compress(content))


def _missing(name: str) -> str:
    file = name if name.endswith(".npz") else f"{name}.gz"  # npz is packed as it is
    return (
        f"the data file {file} is not in {folders()[0]}: put it there, "
        f"or set {FOLDER_VARIABLE} to the folder that holds {file}"
    )
