"""EVAL-X for wide tables: one predictor that learned from random masks alone, on training rows, judges other rows.

Masks of few features must be well represented, or they are judged by guesswork: the number shown is drawn
log-uniformly from 1 to d. Half of the masks show features in proportion to their spread, so that pixels that are
always black do not fill them. No mask depends on its row.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.engine.runtime import generator_on
from sklar.training.engine.steps import adamw, averaging, cosine, follow, move, repeat, set_learning_rate
from sklar.training.tasks import Task

BLOCK_ROWS = 2000
AVERAGE = 0.999  # of the weights


@dataclass(frozen=True)
class JudgeSettings:
    """How large the judge is and how long it learns."""

    hidden: int = 512
    steps: int = 20_000
    batch_size: int = 1000
    learning_rate: float = 1e-3
    weight_decay: float = 0.05


def train_judge(
    x: Tensor, y: Tensor, task: Task, settings: JudgeSettings, seed: int, report: Callable[[], object] = lambda: None
) -> MaskedPredictor:
    """A predictor of y (n,) from rows x (n, d) shown by any mask."""
    n, d = x.shape
    generator = generator_on(x.device, seed)
    learner = MaskedPredictor(d, settings.hidden, task.n_outputs, 1, torch.Generator().manual_seed(seed)).to(x.device)
    judge = copy.deepcopy(learner).requires_grad_(False)
    optimiser = adamw(learner, settings.learning_rate, settings.weight_decay)
    spread = x.std(0)
    memory = averaging(AVERAGE, settings.steps)
    rise = min(500, 1 + settings.steps // 5)
    weights, averaged = list(learner.parameters()), list(judge.parameters())

    def step() -> None:
        pick = torch.randint(n, (settings.batch_size,), generator=generator, device=x.device)
        rows = x[pick].unsqueeze(0)
        loss = task.row_loss(learner(rows, sparse_masks(rows, spread, generator)), y[pick].unsqueeze(0)).mean()
        loss.backward()
        move(optimiser)
        follow(averaged, weights, 1 - memory)

    def before(k: int) -> None:
        set_learning_rate(optimiser, settings.learning_rate * cosine(k, settings.steps) * min(1.0, (k + 1) / rise))
        report()

    repeat(step, settings.steps, before, x.device, generator)
    return judge


def sparse_masks(x: Tensor, spread: Tensor, generator: torch.Generator) -> Tensor:
    """Random masks for rows x (..., n, d), log-uniform in how many features they show on average: like x.

    Even rows show all features equally often, odd rows in proportion to their `spread` (d,).
    """
    d = x.shape[-1]
    shown = torch.rand(x.shape[:-1], generator=generator, device=x.device).mul(math.log(d)).exp()
    even = torch.arange(x.shape[-2], device=x.device).unsqueeze(-1) % 2 == 0
    share = torch.where(even, torch.full_like(spread, 1 / d), spread / spread.sum().clamp_min(1e-12))  # (n, d)
    return (torch.rand(x.shape, generator=generator, device=x.device) < shown.unsqueeze(-1) * share).to(x.dtype)


@torch.no_grad()
def judged(judge: MaskedPredictor, x: Tensor, mask: Tensor) -> Tensor:
    """Outputs for rows x (n, d) shown by masks (n, d), in blocks of rows: (n, out)."""
    parts = [
        judge(x[None, i : i + BLOCK_ROWS], mask[None, i : i + BLOCK_ROWS].to(x.dtype))[0]
        for i in range(0, len(x), BLOCK_ROWS)
    ]
    return torch.cat(parts)
