"""Checkpoints as files: when they are written, whose they are, and what is refused."""

import hashlib
import json
import random

import pytest
import torch
from safetensors.torch import save

from sklar.training.engine import checkpoint as checkpoints
from sklar.training.engine.checkpoint import CheckpointError, checkpointing

IDENTITY = {"X": "sha256:a", "max_epochs": "5"}


@pytest.fixture
def at_once(monkeypatch):
    """Every step is written."""
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", float("inf"))


def kept(folder, identity=IDENTITY, seed=3):
    return checkpointing(folder, identity, seed)


def written(folder, n_loops=1, n_steps=2):
    """Loops whose state is the number of their steps."""
    with kept(folder) as checkpoint:
        for _ in range(n_loops):
            state = {"x": torch.zeros(3)}
            checkpoint.begin(state, 10)
            for step in range(n_steps):
                state["x"].fill_(step + 1)
                checkpoint.keep(state, step + 1)
            checkpoint.end(state, n_steps)
    return folder


def begun(folder):
    state = {"x": torch.zeros(3)}
    with kept(folder) as checkpoint:
        return checkpoint.begin(state, 10), state["x"].tolist()


def test_a_loop_gets_its_state_back(tmp_path, at_once):
    assert begun(written(tmp_path / "run", n_steps=4)) == (4, [4.0] * 3)
    assert begun(tmp_path / "other") == (0, [0.0] * 3)


def test_within_a_minute_nothing_is_written_and_then_all_that_ended_too(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    state = {"x": torch.zeros(1)}
    with kept(tmp_path) as checkpoint:
        for _ in range(2):
            checkpoint.begin(state, 10)
            checkpoint.keep(state, 1)
            checkpoint.end(state, 2)
        checkpoint.begin(state, 10)
        now[0] = 59.0
        checkpoint.keep(state, 1)
        assert not list(tmp_path.glob("loop-*"))
        now[0] = 61.0
        checkpoint.keep(state, 2)
        assert len(list(tmp_path.glob("loop-*"))) == 3
        assert checkpoint.next_write == 121.0


def test_slow_writes_are_rare(tmp_path, monkeypatch):
    """A write of 3 seconds is followed by at least 300 without one."""
    now = [100.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoints, "_write", lambda path, tensors: now.__setitem__(0, now[0] + 3.0))
    with kept(tmp_path) as checkpoint:
        checkpoint.begin({}, 10)
        now[0] = 200.0
        checkpoint.keep({}, 1)
        assert checkpoint.writing == 3.0
        assert checkpoint.next_write == pytest.approx(503.0)


def test_a_disk_that_is_full_does_not_end_the_fit(tmp_path, at_once, monkeypatch):
    def full(path, payload):
        raise OSError("No space left on device")

    state, write = {"x": torch.ones(3)}, checkpoints.replace_file
    with kept(tmp_path) as checkpoint:
        checkpoint.begin(state, 10)
        checkpoint.end(state, 1)
        checkpoint.begin(state, 10)
        monkeypatch.setattr(checkpoints, "replace_file", full)
        with pytest.warns(UserWarning, match=r"was not written: No space left.*; the fit goes on"):
            checkpoint.keep(state, 1)
        monkeypatch.setattr(checkpoints, "replace_file", write)
        checkpoint.keep(state, 2)  # and then also what could not be written before
    assert len(list(tmp_path.glob("loop-*"))) == 2


def test_the_seed_of_the_first_fit_stays(tmp_path):
    with kept(tmp_path, seed=3) as checkpoint:
        assert checkpoint.seed == 3
    with kept(tmp_path, seed=9) as checkpoint:
        assert checkpoint.seed == 3


def test_what_a_killed_write_left_goes(tmp_path):
    written(tmp_path)
    (tmp_path / ".loop-001.safetensors.abc.part").write_bytes(b"half")
    with kept(tmp_path):
        assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "checkpoint.json"]


def test_two_fits_do_not_write_at_once(tmp_path):
    with kept(tmp_path), pytest.raises(OSError, match="another fit is writing to"), kept(tmp_path):
        pass
    with kept(tmp_path):
        pass


@pytest.mark.parametrize(
    ("identity", "says"),
    [
        ({**IDENTITY, "X": "sha256:b"}, "the checkpoint of another fit: X is another; name another folder, or delete"),
        ({**IDENTITY, "max_epochs": "6"}, "another fit: max_epochs was 5 and is 6;"),
        ({"X": "sha256:a"}, "max_epochs was 5 and is None"),
        ({**IDENTITY, "k": "2"}, "k was None and is 2"),
    ],
)
def test_another_fits_checkpoint_is_refused(tmp_path, identity, says):
    written(tmp_path)
    with pytest.raises(CheckpointError, match=says), kept(tmp_path, identity):
        pass


def test_folders_that_are_none(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(CheckpointError, match=r"holds 'thesis.tex', but no checkpoint"), kept(tmp_path):
        pass
    with pytest.raises(CheckpointError, match="is a file"), kept(tmp_path / "thesis.tex"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "[" * 100_000, '{"format": 2}', '{"format": 1, "seed": 1}', '{"format": 1, "identity": {}}']
    + [json.dumps({"format": 1, "identity": {}, "seed": seed}) for seed in (True, 1.5, -1, 2**31, "1", None)]
    + ['{"format": 1, "identity": [], "seed": 1}', '{"format": 1, "seed": ' + "9" * 5000 + ', "identity": {}}'],
    ids=lambda text: text[:40],
)
def test_a_damaged_identity_is_refused(tmp_path, text):
    (tmp_path / "checkpoint.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"checkpoint\.json: .*delete this one"), kept(tmp_path):
        pass


def test_bytes_that_changed_are_refused(tmp_path, at_once):
    path = written(tmp_path) / "loop-001.safetensors"
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match="do not match its checksum"):
            begun(tmp_path)
    for end in (0, 5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(CheckpointError, match=r"loop-001.*begin anew"):
            begun(tmp_path)


def signed(payload):
    return payload + hashlib.sha256(payload).digest()


STEPS, X = torch.tensor(2), torch.ones(3)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no safetensors"),
        (b"\xff" * 100, "no safetensors"),
        (b"\x80\x04\x95.", "no safetensors"),  # a pickle
        (save({"x": X}), "n_steps"),
        (save({"x": X, "n_steps": STEPS.float()}), "n_steps"),
        (save({"x": X, "n_steps": torch.tensor([2])}), "n_steps"),
        (save({"x": X, "n_steps": torch.tensor(11)}), "from 1 to 10"),
        (save({"x": X, "n_steps": torch.tensor(0)}), "from 1 to 10"),
        (save({"n_steps": STEPS}), "'x' is missing"),
        (save({"x": X.double(), "n_steps": STEPS}), "should be"),
        (save({"x": X[:2], "n_steps": STEPS}), "should be"),
        (save({"x": X, "y": X.clone(), "n_steps": STEPS}), "it has 'y'"),
    ],
)
def test_a_well_signed_file_of_something_else_is_refused(tmp_path, at_once, content, says):
    path = written(tmp_path) / "loop-001.safetensors"
    path.write_bytes(signed(content))
    with pytest.raises(CheckpointError, match=f"not a state of this fit.*{says}"):
        begun(tmp_path)


def test_a_generators_state_that_is_none_is_refused(tmp_path, at_once):
    generator = torch.Generator()
    tensors = {"rng": torch.full_like(generator.get_state(), 255), "n_steps": STEPS}
    with kept(tmp_path) as checkpoint:
        (tmp_path / "loop-001.safetensors").write_bytes(signed(save(tensors)))
        with pytest.raises(CheckpointError, match="not a state of this fit"):
            checkpoint.begin({"rng": generator}, 10)


def mutated(content, rng):
    """A few bytes changed, inserted or left out."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(content))
        new = bytes(rng.choice([rng.randrange(256), *b'0123456789"[]{}:,x']) for _ in range(rng.randint(1, 4)))
        content[place : place + rng.choice([0, len(new), 2 * len(new)])] = new
    return bytes(content)


def outcome(folder):
    """What begins: "a state", or an error that names the folder."""
    try:
        begun(folder)
    except CheckpointError as error:
        return "a clear error" if str(folder) in str(error) else str(error)
    return "a state"


@pytest.mark.parametrize("name", ["loop-001.safetensors", "checkpoint.json"])
@pytest.mark.parametrize("n", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_of_any_content_a_state_or_a_clear_error_comes(tmp_path, at_once, name, n):
    """A state's checksum is made anew: only its content is wrong."""
    path, rng = written(tmp_path) / name, random.Random(0)
    is_state = path.suffix == ".safetensors"
    whole, finished, outcomes = path.read_bytes(), signed if is_state else bytes, set()
    for _ in range(n):
        path.write_bytes(finished(mutated(whole[: -checkpoints.DIGEST] if is_state else whole, rng)))
        outcomes.add(outcome(tmp_path))
    assert outcomes == {"a state", "a clear error"}
