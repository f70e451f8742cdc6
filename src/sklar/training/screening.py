"""Which features may matter at all: the union that selection then works on, found at any width.

Two tests, each on rows judged by predictors that never saw them. The first asks the predictors: does showing the
feature lower the loss? It finds interactions, but a predictor of a hundred features overlooks weak ones. The second
asks the residuals of what was found so far: are they related to the feature, overall or where a found feature is
large or small? It is a sum over rows for each feature, so it costs next to nothing and sees weak features, also behind
a switch. A feature that passes neither, and is not among the `least_width` best, is left out.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sklar.model.gates import Gates, largest_by_gate, to_inputs
from sklar.training.flips import Draw, gains
from sklar.training.predictors import FoldPredictors, random_masks

CHUNK = 256  # features tested at a time
ENTRIES = 2**26  # of the largest array, where a feature is several inputs
MOST_CONTEXTS = 128


def union(predictors: FoldPredictors, least_width: int, most_width: int, generator: torch.Generator) -> Tensor:
    """The features to go on with: bool (P, d)."""
    from_gains = gain_z(predictors, generator)
    found = _best(from_gains, from_gains > GAIN_Z, 0, most_width // 2)
    from_residuals, threshold = residual_z(predictors, found)
    strength = torch.maximum(from_gains / GAIN_Z, from_residuals / threshold)
    return _best(strength, strength > 1, least_width, most_width)


# A feature whose mean gain is this many standard errors above 0 is kept: 1 in 40 irrelevant ones is.
GAIN_Z = 2.0
# Irrelevant features that the residual test is allowed to let through, of all.
FALSE_NOMINATIONS = 3.0


@torch.no_grad()
def gain_z(predictors: FoldPredictors, generator: torch.Generator) -> Tensor:
    """Mean gain of every feature over its standard error, the larger of random and of full masks: (P, d)."""
    folds, task = predictors.folds, predictors.task
    problems, n_folds, d = *folds.x.shape[:2], folds.gates.n
    x, y = folds.x.flatten(0, 1), folds.y.flatten(0, 1)
    like = folds.gates.like(x)
    weight = None if folds.weight is None else folds.weight.flatten(1).unsqueeze(-1)  # (P, n, 1)
    chunk = CHUNK if folds.gates.of_input is None else _gates_together(x, d)
    columns = []
    for first in range(0, d, chunk):
        among = _inputs_between(first, first + chunk, folds.gates)
        index = torch.arange(first, min(first + chunk, d), device=x.device).expand(*x.shape[:2], -1)
        z = torch.full((problems, index.shape[-1]), -torch.inf, device=x.device)
        for mask in (random_masks(like, generator), torch.ones_like(like)):
            gain = gains(predictors.judge, task.row_loss, x, y, Draw(mask), index, among)
            gain = gain.unflatten(0, (problems, n_folds)).flatten(1, 2)  # (P, n, chunk)
            z = torch.maximum(z, _z_of_mean(gain, weight))
        columns.append(z)
    return torch.cat(columns, dim=1)


@torch.no_grad()
def residual_z(predictors: FoldPredictors, found: Tensor) -> tuple[Tensor, float]:
    """How clearly the residuals of a prediction from the features in `found` (P, d) depend on each feature.

    A feature of several inputs depends as clearly as its clearest input.

    The score test of adding f(x_j) c(x) to the prediction, for f in {x, |x|} and contexts c: everywhere, and where a
    found feature is positive or negative. Returns the largest |z| of each feature (P, d), and the value that
    `FALSE_NOMINATIONS` irrelevant features are expected to exceed.
    """
    folds, task, gates = predictors.folds, predictors.task, predictors.folds.gates
    x = folds.x.flatten(1, 2)  # (P, n, D)
    mask = found[:, None, None].expand(*folds.x.shape[:3], -1).flatten(0, 1).to(x.dtype)
    output = predictors.judge(folds.x.flatten(0, 1), mask).unflatten(0, folds.x.shape[:2]).flatten(1, 2)
    residual = task.residuals(output, folds.y.flatten(1, 2))  # (P, n, C)
    if folds.weight is not None:
        residual = residual * folds.weight.flatten(1).unsqueeze(-1)
    contexts = _contexts(x, _context_inputs(x, found, gates))  # (P, n, M)
    weight = (residual.unsqueeze(-1) * contexts.unsqueeze(-2)).flatten(-2)  # (P, n, C M)
    columns = []
    for first in range(0, x.shape[-1], CHUNK):
        part = x[..., first : first + CHUNK].clamp(-3, 3)
        if gates.of_input is not None:  # the indicators of categories have a mean
            part = part - part.mean(1, keepdim=True)
        shapes = torch.cat([part, part.abs() - part.abs().mean(1, keepdim=True)], dim=-1)  # (P, n, 2 chunk)
        total = weight.mT @ shapes  # (P, C M, 2 chunk)
        spread = (weight.square().mT @ shapes.square()).sqrt()
        z = (total / spread.clamp_min(1e-12)).abs().amax(1)
        columns.append(z.unflatten(-1, (2, -1)).amax(1))
    n_tests = 2 * x.shape[-1] * weight.shape[-1]
    threshold = torch.special.ndtri(torch.tensor(1 - FALSE_NOMINATIONS / (2 * n_tests), dtype=torch.float64))
    return largest_by_gate(torch.cat(columns, dim=1), gates.of_input, gates.n), max(float(threshold), GAIN_Z)


def _gates_together(x: Tensor, d: int) -> int:
    """How many gates, of several inputs each, can be flipped at a time: all their inputs are looked at for each."""
    rows, width = x[..., 0].numel(), x.shape[-1] / d
    return min(CHUNK, max(1, int((ENTRIES / (rows * width)) ** 0.5)))


def _inputs_between(first: int, last: int, gates: Gates) -> slice:
    """Where the inputs of gates first .. last - 1 stand; they are in the order of their gates."""
    if gates.of_input is None:
        return slice(None)
    start, stop = torch.searchsorted(gates.of_input, torch.tensor([first, last], device=gates.of_input.device)).tolist()
    return slice(start, stop)


def _context_inputs(x: Tensor, found: Tensor, gates: Gates) -> Tensor:
    """The inputs that make contexts: those of found features, of the many of encoded columns the most varied."""
    if gates.of_input is None:
        return found
    inputs = to_inputs(found, gates.of_input)
    return _best(x.var(1).masked_fill(~inputs, 0), inputs, 0, MOST_CONTEXTS)


def _contexts(x: Tensor, found: Tensor) -> Tensor:
    """1, 1{x_s > 0} and 1{x_s <= 0} for each found s; zero where a problem has found fewer than others."""
    width = max(1, int(found.sum(1).max()))
    columns = found.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :width]
    alive = found.gather(1, columns).to(x.dtype).unsqueeze(1)  # (P, 1, w)
    positive = (x.gather(2, columns.unsqueeze(1).expand(-1, x.shape[1], -1)) > 0).to(x.dtype)
    return torch.cat([torch.ones_like(x[..., :1]), positive * alive, (1 - positive) * alive], dim=-1)


def _z_of_mean(values: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean over its standard error, over axis 1."""
    if weight is not None:
        mean = (values * weight).sum(1, keepdim=True) / weight.sum(1, keepdim=True)
        error = ((values - mean) * weight).square().sum(1).sqrt() / weight.sum(1)
        return mean.squeeze(1) / error.clamp_min(1e-12)
    return values.mean(1) / (values.std(1) / math.sqrt(values.shape[1])).clamp_min(1e-12)


def _best(strength: Tensor, passed: Tensor, least: int, most: int) -> Tensor:
    """Those that passed, but at least and at most so many of the strongest: bool (P, d)."""
    place = strength.argsort(dim=1, descending=True).argsort(dim=1)
    return (passed & (place < most)) | (place < least)
