"""ISOLET: 617 measures of a spoken letter's name, 150 speakers, 26 letters (UCI, 1991).

Text, one utterance a line: 617 values with at most four decimals, then the letter's number, "1." to "26.". The first
file holds the speakers of groups 1 to 4, the second those of group 5.
"""

from __future__ import annotations

import hashlib
import io
import zipfile

import numpy as np

from sklar.datasets.store import DataError, download, read
from sklar.paper.data.lzw import decompress

FILES = ("isolet/isolet1+2+3+4.data", "isolet/isolet5.data")
HOME = "https://archive.ics.uci.edu/static/public/54/isolet.zip"
N_FEATURES, N_LETTERS = 617, 26
# SHA-256 of the numbers themselves, as 32-bit whole ten-thousandths: copies differ in how they write them.
SUMS = (
    "95c75e3ed1ebc0303f84c903e525945aac069c8998adc0fbb65d55e5d4587c69",
    "bb717d72c02e4b504a18a16527bbde7e8cd6e66813a36bcb324e37cda831fa59",
)
SPLITS = ("random", "speakers")
TEST_SHARE = 0.25


def load_isolet(
    split: str = "random", random_state: int | None = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """ISOLET, split for training and testing.

    Files are read from `$SKLAR_DATA/isolet/`, else from the user's cache folder, else downloaded; the numbers are
    checked.

    Parameters
    ----------
    split : "random" (75 to 25, the paper's) or "speakers" (groups 1-4 against group 5, the usual one)
    random_state : seed of the random split

    Returns
    -------
    X_train, y_train, X_test, y_test : float32 (n, 617), int64 (n,) with 0 for A to 25 for Z

    Examples
    --------
    >>> X, y, X_test, y_test = load_isolet("speakers")  # doctest: +SKIP
    >>> len(X), len(X_test)  # doctest: +SKIP
    (6238, 1559)
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {SPLITS}; got {split!r}")
    parts = [_table(name, expected) for name, expected in zip(FILES, SUMS, strict=True)]
    if split == "speakers":
        train, test = parts
    else:
        rows = np.concatenate(parts)
        rows = rows[np.random.default_rng(random_state).permutation(len(rows))]
        n_test = round(TEST_SHARE * len(rows))
        test, train = rows[:n_test], rows[n_test:]
    return *_features_and_letters(train), *_features_and_letters(test)


def parse_isolet(content: bytes, source: str) -> np.ndarray:
    """The numbers of one file, letters last: float64 (n, 618)."""
    text = content.decode("ascii", errors="replace").strip().replace("\n", ",")
    fields = text.split(",")
    try:
        numbers = np.array(fields, dtype=np.float64)
    except ValueError as error:
        raise DataError(f"{source} is damaged: {error}") from error
    if len(numbers) % (N_FEATURES + 1):
        raise DataError(f"{source} is damaged: {len(numbers)} numbers are not whole lines of {N_FEATURES + 1}")
    table = numbers.reshape(-1, N_FEATURES + 1)
    letters = table[:, -1]
    if not np.isin(letters, np.arange(1, N_LETTERS + 1)).all():
        row = int(np.flatnonzero(~np.isin(letters, np.arange(1, N_LETTERS + 1)))[0])
        raise DataError(f"{source} is damaged: line {row + 1} ends in {letters[row]:g}, which is no letter (1 to 26)")
    return table


def content_sum(table: np.ndarray) -> str:
    """SHA-256 of a table's numbers as whole ten-thousandths."""
    return hashlib.sha256(np.round(table * 10_000).astype("<i4").tobytes()).hexdigest()


def _table(name: str, expected: str) -> np.ndarray:
    """The numbers of one file, found or fetched; what was fetched is checked before it is kept."""

    def fetch() -> bytes:
        with zipfile.ZipFile(io.BytesIO(download(HOME))) as archive:
            content = decompress(archive.read(f"{name.split('/')[1]}.Z"))
        _checked(content, name, expected)
        return content

    return _checked(read(name, fetch), name, expected)


def _checked(content: bytes, name: str, expected: str) -> np.ndarray:
    table = parse_isolet(content, name)
    found = content_sum(table)
    if found != expected:
        raise DataError(f"{name} is damaged: its numbers have the SHA-256 sum {found}, not {expected}; fetch it again")
    return table


def _features_and_letters(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return table[:, :-1].astype(np.float32), table[:, -1].astype(np.int64) - 1
