"""ISOLET files that the tests write themselves, in the format of the real ones."""

import gzip
import zipfile

import numpy as np
import pytest

from sklar.datasets.store import DataError
from sklar.paper.data import isolet, load_isolet
from tests.paper.data.test_lzw import compress


def table_of(n, seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.uniform(-1, 1, (n, isolet.N_FEATURES)), 4)
    return np.column_stack([values, rng.integers(1, 27, n)])


def text_of(table):
    lines = [", ".join([*(f"{v:.4f}" for v in row[:-1]), f"{int(row[-1])}."]) for row in table]
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture
def small_isolet(tmp_path, monkeypatch):
    tables = [table_of(12, 0), table_of(4, 1)]
    (tmp_path / "isolet").mkdir()
    for name, table in zip(isolet.FILES, tables, strict=True):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text_of(table)))
    monkeypatch.setattr(isolet, "SUMS", tuple(isolet.content_sum(table) for table in tables))
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    return tables


def test_speakers(small_isolet):
    X, y, X_test, y_test = load_isolet("speakers")
    np.testing.assert_allclose(X, small_isolet[0][:, :-1], rtol=1e-6)
    np.testing.assert_array_equal(y, small_isolet[0][:, -1] - 1)
    assert X_test.shape == (4, 617)
    assert X_test.dtype == np.float32
    assert y_test.dtype == np.int64


def test_random_split_is_75_to_25_and_fixed_by_its_seed(small_isolet):
    first, again, other = (load_isolet("random", seed) for seed in (0, 0, 1))
    assert [len(part) for part in first] == [12, 12, 4, 4]
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])
    every = np.concatenate([first[0], first[2]])
    whole = np.concatenate(small_isolet)[:, :-1]
    np.testing.assert_allclose(np.sort(every[:, 0]), np.sort(whole[:, 0]), rtol=1e-6)


def test_how_numbers_are_written_does_not_matter():
    table = table_of(2, 0)
    text = text_of(table).replace(b", ", b",").replace(b"0.", b".")
    assert isolet.content_sum(isolet.parse_isolet(text, "file")) == isolet.content_sum(table)


def test_another_number_is_seen(small_isolet, tmp_path):
    small_isolet[0][3, 5] += 0.001
    (tmp_path / f"{isolet.FILES[0]}.gz").write_bytes(gzip.compress(text_of(small_isolet[0])))
    with pytest.raises(DataError, match="damaged: its numbers have the SHA-256 sum"):
        load_isolet()


def test_downloaded(small_isolet, tmp_path, monkeypatch):
    """From a zip of .Z files, as its public home has it; cached for the next time."""
    home = tmp_path / "isolet.zip"
    with zipfile.ZipFile(home, "w") as archive:
        for name, table in zip(isolet.FILES, small_isolet, strict=True):
            archive.writestr(f"{name.split('/')[1]}.Z", compress(text_of(table)))
    monkeypatch.setattr(isolet, "HOME", home.as_uri())
    monkeypatch.delenv("SKLAR_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = load_isolet("speakers")
    home.unlink()
    for got, again in zip(first, load_isolet("speakers"), strict=True):
        np.testing.assert_array_equal(got, again)


def test_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"isolet1\+2\+3\+4.data.gz is not in"):
        load_isolet()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"1,2,three", "damaged"),
        (b"1,2,3", "3 numbers are not whole lines of 618"),
        (text_of(table_of(2, 0)).replace(b".\n", b"0.\n"), "which is no letter"),
    ],
)
def test_damaged(content, says):
    with pytest.raises(DataError, match=says):
        isolet.parse_isolet(content, "file")


def test_unknown_split():
    with pytest.raises(ValueError, match="split must be one of"):
        load_isolet("letters")
