"""A folder in which a fit keeps itself, so that the same fit goes on after a kill, to the same result.

A training is a row of loops, which the same data, parameters and seed run in the same order. Each loop has a file:
its state after so many steps. A fit that begins again runs the same code, takes each loop's state from its file, and
does the steps that are left. What lies between loops follows from their states, and is computed again.

Files are safetensors with a checksum behind them, and JSON: reading one runs no code.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sklar.atomic import replace_file
from sklar.locking import lock
from sklar.training.engine.state import State, StateError, put_back, tensors_of

SECONDS = 60.0  # between two writes, at least
SHARE = 0.01  # of the time, for writing, at most
FORMAT = 1
IDENTITY = "checkpoint.json"
N_STEPS = "n_steps"  # the tensor that says how many steps were done
REMEDY = "name another folder, or delete this one to begin anew"
DIGEST = hashlib.sha256().digest_size


class CheckpointError(ValueError):
    """A checkpoint that cannot be read, or that of another fit; the message says what is wrong with it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with checkpointing(folder, {"max_epochs": "5"}, seed=0):
    ...         pass  # a fit
    ...     with checkpointing(folder, {"max_epochs": "6"}, seed=0):
    ...         pass
    Traceback (most recent call last):
    ...
    sklar.training.engine.checkpoint.CheckpointError: ... another fit: max_epochs was 5 and is 6; name another folder...
    """


class Checkpoint:
    """The states of a fit's loops in a folder; `checkpointing` opens one.

    A loop calls `begin`, after every step `keep`, and `end`.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.n_loops = 0  # that have begun
        self.ended: dict[Path, dict[str, Tensor]] = {}  # states of loops that are not written yet
        self.next_write = time.monotonic() + SECONDS
        self.writing = 0.0  # seconds spent so far

    def begin(self, state: State, most_steps: int) -> int:
        """Begin the next loop: give it the state that is kept of it. Returns how many steps were done."""
        self.n_loops += 1
        if not self._path.exists():
            return 0
        try:
            tensors = _read(self._path)
            n_steps = tensors.pop(N_STEPS)
            if n_steps.shape or n_steps.dtype != torch.long or not 0 < int(n_steps) <= most_steps:
                raise StateError(f"{N_STEPS!r} is not a number of steps from 1 to {most_steps}")
            put_back(state, tensors)
        except (StateError, KeyError, RuntimeError) as error:
            raise CheckpointError(f"{self._path}: not a state of this fit ({error}); {REMEDY}") from error
        return int(n_steps)

    def keep(self, state: State, n_steps: int) -> None:
        """Write the state after so many steps of the present loop, if it is time for it."""
        if time.monotonic() < self.next_write:
            return
        start = time.monotonic()
        try:
            for path, tensors in [*self.ended.items(), (self._path, _taken(state, n_steps))]:
                _write(path, tensors)
            self.ended.clear()
        except OSError as error:  # a full disk is no reason to lose hours of training
            warnings.warn(f"the checkpoint in {self.folder} was not written: {error}; the fit goes on", stacklevel=2)
        took = time.monotonic() - start
        self.writing += took
        self.next_write = start + took + max(SECONDS, took / SHARE)

    def end(self, state: State, n_steps: int) -> None:
        """Remember the state that the present loop ends with; the next write writes it too."""
        self.ended[self._path] = _taken(state, n_steps)

    @property
    def _path(self) -> Path:
        return self.folder / f"loop-{self.n_loops:03d}.safetensors"


@contextmanager
def checkpointing(folder: str | os.PathLike[str], identity: Mapping[str, str], seed: int) -> Iterator[Checkpoint]:
    """The checkpoint in a folder, new or of the same fit, which nobody else writes meanwhile.

    `identity` says what makes a fit this one; of another the checkpoint is refused. An earlier one's seed is kept.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder} is a file; a checkpoint is a folder")
    folder.mkdir(parents=True, exist_ok=True)
    strangers = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    if strangers and IDENTITY not in strangers:
        raise CheckpointError(f"{folder} holds {strangers[0]!r}, but no checkpoint; name an empty or new folder")
    with open(folder / ".lock", "ab") as file:
        lock(file, f"another fit is writing to {folder}; wait for it, or name another folder")
        kept = Checkpoint(folder, _seed_of(folder, identity, seed))
        for part in folder.glob(".*.part"):  # of a write that was killed
            part.unlink()
        yield kept


def _seed_of(folder: Path, identity: Mapping[str, str], seed: int) -> int:
    """The seed of the fit that the folder holds, which must be this one; in an empty one write down this one."""
    path = folder / IDENTITY
    if path.exists():
        known = _read_identity(path)
        _require_same(folder, known["identity"], identity)
        return known["seed"]
    replace_file(path, json.dumps({"format": FORMAT, "seed": seed, "identity": dict(identity)}, indent=1))
    return seed


def _read_identity(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: damaged, no JSON ({error}); {REMEDY}") from error
    if not isinstance(known, dict) or known.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a checkpoint of this format; {REMEDY}")
    seed, identity = known.get("seed"), known.get("identity")
    if type(seed) is not int or not 0 <= seed < 2**31 or not isinstance(identity, dict):
        raise CheckpointError(f"{path}: damaged: 'seed' or 'identity' is not what a fit writes; {REMEDY}")
    return known


def _require_same(folder: Path, known: Mapping[str, Any], identity: Mapping[str, str]) -> None:
    differences = []
    for name in sorted(known.keys() | identity.keys()):
        before, now = known.get(name), identity.get(name)
        if before != now:
            is_digest = now is not None and now.startswith("sha256:")
            differences.append(f"{name} is another" if is_digest else f"{name} was {before} and is {now}")
    if differences:
        raise CheckpointError(f"{folder} is the checkpoint of another fit: {', '.join(differences)}; {REMEDY}")


def _taken(state: State, n_steps: int) -> dict[str, Tensor]:
    return {**tensors_of(state), N_STEPS: torch.tensor(n_steps)}


def _write(path: Path, tensors: dict[str, Tensor]) -> None:
    from safetensors.torch import save

    payload = save(tensors)
    replace_file(path, payload + hashlib.sha256(payload).digest())


def _read(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    content = path.read_bytes()
    payload, digest = content[:-DIGEST], content[-DIGEST:]
    if hashlib.sha256(payload).digest() != digest:
        raise StateError("damaged: its contents do not match its checksum")
    try:
        return load(payload)
    except (SafetensorError, ValueError, KeyError) as error:
        raise StateError(f"no safetensors: {error}") from error
