"""Where data files are found, and what a missing or damaged one gets."""

import gzip
import hashlib

import pytest

from sklar.datasets import store

CONTENT = b"some bytes"
MD5 = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    (tmp_path / "set").mkdir()
    return tmp_path


@pytest.fixture
def home(tmp_path, monkeypatch):
    """No folder given: an empty cache, and a file that can be downloaded."""
    monkeypatch.delenv("SKLAR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "file.gz").write_bytes(gzip.compress(CONTENT))
    address = (tmp_path / "file.gz").as_uri()
    return lambda: gzip.decompress(store.download(address))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_packed_or_not(folder, ending):
    (folder / f"set/file{ending}").write_bytes(gzip.compress(CONTENT) if ending else CONTENT)
    assert store.read("set/file", md5=MD5) == CONTENT


def test_missing_says_what_to_put_where(folder):
    with pytest.raises(store.DataError, match=r"set/file\.gz is not in .*put it there, or set SKLAR_DATA"):
        store.read("set/file", fetch=lambda: CONTENT)


@pytest.mark.parametrize(
    "content", [b"\x1f\x8bbroken", gzip.compress(CONTENT, mtime=0)[:-6], b"text"], ids=["broken", "cut", "text"]
)
def test_a_file_that_does_not_unpack(folder, content):
    (folder / "set/file.gz").write_bytes(content)
    with pytest.raises(store.DataError, match="is damaged: it does not unpack"):
        store.read("set/file")


def test_other_content(folder):
    (folder / "set/file").write_bytes(b"other bytes")
    with pytest.raises(store.DataError, match=f"is damaged: its content has the MD5 sum .*, not {MD5}"):
        store.read("set/file", md5=MD5)


def test_downloaded_once(home, tmp_path):
    assert store.read("set/file", home, MD5) == CONTENT
    (tmp_path / "file.gz").unlink()
    assert store.read("set/file", home, MD5) == CONTENT
    assert [path.name for path in (tmp_path / "cache/sklar/set").iterdir()] == ["file.gz"]


def test_a_wrong_download_is_not_kept(home, tmp_path):
    with pytest.raises(store.DataError, match="is damaged"):
        store.read("set/file", home, "0" * 32)
    assert not (tmp_path / "cache").exists()


def test_no_network(home, tmp_path):
    with pytest.raises(store.DataError, match=r"put it there.*\(download failed: .*nothing\.gz"):
        store.read("set/file", lambda: store.download((tmp_path / "nothing.gz").as_uri()), MD5)
