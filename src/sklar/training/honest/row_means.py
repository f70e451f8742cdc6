"""Means over rows that may count differently, and how far they are from sure."""

from __future__ import annotations

from torch import Tensor


def mean_and_error(values: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """The mean over rows (P, n) by weight (P, n), and its standard error: (P,), (P,)."""
    if weight is None:
        return values.mean(1), values.std(1) / values.shape[1] ** 0.5
    share = weight / weight.sum(1, keepdim=True)
    mean = (share * values).sum(1)
    return mean, (share * (values - mean.unsqueeze(1))).square().sum(1).sqrt()


def deviation(values: Tensor, weight: Tensor | None) -> Tensor:
    """The standard deviation over rows (P, n), by weight (P, n): (P,)."""
    if weight is None:
        return values.std(1)
    share = weight / weight.sum(1, keepdim=True)
    mean = (share * values).sum(1, keepdim=True)
    return (share * (values - mean).square()).sum(1).sqrt()
