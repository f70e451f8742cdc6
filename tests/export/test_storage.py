"""Model files as bytes: whole or refused, written at once or not at all."""

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from sklar.export.storage import FORMAT_VERSION, ModelFileError, read_model, write_model

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1.5], dtype=torch.float64)}
METADATA = {"class": "Anything", "words": [1, "zwei", None]}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "m.sklar"
    write_model(file, TENSORS, METADATA)
    return file


def test_round_trip(path):
    tensors, metadata = read_model(path)
    assert metadata == {"format_version": FORMAT_VERSION, **METADATA}
    assert set(tensors) == set(TENSORS)
    for key, value in TENSORS.items():
        assert tensors[key].dtype == value.dtype
        assert torch.equal(tensors[key], value)


def test_equal_models_are_equal_files(path):
    first = path.read_bytes()
    for _ in range(10):
        write_model(path, dict(reversed(TENSORS.items())), METADATA)
        assert path.read_bytes() == first


def test_strided_tensors_are_written_as_they_look(tmp_path):
    write_model(tmp_path / "m", {"t": TENSORS["a"].T}, {})
    assert torch.equal(read_model(tmp_path / "m")[0]["t"], TENSORS["a"].T)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.sklar: no such file"):
        read_model(tmp_path / "none.sklar")


def test_truncated_anywhere_is_refused(path):
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"m\.sklar"):
            read_model(path)


@pytest.mark.parametrize("flip", [0x01, 0x20, 0xFF])
def test_a_flipped_byte_anywhere_is_refused_or_changes_nothing(path, flip):
    """Spaces that pad the header may change to other white space; all else is found."""
    whole = path.read_bytes()
    for offset in range(len(whole)):
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ flip]) + whole[offset + 1 :])
        try:
            tensors, metadata = read_model(path)
        except ModelFileError:
            continue
        assert metadata == {"format_version": FORMAT_VERSION, **METADATA}
        assert all(torch.equal(tensors[key], value) for key, value in TENSORS.items())


def test_appended_bytes_are_refused(path):
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ModelFileError):
        read_model(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"a,b\n1,2\n", b"\x00" * 100, b"\xff" * 100, b"PK\x03\x04" * 30])
def test_foreign_files_are_refused(tmp_path, content):
    file = tmp_path / "foreign.sklar"
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"foreign\.sklar: not a sklar model"):
        read_model(file)


def test_another_programs_safetensors_are_refused(tmp_path):
    save_file(TENSORS, tmp_path / "other.sklar")
    with pytest.raises(ModelFileError, match="not one that sklar wrote"):
        read_model(tmp_path / "other.sklar")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (json.dumps({"format_version": FORMAT_VERSION + 1, "library_version": "9.9"}), r"format 5.*sklar 9\.9"),
        (json.dumps({}), "format None"),
        ("[]", "not a JSON object"),
        ("{", "not a sklar model, or a damaged one"),
    ],
)
def test_strange_metadata_is_refused(tmp_path, text, says):
    save_file(TENSORS, tmp_path / "m.sklar", metadata={"sklar": text})
    with pytest.raises(ModelFileError, match=says):
        read_model(tmp_path / "m.sklar")


def test_a_wrong_checksum_is_refused(tmp_path):
    text = json.dumps({"format_version": FORMAT_VERSION, "digest": "0" * 64})
    save_file(TENSORS, tmp_path / "m.sklar", metadata={"sklar": text})
    with pytest.raises(ModelFileError, match="checksum"):
        read_model(tmp_path / "m.sklar")


def test_what_json_cannot_hold_is_not_written(path):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="JSON"):
        write_model(path, TENSORS, {"loss": float("nan")})
    assert path.read_bytes() == before


class CrashError(BaseException):
    """Not even an Exception: like a kill from the keyboard."""


@pytest.mark.parametrize("step", ["replace", "fsync", "chmod"])
def test_a_crash_leaves_the_old_file_whole_and_nothing_else(path, step, monkeypatch):
    def crash(*args, **kwargs):
        raise CrashError

    before = path.read_bytes()
    monkeypatch.setattr(os, step, crash)
    with pytest.raises(CrashError):
        write_model(path, {"new": torch.zeros(3)}, {})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_full_disk_leaves_the_old_file_whole(path, monkeypatch):
    def fills_up(self, payload):
        with self.open("wb") as file:
            file.write(payload[:10])
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr(Path, "write_bytes", fills_up)
    with pytest.raises(OSError, match="No space left"):
        write_model(path, {"new": torch.zeros(3)}, {})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_new_file_gets_the_usual_permissions(path):
    plain = path.with_name("plain")
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("raw", ["NaN", "1e999", "9" * 5000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000])
def test_json_that_breaks_readers_is_refused(tmp_path, raw):
    text = json.dumps({"format_version": FORMAT_VERSION, "digest": "0", "x": None}).replace("null", raw)
    save_file(TENSORS, tmp_path / "m.sklar", metadata={"sklar": text})
    with pytest.raises(ModelFileError, match=r"m\.sklar: "):
        read_model(tmp_path / "m.sklar")


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.int64, torch.bool])
def test_tensors_of_other_types_are_refused(tmp_path, kind):
    metadata = {"format_version": FORMAT_VERSION, "digest": "0"}
    save_file({"a": torch.ones(3).to(kind)}, tmp_path / "m.sklar", metadata={"sklar": json.dumps(metadata)})
    with pytest.raises(ModelFileError, match="tensor a must hold F32 or F64"):
        read_model(tmp_path / "m.sklar")


def test_tensors_that_are_not_finite_are_refused(tmp_path):
    write_model(tmp_path / "m.sklar", {"a": torch.tensor([1.0, float("nan")])}, METADATA)
    with pytest.raises(ModelFileError, match="tensor a holds a value that is not finite"):
        read_model(tmp_path / "m.sklar")
