"""`predictor="auto"`: networks, boosted trees, or the mean of both, as rows say that neither has learned from.

They are shown by masks selected for *other* rows. A row's own mask was chosen by a selector that saw its outcome, and
so makes any predictor look good.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from sklar.training.tasks import Task

NETWORKS, MEAN, TREES = "networks", "mean", "trees"
ERRORS = 1.0  # standard errors of the paired difference by which one must be ahead of another


class PredictorChoice(NamedTuple):
    """What was chosen, and the losses that it was chosen by."""

    name: str
    losses: dict[str, float]

    def record(self) -> dict[str, float | str]:
        """As a line of a fit's history."""
        losses = {f"loss_{name}": loss for name, loss in self.losses.items()}
        return {"part": "predictor", "predictor": self.name, "loss": self.losses[self.name], **losses}


def choose_predictor(
    outputs: dict[str, Tensor], task: Task, y: Tensor, weight: np.ndarray | None, errors: float = ERRORS
) -> PredictorChoice:
    """The networks, unless the mean of both is ahead by so many standard errors; and that, unless trees alone are.

    outputs : (n, out) each

    Examples
    --------
    >>> import torch
    >>> y = torch.tensor([0.0, 1.0, 2.0, 3.0])
    >>> outputs = {"networks": y[:, None] + 1, "mean": y[:, None] + 0.5, "trees": y[:, None]}
    >>> choose_predictor(outputs, Task(None), y, None).name
    'trees'
    """
    losses = {name: task.row_loss(output, y).double().numpy() for name, output in outputs.items()}
    means = {name: float(np.average(loss, weights=weight)) for name, loss in losses.items()}
    best = NETWORKS
    for other in (MEAN, TREES):  # each step away from the networks has to be sure
        difference = losses[best] - losses[other]
        if means[best] - means[other] > errors * float(difference.std()) / len(difference) ** 0.5:
            best = other
    return PredictorChoice(best, means)
