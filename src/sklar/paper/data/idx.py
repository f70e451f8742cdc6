"""MNIST and Fashion-MNIST, from IDX files: a magic number, the shape, then bytes."""

from __future__ import annotations

import gzip
import struct

import numpy as np

from sklar.datasets.store import DataError, download, read

UNSIGNED_BYTE = 0x08
PARTS = {"train": "train", "test": "t10k"}
HOMES = {
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "fashion-mnist": "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
}
# MD5 sums of the unpacked files, as published with them.
SUMS = {
    "mnist/train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "mnist/train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "mnist/t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "mnist/t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    "fashion-mnist/train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
    "fashion-mnist/train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
    "fashion-mnist/t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
    "fashion-mnist/t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
}
IMAGE_SETS = tuple(HOMES)
FASHION_LABELS = (
    "T-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def load_images(name: str, part: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """MNIST or Fashion-MNIST as a table: pixels in [0, 1], row by row, and labels.

    Files are read from `$SKLAR_DATA/NAME/`, else from the user's cache folder, else downloaded; their content is
    checked against the published sums.

    Parameters
    ----------
    name : "mnist" or "fashion-mnist"
    part : "train" (60,000 rows) or "test" (10,000 rows)

    Returns
    -------
    X : float32 (n, 784)
    y : int64 (n,), 0 to 9

    Examples
    --------
    >>> X, y = load_images("mnist")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (60000, 784)
    """
    if name not in HOMES:
        raise ValueError(f"name must be one of {IMAGE_SETS}; got {name!r}")
    if part not in PARTS:
        raise ValueError(f"part must be one of {tuple(PARTS)}; got {part!r}")
    arrays = []
    for kind in ("images-idx3", "labels-idx1"):
        file = f"{name}/{PARTS[part]}-{kind}-ubyte"
        home = f"{HOMES[name]}{file.split('/')[1]}.gz"
        content = read(file, lambda home=home: gzip.decompress(download(home)), SUMS[file])  # type: ignore[misc]
        arrays.append(parse_idx(content, file))
    images, labels = arrays
    return images.reshape(len(images), -1).astype(np.float32) / np.float32(255), labels.astype(np.int64)


def parse_idx(content: bytes, source: str) -> np.ndarray:
    """The array of bytes that an IDX file holds.

    Examples
    --------
    >>> parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]), "two labels")
    array([7, 9], dtype=uint8)
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != UNSIGNED_BYTE:
        raise DataError(f"{source} is no IDX file of bytes: it does not begin with 00 00 08")
    header = 4 + 4 * content[3]
    if len(content) < header:
        raise DataError(f"{source} is damaged: it ends within its header")
    shape = struct.unpack(f">{content[3]}I", content[4:header])
    if len(content) - header != int(np.prod(shape, dtype=np.int64)):
        raise DataError(f"{source} is damaged: its header says {shape}, but {len(content) - header} bytes follow")
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)
