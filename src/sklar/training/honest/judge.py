"""EVAL-X for wide tables: one predictor that learned from random masks alone, on training rows, judges other rows.

Masks of few features must be well represented, or they are judged by guesswork: the number shown is drawn
log-uniformly from 1 to d. Half of the masks show features in proportion to their spread, so that pixels that are
always black do not fill them. No mask depends on its row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.row_blocks import map_rows
from sklar.training.engine.averaging import AveragedLearner
from sklar.training.engine.graphs import graphed
from sklar.training.engine.optim import RateSchedule, adamw
from sklar.training.engine.runtime import generator_on
from sklar.training.engine.steps import scheduled
from sklar.training.tasks import Task


@dataclass(frozen=True)
class JudgeSettings:
    """How large the judge of wide tables is and how long it learns."""

    hidden: int = 512
    steps: int = 20_000
    batch_size: int = 1000
    learning_rate: float = 1e-3
    weight_decay: float = 0.05
    warm_up: int = 500  # steps over which the learning rate rises
    ema_decay: float = 0.999  # of the weights: ten times as slow as the predictors', which learn ten times as fast


def train_judge(
    x: Tensor, y: Tensor, task: Task, settings: JudgeSettings, seed: int, report: Callable[[], object] = lambda: None
) -> MaskedPredictor:
    """A predictor of y (n,) from rows x (n, d) shown by any mask."""
    n, d = x.shape
    s, generator = settings, generator_on(x.device, seed)
    network = MaskedPredictor(d, s.hidden, task.n_outputs, 1, torch.Generator().manual_seed(seed)).to(x.device)
    learner = AveragedLearner(network, adamw(network, s.learning_rate, s.weight_decay), s.ema_decay)
    spread = x.std(0)

    def step() -> None:
        pick = torch.randint(n, (s.batch_size,), generator=generator, device=x.device)
        rows = x[pick].unsqueeze(0)
        loss = task.row_loss(network(rows, sparse_masks(rows, spread, generator)), y[pick].unsqueeze(0)).mean()
        loss.backward()
        learner.step()
        learner.update_average()

    learner.begin(s.steps)
    rates = RateSchedule(s.learning_rate, s.warm_up)
    run = graphed(step, generator)
    for _ in scheduled(s.steps, [(learner.optimiser, rates)]):
        report()
        run()
    return learner.average


def sparse_masks(x: Tensor, spread: Tensor, generator: torch.Generator) -> Tensor:
    """Random masks for rows x (..., n, d), log-uniform in how many features they show on average: like x.

    Even rows show all features equally often, odd rows in proportion to their `spread` (d,).
    """
    d = x.shape[-1]
    shown = torch.rand(x.shape[:-1], generator=generator, device=x.device).mul(math.log(d)).exp()
    even = torch.arange(x.shape[-2], device=x.device).unsqueeze(-1) % 2 == 0
    share = torch.where(even, torch.full_like(spread, 1 / d), spread / spread.sum().clamp_min(1e-12))  # (n, d)
    return (torch.rand(x.shape, generator=generator, device=x.device) < shown.unsqueeze(-1) * share).to(x.dtype)


def judged(judge: MaskedPredictor, x: Tensor, mask: Tensor) -> Tensor:
    """Outputs for rows x (n, d) shown by masks (n, d), in blocks of rows: (n, out)."""
    d, shown = x.shape[1], mask.to(x.dtype)

    def read(part: slice) -> np.ndarray:
        return torch.cat([x[part], shown[part]], dim=1).cpu().numpy()  # each row with its mask

    width = max(2 * d, judge.first.weight.shape[-1])
    outputs = map_rows(judge, len(x), read, lambda model, rows: model(rows[..., :d], rows[..., d:]), x.device, width)
    return torch.from_numpy(outputs).to(x.device)
