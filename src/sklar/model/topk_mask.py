"""The top-k mask (Algorithm 3): exactly k features a row, sampled without replacement.

The printed algorithm starts its loop at s = 2 and writes v_1 = u_1; it is read here with the formulas of the
paper's section 3.3, where p^1 = softmax(v / t) is the first of k steps.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

SMALLEST_WEIGHT = 1e-6
# A feature that is chosen again multiplies the gradient by 1 / t. At low temperatures the exact gradient of the
# recursion reaches 1e96, beyond float32; what passes from step to step is cut here.
LARGEST_GRADIENT = 1e6


def sampling_weights(scores: Tensor) -> Tensor:
    """alpha > 0 from ChoiceNet's unbounded scores."""
    return softplus(scores).clamp_min(SMALLEST_WEIGHT)


def sampling_keys(weights: Tensor, log_noise: Tensor) -> Tensor:
    """v_i = log(u_i) / alpha_i: the k largest keys are a weighted sample without replacement."""
    return log_noise / weights


def relaxed_topk(keys: Tensor, k: int, temperature: float, step_exponent: float = 0.0) -> Tensor:
    """z~ = sum_s p^s, with p^s = softmax(v^s / t) and v^(s+1) = v^s + t^delta log(1 - p^s): (..., d).

    Without a gradient to keep, the k steps share two buffers.
    """
    step = temperature**step_exponent
    total = torch.zeros_like(keys)
    for index in range(k):
        log_p = torch.log_softmax(keys / temperature, dim=-1)
        total = total + log_p.exp()
        if index + 1 < k:
            keys = keys + step * log_complement(log_p)
            if keys.requires_grad:
                keys.register_hook(_cut)
    return total


def _cut(gradient: Tensor | None) -> Tensor | None:
    return None if gradient is None else gradient.clamp(-LARGEST_GRADIENT, LARGEST_GRADIENT)


def log_complement(log_p: Tensor) -> Tensor:
    """log(1 - p_i) of a probability vector, exact also where p_i rounds to 1.

    Only the largest entry can exceed 1/2, and for that one 1 - p_i is the sum of the others.
    """
    top = log_p.argmax(dim=-1, keepdim=True)
    is_top = torch.zeros_like(log_p, dtype=torch.bool).scatter(-1, top, True)
    others = log_p.masked_fill(is_top, -torch.inf)
    return torch.where(is_top, torch.logsumexp(others, dim=-1, keepdim=True), torch.log1p(-others.exp()))


def hard_topk(values: Tensor, k: int) -> Tensor:
    """True at the k largest of the last axis: (..., d)."""
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
