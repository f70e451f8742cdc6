"""`.sklar` files: safetensors with versioned JSON metadata and a checksum. Reading one runs no code.

This module knows bytes, tensors and metadata; what they mean is said in `model_file`.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklar.atomic import replace_file

if TYPE_CHECKING:
    from torch import Tensor

FORMAT_VERSION = 5
_KEY = "sklar"


class ModelFileError(ValueError):
    """A model file that cannot be read; the message says what is wrong with it."""


def write_model(path: str | os.PathLike[str], tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
    """Write a file whole or not at all: a crash leaves what was there before."""
    from safetensors.torch import save

    tensors = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    metadata = {"format_version": FORMAT_VERSION, **metadata}
    # One entry only: safetensors writes several in random order, and equal models should be equal files.
    payload = save(tensors, metadata={_KEY: _text({**metadata, "digest": _digest(_text(metadata), tensors)})})
    replace_file(path, payload)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and metadata of a file, checked."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = _metadata(file.metadata() or {})
            tensors = {key: _tensor(file, key) for key in file.keys()}  # noqa: SIM118 (not a dict)
        digest = metadata.pop("digest", None)
        if digest != _digest(_text(metadata), tensors):
            raise ModelFileError("damaged: its contents do not match its checksum")
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (
        SafetensorError,
        ValueError,
        RecursionError,
        OSError,
    ) as error:  # ValueError: what is not JSON, or not UTF-8
        raise ModelFileError(f"{path}: not a sklar model, or a damaged one ({error})") from error
    return tensors, metadata


def _metadata(entries: dict[str, str]) -> dict[str, Any]:
    if _KEY not in entries:
        raise ModelFileError("a safetensors file, but not one that sklar wrote")
    metadata = json.loads(entries[_KEY], parse_constant=_refuse_constant)
    if not isinstance(metadata, dict):
        raise ModelFileError("its metadata is not a JSON object")
    version = metadata.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelFileError(
            f"written in format {version}, this sklar reads format {FORMAT_VERSION}; "
            f"it was made by sklar {metadata.get('library_version', 'of unknown version')}"
        )
    return metadata


def _refuse_constant(name: str) -> None:
    raise ModelFileError(f"its metadata holds {name}, which is not JSON")


def _tensor(file: Any, key: str) -> Tensor:
    """A tensor of finite floats; what no sklar wrote is refused before it is read."""
    kind = file.get_slice(key).get_dtype()
    if kind not in ("F32", "F64"):
        raise ModelFileError(f"tensor {key} must hold F32 or F64; got {kind}")
    value = file.get_tensor(key)
    if not value.isfinite().all():
        raise ModelFileError(f"tensor {key} holds a value that is not finite")
    return value


def _text(metadata: dict[str, Any]) -> str:
    return json.dumps(metadata, sort_keys=True, allow_nan=False)


def _digest(text: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(text.encode())
    for key in sorted(tensors):
        value = tensors[key]
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()
