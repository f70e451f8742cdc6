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
from torch.nn.functional import one_hot

from sklar.model.gates import Gates, largest_by_gate
from sklar.training.honest.screening import score_z
from sklar.training.honest.settings import WIDEST
from sklar.training.targets import TableTask
from sklar.training.tasks import Task

BLOCK = 1024  # columns read at a time


def strongest_features(
    block: Callable[[slice], Tensor],
    n_columns: int,
    y: Tensor,
    task: Task,
    most: int = WIDEST,
    gates: Gates | None = None,
    weight: Tensor | None = None,
) -> np.ndarray:
    """The `most` features most clearly related to y, one by one, in ascending order; forced ones first of all.

    `block(columns)` gives the inputs of columns (n, c), standardised where a feature is one of them; only one block is
    held at a time. `gates` says which inputs a feature has, None one each; `weight` (n,) is what rows count.

    Examples
    --------
    >>> x = torch.randn(500, 40, generator=torch.Generator().manual_seed(0))
    >>> strongest_features(lambda columns: x[:, columns], 40, (x[:, 7] > 0).long(), Task(2), most=1)
    array([7])
    """
    gates = gates or Gates(n_columns)
    counts = torch.ones(len(y), device=y.device) if weight is None else weight
    residual = task.residuals(constant_output(task, y, counts), y) * counts.unsqueeze(-1)  # (n, C)
    encoded = gates.of_input is not None
    slices = [slice(first, min(first + BLOCK, n_columns)) for first in range(0, n_columns, BLOCK)]
    z = torch.cat([score_z(block(part).unsqueeze(0), residual.unsqueeze(0), encoded)[0] for part in slices])
    strength = largest_by_gate(z, gates.of_input, gates.n)
    if gates.forced is not None:
        strength = strength.masked_fill(gates.forced, torch.inf)
    return np.sort(strength.topk(min(most, gates.n)).indices.cpu().numpy())


def constant_output(task: Task, y: Tensor, counts: Tensor) -> Tensor:
    """The best prediction that looks at nothing, of rows that count so much (n,): (n, out)."""
    share = counts / counts.sum()
    if task.kind == "classes":
        shares = share @ one_hot(y, task.n_outputs).to(share.dtype)  # sums in the same order on every device
        return shares.clamp_min(1e-12).log().expand(len(y), -1)
    if task.kind == "risk":  # the baseline hazard says it already
        return torch.zeros(len(y), 1, device=y.device)
    targets = task.targets[y] if isinstance(task, TableTask) else y.unsqueeze(-1)
    mean = share @ targets
    links = {"values": lambda value: value, "labels": lambda value: value.logit(1e-6), "counts": torch.log}
    return links[task.kind](mean).expand(len(y), -1)
