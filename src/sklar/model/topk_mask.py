"""The top-k mask (Algorithm 3): exactly k features per row, sampled without replacement.

The printed algorithm starts its loop at s = 2 and writes v_1 = u_1; it is read here with the formulas of the
paper's section 3.3, where p^1 = softmax(v / t) is the first of k steps.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from sklar import kernels
from sklar.kernels.reference import log_complement

__all__ = ["hard_topk", "log_complement", "ranking", "relaxed_topk", "sampling_keys", "sampling_weights"]

SMALLEST_WEIGHT = 1e-6
LARGEST_SCORE = 30.0  # beyond it exp(alpha) decides every draw


def sampling_weights(scores: Tensor) -> Tensor:
    """alpha > 0 from ChoiceNet's unbounded scores."""
    return softplus(scores).clamp_min(SMALLEST_WEIGHT)


def exponential_weights(scores: Tensor) -> Tensor:
    """exp(alpha), so that a difference of scores is the logarithm of a ratio of chances at any width."""
    return scores.clamp(-LARGEST_SCORE, LARGEST_SCORE).exp()


def sampling_keys(weights: Tensor, log_noise: Tensor) -> Tensor:
    """v_i = log(u_i) / alpha_i: the k largest keys are a weighted sample without replacement."""
    return log_noise / weights


def relaxed_topk(keys: Tensor, k: int, temperature: float, step_exponent: float = 0.0) -> Tensor:
    """z~ = sum_s p^s, with p^s = softmax(v^s / t) and v^(s+1) = v^s + t^delta log(1 - p^s): (..., d).

    Of the k steps none is kept: the backward pass makes them anew.
    """
    return kernels.relaxed_topk(keys, k, temperature, temperature**step_exponent)


def hard_topk(values: Tensor, k: int | Tensor) -> Tensor:
    """True at the k largest of the last axis: (..., d); every row may have its own k (..., 1)."""
    if isinstance(k, Tensor):
        return places(values) <= k
    top = values.topk(k, dim=-1).indices
    return torch.zeros_like(values, dtype=torch.bool).scatter(-1, top, True)


def ranking(scores: Tensor, k: int) -> Tensor:
    """The k features of the largest scores, best first: (..., k)."""
    return scores.topk(k, dim=-1, sorted=True).indices


def places(scores: Tensor) -> Tensor:
    """1 for the largest score of the last axis, 2 for the next, ...: int, like scores."""
    order = scores.argsort(dim=-1, descending=True, stable=True)
    count = torch.arange(1, scores.shape[-1] + 1, device=scores.device).expand_as(order)
    return torch.zeros_like(order).scatter(-1, order, count)
