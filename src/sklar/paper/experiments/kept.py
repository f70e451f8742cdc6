"""Judges that were trained once, kept in the user's cache: every method of a figure is judged by the same one."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from sklar.datasets.store import cache_folder
from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.honest import judge as judge_module
from sklar.training.honest.judge import JudgeSettings

STEPS_WORTH_KEEPING = 5_000  # a judge of fewer is trained as quickly as found


def kept_judge(
    name: str, data: tuple[np.ndarray, np.ndarray], settings: JudgeSettings, make: Callable[[], MaskedPredictor]
) -> MaskedPredictor:
    """The judge that `make` trains, or the one kept of the same data, settings and code."""
    if settings.steps < STEPS_WORTH_KEEPING:
        return make()
    x, y = data
    path = cache_folder() / "judges" / f"{name}-{_fingerprint(data, settings)}.pt"
    if path.is_file():
        judge = MaskedPredictor(x.shape[1], settings.hidden, int(y.max()) + 1, 1, torch.Generator())
        judge.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
        return judge.requires_grad_(False)
    judge = make()
    _keep(path, judge)
    return judge


def _fingerprint(data: tuple[np.ndarray, np.ndarray], settings: JudgeSettings) -> str:
    digest = hashlib.sha256(f"{settings} {inspect.getsource(judge_module)}".encode())
    for part in data:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def _keep(path: Path, judge: MaskedPredictor) -> None:
    """Whole or not at all; where the cache cannot be written the judge is only not kept."""
    half = path.with_suffix(f".{os.getpid()}.half")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({key: value.cpu() for key, value in judge.state_dict().items()}, half)
        os.replace(half, path)
    except OSError:
        with contextlib.suppress(OSError):
            half.unlink()
