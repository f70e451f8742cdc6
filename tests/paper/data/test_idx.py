"""IDX files that the tests write themselves."""

import gzip
import hashlib
import struct

import numpy as np
import pytest

from sklar.datasets.store import DataError
from sklar.paper.data import idx, load_images


def idx_bytes(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def small_mnist(tmp_path, monkeypatch):
    """Five training images of 3 x 2 pixels, with their sums in place of the real ones."""
    images = np.arange(30, dtype=np.uint8).reshape(5, 3, 2) * 8
    labels = np.array([3, 1, 4, 1, 5], dtype=np.uint8)
    (tmp_path / "mnist").mkdir()
    for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
        name = f"mnist/train-{kind}-ubyte"
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(idx_bytes(array)))
        monkeypatch.setitem(idx.SUMS, name, hashlib.md5(idx_bytes(array), usedforsecurity=False).hexdigest())
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    return images, labels


def test_images_become_rows_between_0_and_1(small_mnist):
    images, labels = small_mnist
    X, y = load_images("mnist")
    assert X.dtype == np.float32
    np.testing.assert_allclose(X, images.reshape(5, 6) / 255, rtol=1e-6)
    np.testing.assert_array_equal(y, labels)


def test_missing_part(small_mnist):
    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte\.gz is not in"):
        load_images("mnist", "test")


def test_other_content_is_refused(small_mnist, tmp_path):
    path = tmp_path / "mnist/train-labels-idx1-ubyte.gz"
    path.write_bytes(gzip.compress(idx_bytes(np.zeros(5, dtype=np.uint8))))
    with pytest.raises(DataError, match=r"train-labels.*damaged"):
        load_images("mnist")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no IDX file"),
        (bytes([0, 0, 9, 1, 0, 0, 0, 1, 5]), "no IDX file"),
        (bytes([0, 0, 8, 3, 0, 0]), "ends within its header"),
        (idx_bytes(np.zeros((2, 2), dtype=np.uint8))[:-1], r"its header says \(2, 2\), but 3 bytes follow"),
    ],
)
def test_damaged(content, says):
    with pytest.raises(DataError, match=says):
        idx.parse_idx(content, "file")


def test_unknown_arguments():
    with pytest.raises(ValueError, match="name must be one of"):
        load_images("cifar")
    with pytest.raises(ValueError, match="part must be one of"):
        load_images("mnist", "validation")
