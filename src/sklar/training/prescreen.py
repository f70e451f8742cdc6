"""Which columns of a very wide table the networks see at all: one pass over blocks of columns, in bounded memory.

A network of 100,000 inputs would need hours on a CPU and learns little from a few thousand rows. Before it, each
feature takes the score test of `screening`: is the target related to x_j or |x_j|? That is a sum over rows. What it
cannot see is a feature that acts only together with others; up to WIDEST features nothing is left out here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from sklar.training.objectives import Task
from sklar.training.screening import residuals, score_z

WIDEST = 4096  # features that networks train on
BLOCK = 1024  # columns read at a time


def strongest_columns(
    block: Callable[[slice], Tensor], n_features: int, y: Tensor, task: Task, most: int = WIDEST
) -> np.ndarray:
    """The `most` columns most clearly related to y, one by one, in ascending order.

    `block(columns)` gives standardised columns (n, c); only one block is held at a time.

    Examples
    --------
    >>> x = torch.randn(500, 40, generator=torch.Generator().manual_seed(0))
    >>> strongest_columns(lambda columns: x[:, columns], 40, (x[:, 7] > 0).long(), Task(2), most=1)
    array([7])
    """
    weight = residuals(task, _constant_output(task, y), y).unsqueeze(0)  # (1, n, C)
    slices = [slice(first, min(first + BLOCK, n_features)) for first in range(0, n_features, BLOCK)]
    z = torch.cat([score_z(block(columns).unsqueeze(0), weight)[0] for columns in slices])
    return np.sort(z.topk(min(most, n_features)).indices.cpu().numpy())


def _constant_output(task: Task, y: Tensor) -> Tensor:
    """The best prediction that looks at nothing: the logarithms of the classes' shares, or the mean: (n, out)."""
    if task.n_classes is None:
        return y.mean().expand(len(y), 1)
    shares = torch.bincount(y, minlength=task.n_classes) / len(y)
    return shares.clamp_min(1e-12).log().expand(len(y), -1)
