"""Trained judges in the user's cache: every method of a figure is judged by the same one, trained once."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from sklar.atomic import replacing
from sklar.datasets.store import cache_folder
from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.honest import judge as judge_module
from sklar.training.honest.judge import JudgeSettings

MIN_STEPS_TO_CACHE = 5_000  # a judge of fewer is trained as quickly as loaded


def cached_judge(
    name: str, data: tuple[np.ndarray, np.ndarray], settings: JudgeSettings, train: Callable[[], MaskedPredictor]
) -> MaskedPredictor:
    """The judge that `train` returns, or the cached one of the same data, settings and code."""
    if settings.steps < MIN_STEPS_TO_CACHE:
        return train()
    x, y = data
    path = cache_folder() / "judges" / f"{name}-{_fingerprint(data, settings)}.pt"
    if path.is_file():
        judge = MaskedPredictor(x.shape[1], settings.hidden, int(y.max()) + 1, 1, torch.Generator())
        judge.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
        return judge.requires_grad_(False)
    judge = train()
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, not the result
        _save(path, judge)
    return judge


def _fingerprint(data: tuple[np.ndarray, np.ndarray], settings: JudgeSettings) -> str:
    digest = hashlib.sha256(f"{settings} {inspect.getsource(judge_module)}".encode())
    for part in data:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def _save(path: Path, judge: MaskedPredictor) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        torch.save({key: value.cpu() for key, value in judge.state_dict().items()}, part)
