"""The order of the features that a ranker gives a row: the j-th is the one to add where a row is to get j.

Scores say which k features a row gets. They come to rest at a bound, where all that are surely among the k meet, so
their order says little about worth. A ranker that is told how many features a row gets knows more: what it would show
alone is the first, and each further one is the best of the rest by a ranker that is told one more; the last ones are
in the order of their scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sklar.model.networks import ChoiceNet

PENALTY_SCALE = 0.5  # of the logarithm, as an input of ChoiceNet


def told_counts(least: int, k: int) -> list[int]:
    """The numbers of features below k that are told, each about 1.6 times the one before: a pass for each.

    Examples
    --------
    >>> told_counts(1, 3), told_counts(1, 10), told_counts(4, 20)
    ([1, 2], [1, 2, 3, 5, 8], [5, 8, 13])
    """
    counts = [1, 2]
    while counts[-1] < k:
        counts.append(counts[-2] + counts[-1])
    return [count for count in counts if least <= count < k]


class Order(nn.Module):
    """The scores of a ranker of k features at each number of them that it is told."""

    def __init__(self, choice: ChoiceNet, least: int, k: int) -> None:
        super().__init__()
        self.choice, self.least, self.k = choice, least, k
        self.told: Tensor  # weight of the input that is told the number, (1, 1, h)
        self.register_buffer("told", torch.zeros(1, 1, choice.first.weight.shape[-1]))

    def shift(self, count: int) -> Tensor:
        """What being told a number of features adds to the first layer: (1, 1, h)."""
        return PENALTY_SCALE * math.log(count / self.k) * self.told

    def forward(self, x: Tensor, k: int) -> list[tuple[int, Tensor]]:
        """The numbers below k, each with the scores of rows (1, n, D) at it, (1, n, d)."""
        net, first = self.choice, self.choice.first(x)
        found = []
        for count in told_counts(self.least, k):
            hidden = net.activation(net.second(net.activation(first + self.shift(count))))
            found.append((count, net.scores(hidden)))
        return found


def nested(chosen: Tensor, told: Sequence[tuple[int, Tensor]]) -> Tensor:
    """The features `chosen` (..., k), best first, by scores (..., d) at rising numbers of features, the last k.

    A place between two numbers is given by the scores at the larger.
    """
    lowest = torch.finfo(told[0][1].dtype).min
    left, parts, done = torch.ones_like(chosen, dtype=torch.bool), [], 0
    for count, scores in told:
        worth = scores.gather(-1, chosen).clamp_min(lowest).masked_fill(~left, -torch.inf)
        best = worth.topk(count - done, dim=-1, sorted=True).indices
        left, done = left.scatter(-1, best, False), count
        parts.append(chosen.gather(-1, best))
    return torch.cat(parts, -1)


def dealt(scores: Tensor, order: Tensor) -> Tensor:
    """Scores (..., d) dealt anew to the features of `order` (..., k), the largest of theirs to the first."""
    return scores.scatter(-1, order, scores.gather(-1, order).sort(dim=-1, descending=True).values)
