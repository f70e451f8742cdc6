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

FORMAT_VERSION = 3
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
            text = (file.metadata() or {}).get(_KEY)
            if text is None:
                raise ModelFileError(f"{path}: a safetensors file, but not one that sklar wrote")
            metadata = json.loads(text)
            if not isinstance(metadata, dict):
                raise ModelFileError(f"{path}: its metadata is not a JSON object")
            version = metadata.get("format_version")
            if version != FORMAT_VERSION:
                raise ModelFileError(
                    f"{path}: written in format {version}, this sklar reads format {FORMAT_VERSION}; "
                    f"it was made by sklar {metadata.get('library_version', 'of unknown version')}"
                )
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, json.JSONDecodeError, UnicodeDecodeError, OSError) as error:
        raise ModelFileError(f"{path}: not a sklar model, or a damaged one ({error})") from error
    if metadata.pop("digest", None) != _digest(_text(metadata), tensors):
        raise ModelFileError(f"{path}: damaged: its contents do not match its checksum")
    return tensors, metadata


def _text(metadata: dict[str, Any]) -> str:
    return json.dumps(metadata, sort_keys=True, allow_nan=False)


def _digest(text: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(text.encode())
    for key in sorted(tensors):
        value = tensors[key]
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()
