"""Exponential moving averages of weights: the average answers, the last weights learn."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from sklar.training.engine.optim import slices, step_and_clear
from sklar.training.engine.state import State
from sklar.training.engine.team import ALONE, Team

Network = TypeVar("Network", bound=nn.Module)


def ema_decay(decay: float, n_steps: int) -> float:
    """The decay of an average over a training of n_steps: it reaches back over at most a tenth of them."""
    return min(decay, max(0.0, 1 - 10 / n_steps))


@torch.no_grad()
def ema_update(average: Sequence[Tensor], weights: Sequence[Tensor], share: float) -> None:
    """average += share * (weights - average)."""
    if weights[0].is_cuda:
        average, weights = ([part for tensor in tensors for part in slices(tensor)] for tensors in (average, weights))
    torch._foreach_lerp_(list(average), list(weights), share)


class AveragedLearner(Generic[Network]):
    """A network with its optimiser, and the exponential moving average of its weights as a second network."""

    def __init__(
        self,
        network: Network,
        optimiser: torch.optim.Optimizer,
        decay: float,
        average: Network | None = None,
        team: Team = ALONE,
    ) -> None:
        self.network, self.optimiser, self.decay, self.team = network, optimiser, decay, team
        self.average = copy.deepcopy(network) if average is None else average
        self.average.requires_grad_(False)
        self._decay_now = decay

    @property
    def state(self) -> State:
        """All that learning changes."""
        return {"network": self.network, "average": self.average, "optimiser": self.optimiser}

    @property
    def learning_rate(self) -> float | Tensor:
        """That of the present step, of the parameters that decay."""
        return self.optimiser.param_groups[0]["lr"]

    def begin(self, n_steps: int) -> None:
        """Prepare for a training of so many steps."""
        self._decay_now = ema_decay(self.decay, n_steps)

    def step(self) -> None:
        """Step by the gradients, those of all processes, and drop them; the average stays."""
        self.team.sum_gradients(self.network.parameters())
        step_and_clear(self.optimiser)

    def update_average(self) -> None:
        """Move the average toward the weights."""
        ema_update(list(self.average.parameters()), list(self.network.parameters()), 1 - self._decay_now)
