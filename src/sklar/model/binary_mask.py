"""The binary mask (Algorithm 2): as many features as a row needs."""

from __future__ import annotations

import torch
from torch import Tensor

from sklar.model.topk_mask import hard_topk

FAR_BELOW = 1e4  # more than scores differ by


def relaxed_mask(scores: Tensor, noise: Tensor, temperature: float) -> Tensor:
    """z~ = sigmoid((g + alpha) / t), with g logistic noise."""
    return torch.sigmoid((noise + scores) / temperature)


def hard_mask(scores: Tensor, noise: Tensor) -> Tensor:
    """z = round(z~) = 1{g + alpha > 0}, so that P(z_i = 1) = sigmoid(alpha_i) whatever the copula."""
    return noise + scores > 0


def straight_through(hard: Tensor, relaxed: Tensor) -> Tensor:
    """The hard mask forward, the relaxed mask's gradient backward."""
    return hard.to(relaxed.dtype) + (relaxed - relaxed.detach())


def most_probable_mask(scores: Tensor) -> Tensor:
    """The mask without noise: the features with P(z_i = 1) > 1/2."""
    return scores > 0


def decided(scores: Tensor, k: int | Tensor | None, min_features: int = 0) -> Tensor:
    """The k largest scores, or those above 0 and at least the `min_features` largest: bool, like scores."""
    if k is not None:
        return hard_topk(scores, k)
    mask = most_probable_mask(scores)
    return mask | hard_topk(scores, min(min_features, scores.shape[-1])) if min_features else mask


def after_the_best(scores: Tensor, together: Tensor) -> Tensor:
    """Scores, below all others where another feature of the same group has a higher one.

    So of a group the k largest hold one feature, unless there are too few others. Arguments are as for
    `best_of_groups`.
    """
    if not together.any():
        return scores
    best = best_of_groups(torch.ones_like(scores, dtype=torch.bool), scores, together)
    return torch.where(best, scores, scores - FAR_BELOW)


def best_of_groups(mask: Tensor, scores: Tensor, together: Tensor) -> Tensor:
    """Of the selected features of one group keep the one of the highest score.

    mask, scores : (P, n, d)
    together : bool (P, d, d) or (d, d), whether two different features are of one group
    """
    kept = mask.clone()
    members = together.reshape(-1, *together.shape[-2:]).any(0).any(0)
    for i in members.nonzero().flatten().tolist():
        rivals = mask & together[..., i, :].unsqueeze(-2) & (scores > scores[..., i : i + 1])
        kept[..., i] &= ~rivals.any(-1)
    return kept
