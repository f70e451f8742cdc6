"""INVASE (Yoon, Jordon, van der Schaar, ICLR 2019): an actor picks features, two critics say what the pick cost.

The actor's reward for a mask z is how much worse the critic (who sees x * z) predicts than the baseline (who sees
x); the policy gradient then moves the selection probabilities p(x).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from sklar.model.networks import ChoiceNet, PredictNet
from sklar.paper.baselines.networks import adam, descend
from sklar.paper.baselines.priced import PricedBaseline
from sklar.params import Count, Positive


class ActorAndCritics(nn.Module):
    """The three networks; the baseline network may be absent."""

    def __init__(self, actor: nn.Module, critic: nn.Module, baseline: nn.Module | None) -> None:
        super().__init__()
        self.actor, self.critic, self.baseline = actor, critic, baseline


class Invase(PricedBaseline):
    """Instance-wise selection by an actor, a critic and a baseline network.

    Takes the parameters of `NetworkBaseline` and `PricedBaseline` too; the price is that of the selection probability.

    Parameters
    ----------
    activation : "relu" or "selu", default "relu"
        Of all three networks. The author's is SELU on Syn3-6, with a penalty of .15 on Syn5.
    actor_hidden, critic_hidden : int, default 100 and 200
        Widths: actor d-100-100-d; critic and baseline d-200-BN-200-BN-out.
    iterations, learning_rate : default 10,000 and 1e-4
        Adam's, for all three networks.

    Examples
    --------
    >>> from sklar.paper.baselines import Invase
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> invase = Invase(iterations=20, batch_size=100, random_state=0).fit(X, y)
    >>> invase.select(X).shape
    (300, 11)
    >>> invase.select(X, k=2).sum(axis=1).max()
    np.int64(2)
    """

    is_instance_wise = True
    _with_baseline = True
    activation: Literal["relu", "selu"] = "relu"
    actor_hidden: Count = 100
    critic_hidden: Count = 200
    iterations: Count = 10_000
    learning_rate: Positive = 1e-4

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        shared: Any = {"activation": self.activation, "replicas": replicas, "generator": generator}

        def critic() -> PredictNet:
            return PredictNet(n_features, self.critic_hidden, n_outputs, **shared)

        actor = ChoiceNet(n_features, self.actor_hidden, **shared)
        return ActorAndCritics(actor, critic(), critic() if self._with_baseline else None)

    def _train(self, model: ActorAndCritics, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        task = self._task()
        critics = [model.critic] if model.baseline is None else [model.critic, model.baseline]
        act = adam([model.actor], self.learning_rate, self.weight_decay)
        learn = adam(critics, self.learning_rate, self.weight_decay)
        price: Any = model.price  # (R, 1)

        def step(rows: Tensor) -> Tensor:
            x_rows, y_rows = x[:, rows], y[..., rows]  # (1, b, d), (b,)
            logits = model.actor(x_rows).scores  # (R, b, d)
            mask = torch.bernoulli(torch.sigmoid(logits.detach()), generator=generator)
            shown = [x_rows * mask, x_rows][: len(critics)]
            for critic in critics:
                critic.train()
            losses = [task.row_loss(critic(seen), y_rows) for critic, seen in zip(critics, shown, strict=True)]
            descend(learn, torch.stack([loss.mean(-1).sum() for loss in losses]).sum())
            reward = -self._cost(critics, shown, y_rows)  # (R, b)
            # E over z of the reward, by the policy gradient; lambda prices the mean of p.
            log_chance = -binary_cross_entropy_with_logits(logits, mask, reduction="none").sum(-1)
            row_loss = -reward * log_chance + price * torch.sigmoid(logits).mean(-1)
            return descend(act, row_loss.mean(-1).sum())

        self._learn(step, x.shape[1], self.iterations, generator)

    @torch.no_grad()
    def _cost(self, critics: list[nn.Module], shown: list[Tensor], y: Tensor) -> Tensor:
        """What hiding features cost each row: the critic's loss, less the baseline's if there is one: (R, b)."""
        losses = [self._task().row_loss(critic.eval()(seen), y) for critic, seen in zip(critics, shown, strict=True)]
        return losses[0] - losses[1] if len(losses) == 2 else losses[0]

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self._answer(rows, lambda model, x: torch.sigmoid(model.actor(x).scores))

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores > 0.5

    def _decided(self, model: ActorAndCritics, x: Tensor) -> Tensor:
        return (model.actor(x).scores > 0).to(x.dtype)

    def _outputs(self, model: ActorAndCritics, x: Tensor, mask: Tensor) -> Tensor:
        return model.critic(x * mask)


class InvaseMinus(Invase):
    """INVASE without its baseline network: the reward is the critic's loss alone.

    The parameters are those of `Invase`.

    Examples
    --------
    >>> from sklar.paper.baselines import InvaseMinus
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> set(InvaseMinus(iterations=20, random_state=0).fit(X, X[:, 0] > 0).select(X, k=2).sum(axis=1).tolist())
    {2}
    """

    _with_baseline = False
