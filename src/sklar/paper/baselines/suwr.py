"""SUWR (Oosterhuis, Lyu, Anand, ICML 2024): unmask features one by one, or stop, from what is unmasked alone.

One network reads what a row shows so far and gives three answers: a prediction, whether to stop, and which feature to
show next. What it has not shown cannot influence what it shows next, so that a selection tells nothing of the label or
of the hidden features beyond the values that it shows.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, logsigmoid

from sklar.model.networks import StackedLinear
from sklar.paper.baselines.networks import BatchSize, PredictsFromMask, adam, descend, gumbel_like, n_replicas
from sklar.paper.baselines.sequential import NEVER, add_feature, see
from sklar.params import Count, NonNegative, at_least

LOSS_WEIGHT = 10.0  # of the prediction's loss beside the penalty, as in the authors' code
LEAST_RANDOM, LEAST_EVEN = 0.05, 0.1  # what remains of random choices, and of stopping at any step alike
DECAY = 0.995  # of both, an epoch


class Answers(NamedTuple):
    """What the network says of what a row shows."""

    output: Tensor  # (R, n, out)
    stop: Tensor  # logit, (R, n)
    select: Tensor  # logits, (R, n, d)


class UnmaskingNet(nn.Module):
    """2d - h - h with tanh, and three heads."""

    def __init__(self, n_features: int, hidden: int, n_outputs: int, replicas: int, generator: torch.Generator) -> None:
        super().__init__()
        linear = partial(StackedLinear, replicas, generator=generator)
        self.first, self.second = linear(2 * n_features, hidden), linear(hidden, hidden)
        self.before_last, self.last = linear(hidden, hidden), linear(hidden, n_outputs)
        self.stop, self.select = linear(hidden, 1), linear(hidden, n_features)

    def forward(self, x: Tensor, mask: Tensor) -> Answers:
        """What rows x (R, n, d) say by the features of the mask; those shown are never selected again."""
        h = self.first(see(x, mask))
        h = torch.tanh(self.second(torch.tanh(layer_norm(h, h.shape[-1:]))))
        output = self.last(torch.tanh(self.before_last(h)))
        return Answers(output, self.stop(h).squeeze(-1), torch.where(mask > 0.5, NEVER, self.select(h)))


class Suwr(PredictsFromMask):
    """Instance-wise selection, feature after feature until the row has enough.

    Takes the parameters of `NetworkBaseline` too.

    Parameters
    ----------
    k : int, default 6
        Features per row at most.
    penalty : float, default 0.1
        Price of a feature, where the loss of the prediction counts ten times.
    hidden : int, default 100
    exploration : int, default 500
        Iterations in which features are shown at random, and every step is as likely to be the last; the price then
        rises over as many more.
    iterations, batch_size, weight_decay : default 5000, 1000 and 1e-4

    Examples
    --------
    >>> from sklar.paper.baselines import Suwr
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> suwr = Suwr(k=3, iterations=20, exploration=5, batch_size=100, random_state=0).fit(X, X[:, 0] > 0)
    >>> bool(suwr.select(X).sum(axis=1).max() <= 3)
    True
    """

    is_instance_wise = True
    k: Count = 6
    penalty: NonNegative = 0.1
    hidden: Count = 100
    exploration: Annotated[int, at_least(0)] = 500
    iterations: Count = 5000
    batch_size: BatchSize = 1000
    weight_decay: NonNegative = 1e-4

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        return UnmaskingNet(n_features, self.hidden, n_outputs, replicas, generator)

    def _train(self, model: UnmaskingNet, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        optimiser = adam([model], self.learning_rate, self.weight_decay)
        random, even, price = (x.new_tensor(value) for value in (1.0, 1.0, 0.0))
        per_epoch = max(1, x.shape[1] // self.batch_size)

        def learn(rows: Tensor) -> Tensor:
            x_rows = x[:, rows].expand(n_replicas(model), -1, -1)
            losses, stops, log_chances = self._unmasked(model, x_rows, y[..., rows], random, generator)
            chance = (1 - even) * stop_chances(stops) + even / len(stops)  # (steps, R, b)
            sizes = torch.arange(len(stops), device=x.device).view(-1, 1, 1)
            costs = chance * (LOSS_WEIGHT * losses + price * sizes)
            policy = (log_chances.cumsum(0) * costs.detach()).sum(0)  # by the policy gradient
            return descend(optimiser, (costs.sum(0) + policy).mean(-1).sum())

        def schedule(step: int) -> None:
            epochs = max(0, step - self.exploration) / per_epoch
            random.fill_(max(DECAY**epochs, LEAST_RANDOM))
            even.fill_(max(DECAY**epochs, LEAST_EVEN))
            price.fill_(self.penalty * min(1.0, max(0, step - self.exploration) / max(1, self.exploration)))

        self._learn(learn, x.shape[1], self.iterations, generator, before=schedule)

    def _unmasked(
        self, model: UnmaskingNet, x: Tensor, y: Tensor, random: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Of 0 to k features: losses, stop logits, and the log chance of the last choice: (k + 1, R, b) each."""
        mask, log_chance = torch.zeros_like(x), x.new_zeros(x.shape[:2])
        losses, stops, log_chances = [], [], []
        for step in range(self.k + 1):
            answers = model(x, mask)
            losses.append(self._task().row_loss(answers.output, y))
            stops.append(answers.stop)
            log_chances.append(log_chance)
            if step < self.k:
                left = (mask < 0.5).to(x.dtype)
                chances = (1 - random) * torch.softmax(answers.select, -1) + random * left / left.sum(-1, keepdim=True)
                logs = torch.where(left > 0, chances.clamp_min(1e-12).log(), NEVER)
                after = add_feature(mask, logs.detach() + gumbel_like(logs, tuple(logs.shape), generator))
                log_chance = (logs * (after - mask)).sum(-1)
                mask = after
        return torch.stack(losses), torch.stack(stops), torch.stack(log_chances)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self._answer(rows, partial(self._walk, stops=False))

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return self._answer(rows, partial(self._walk, stops=True)) >= 1

    def _walk(self, model: UnmaskingNet, x: Tensor, stops: bool) -> Tensor:
        """Scores k, k - 1, ..., 1 in the order in which features are shown, below 1 for the rest: (R, n, d)."""
        mask, scores = torch.zeros_like(x), torch.zeros_like(x)
        goes_on = torch.ones_like(x[..., :1])
        for step in range(self.k):
            answers = model(x, mask)
            if stops:
                goes_on = goes_on * (answers.stop <= 0).unsqueeze(-1)
            after = mask + goes_on * (add_feature(mask, answers.select) - mask)
            scores = scores + (after - mask) * (self.k - step)
            mask = after
        rest = torch.softmax(model(x, mask).select, dim=-1) / 2
        return torch.where(mask > 0.5, scores, rest)

    def _outputs(self, model: UnmaskingNet, x: Tensor, mask: Tensor) -> Tensor:
        return model(x, mask).output


def stop_chances(logits: Tensor) -> Tensor:
    """P(stop at step t) from P(stop | not before): (steps, ...) -> (steps, ...), summing to 1; the last step stops.

    Examples
    --------
    >>> stop_chances(torch.zeros(3, 1)).flatten()
    tensor([0.5000, 0.2500, 0.2500])
    """
    goes_on = logsigmoid(-logits).cumsum(0)
    before = torch.cat([torch.zeros_like(goes_on[:1]), goes_on[:-1]])
    stops = torch.cat([logsigmoid(logits[:-1]), torch.zeros_like(logits[:1])])
    return (before + stops).exp()
