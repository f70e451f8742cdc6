"""Draws of the gates, masks and, with a copula, the latents they came from; and rows with a draw before their judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.model.cells import Cells
from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.normalise import normalised_loadings
from sklar.training.engine.team import WHOLE, Share
from sklar.training.honest import gradients

RowLoss = Callable[[Tensor, Tensor], Tensor]  # (..., out), (...) -> (...)
WIDEST_SORTED = 256  # features: up to here numpy sorts them all sooner than torch finds the first few


class Noise(NamedTuple):
    """Correlated draws of standard normals."""

    q: Tensor  # (R, n, d)
    correlation: Tensor  # (R, d, d)
    # q = root xi + own eps, with independent xi and eps:
    factors: Tensor  # xi, (R, n, p)
    root: Tensor  # (R, d, p)
    own: Tensor  # (R, 1, d)


def correlated_noise(
    loadings: Tensor, n: int, generator: torch.Generator, folds: int = 1, share: Share = WHOLE
) -> Noise:
    """Draws q ~ N(0, R) for n rows of each replica, R = Norm(L L^T + I).

    loadings : (P, d, p), of P problems; all folds of a problem, its replicas, share them
    """
    root, own = normalised_loadings(loadings)
    correlation = root @ root.mT
    correlation.diagonal(dim1=1, dim2=2).fill_(1.0)
    own, root = (part.unsqueeze(1).expand(-1, folds, -1, -1).flatten(0, 1).mT for part in (own, root))

    def normal(shape: Sequence[int]) -> Tensor:
        return torch.randn(shape, generator=generator, device=root.device, dtype=root.dtype)

    xi, eps = (share.drawn(normal, (len(root), n, width), 1) for width in root.shape[1:])
    q = torch.baddbmm(own * eps, xi, root)
    return Noise(q, correlation.repeat_interleave(folds, 0), xi, root.mT, own)


class Latents(NamedTuple):
    """What correlated gates were drawn from: a gate is open where its latent q exceeds its threshold c."""

    distance: Tensor  # c - q, (R, n, d)
    correlation: Tensor  # (R, d, d)


class Edge(NamedTuple):
    """Where a draw of exactly k gates was decided: each gate's threshold is the key that it would have to pass."""

    last: Tensor  # the gate shown with the lowest key, (R, n, 1): the threshold of all that are hidden
    first: Tensor  # the gate hidden with the highest, (R, n, 1): the threshold of all that are shown
    density: Tensor  # of each score at which its gate would change, given the other gates' keys, (R, n, d)
    often: Tensor  # how large that density is in the mean, roughly and whatever was drawn, (R, n, d)
    near: Tensor  # the gates whose keys are among the highest: they are worth a trial in full, (R, n, d)
    latent: LatentEdge | None = None  # with a copula


class LatentEdge(NamedTuple):
    """The same in the latents that correlated keys come from."""

    at: Tensor  # each latent at its threshold, (R, n, d)
    density: Tensor  # of each latent there, given the factors and the other latents, (R, n, d)
    factors: Tensor  # xi, (R, n, p)


class Draw(NamedTuple):
    """Gates drawn for rows; the latents only with a copula, the edge only where exactly k are drawn."""

    mask: Tensor  # (R, n, d)
    latents: Latents | None = None
    edge: Edge | None = None


def draw_gates(scores: Tensor, noise: Noise | Tensor) -> Draw:
    """Gates open with probability sigmoid(alpha), correlated as the noise is, or not where it is uniform (R, n, d)."""
    if not isinstance(noise, Noise):
        return Draw((noise < torch.sigmoid(scores)).to(scores.dtype))
    distance = gradients.thresholds(scores) - noise.q
    return Draw((distance < 0).to(scores.dtype), Latents(distance, noise.correlation))


@dataclass(frozen=True)
class Trial:
    """Rows (R, n, D) with labels (R, n), a draw of their gates, and the predictors that judge them.

    What all flips have in common is computed once.
    """

    judge: MaskedPredictor
    loss: RowLoss
    x: Tensor
    y: Tensor
    draw: Draw

    @cached_property
    def cells(self) -> Cells | None:
        """What flips of the rows' gates are made of."""
        return self.judge.cells(self.x) if self.x.device.type == "cpu" else None

    @cached_property
    def hidden(self) -> Tensor:
        """The judge's first pre-activation for the drawn masks: (R, n, h)."""
        return self.judge.before_activation(self.x, self.draw.mask)

    @cached_property
    def drawn_loss(self) -> Tensor:
        """Losses of the drawn masks: (R, n)."""
        return self.loss(self.judge.after_first(self.hidden), self.y)

    def losses(self, hidden: Tensor) -> Tensor:
        """Losses from K first pre-activations a row (R, n, K, h), which are overwritten: (R, n, K)."""
        output = self.judge.after_activation(hidden.relu_().flatten(1, 2)).unflatten(1, hidden.shape[1:3])
        return self.loss(output, self.y.unsqueeze(-1).expand(output.shape[:-1]))


def random_features(eligible: Tensor, count: int, generator: torch.Generator, share: Share = WHOLE) -> Tensor:
    """Different features for every row of `eligible` (R, n, d), in random order, the others last: (R, n, count).

    Where there are fewer than `count` it is all of them.
    """
    keys = share.rand(eligible.shape, 1, generator) + 2.0 * ~eligible
    count = min(count, eligible.shape[-1])
    if keys.device.type == "cpu" and keys.shape[-1] <= WIDEST_SORTED:  # the same, several times as fast for short rows
        return torch.from_numpy(np.argsort(keys.numpy(), axis=-1)[..., :count].copy())
    return keys.topk(count, dim=-1, largest=False).indices
