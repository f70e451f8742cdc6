"""From a Gaussian draw to noise with exact marginals.

q ~ N(0, Sigma) has uniform marginals only after dividing by its own standard deviation: s = q / sqrt(Sigma_ii),
u = Phi(s). All plain torch code divides in `normalise`; the fused kernels and their reference do so inline. In float32
Phi(6) is 1, so nothing here forms 1 - u: both tails come from erfc, which keeps its relative precision.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sklar.kernels.reference import logistic, within_reach
from sklar.model.covariance import Covariance

__all__ = ["log_uniform", "logistic", "standard_draw", "uniform"]

_SQRT_HALF = math.sqrt(0.5)


def standard_draw(
    covariance: Covariance, batch_shape: tuple[int, ...], generator: torch.Generator | None = None
) -> Tensor:
    """s = q / sqrt(Sigma_ii): standard normal marginals, correlation R: (*batch_shape, d)."""
    return covariance.standard_draw(batch_shape, generator)


def uniform(s: Tensor) -> Tensor:
    """u = Phi(s), with its lower tail: torch.special.ndtr rounds it to 0 below 8 deviations."""
    return 0.5 * torch.erfc(-s * _SQRT_HALF)


def log_uniform(s: Tensor) -> Tensor:
    """log u = log Phi(s), exact in both tails."""
    s = within_reach(s)
    upper = torch.log1p(-0.5 * torch.erfc(s.clamp_min(0) * _SQRT_HALF))
    lower = torch.log(0.5 * torch.erfc(-s.clamp_max(0) * _SQRT_HALF))
    return torch.where(s > 0, upper, lower)
