"""Training until a held-out loss no longer falls, each replica at its own pace, as the authors of GDFS and DIME do.

After an epoch without a better loss, and `patience` more, a replica's learning rate falls; a little later it stops. Its
best weights come back at the end. Replicas that have stopped stand still until the last one has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sklar.paper.baselines.networks import endless_batches
from sklar.training.engine.graphs import BatchStep
from sklar.training.engine.loop import batch_slices
from sklar.training.engine.optim import set_group_rate

LEAST_GAIN = 1e-4  # share of the best loss by which a better one is better


@dataclass(frozen=True)
class Pace:
    """How fast, and how long without a better held-out loss."""

    learning_rate: float
    iterations: int  # at most
    batch_size: int
    patience: int
    factor: float = 0.2  # of the learning rate, where it falls
    slowest: float = 1e-5  # the lowest rate


class Plateaus:
    """The learning rate of every replica: lower after `patience` epochs too many, 0 once it has stopped."""

    def __init__(self, replicas: int, pace: Pace) -> None:
        self.pace = pace
        self.rates = torch.full((replicas,), pace.learning_rate, dtype=torch.float64)
        self.best = torch.full((replicas,), torch.inf, dtype=torch.float64)
        self.waited, self.in_all = (torch.zeros(replicas, dtype=torch.long) for _ in range(2))

    def see(self, losses: Tensor) -> None:
        """Change the rates by the losses of an epoch, (R,)."""
        better = losses < self.best - LEAST_GAIN * self.best.abs().nan_to_num(posinf=0)
        self.best = torch.where(better, losses, self.best)
        self.waited, self.in_all = (torch.where(better, 0, count + 1) for count in (self.waited, self.in_all))
        fall = self.waited > self.pace.patience
        lower = (self.rates * self.pace.factor).clamp_min(min(self.pace.slowest, self.pace.learning_rate))
        self.rates = torch.where(fall & (self.rates > 0), lower, self.rates)
        self.waited = torch.where(fall, 0, self.waited)
        self.rates = torch.where(self.in_all > self.pace.patience + 1, 0.0, self.rates)

    @property
    def all_stopped(self) -> bool:
        """Whether no replica learns any more."""
        return not bool(self.rates.any())


class BestReplicas:
    """The weights of the lowest loss that each replica has had."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.weights = {key: value.clone() for key, value in model.state_dict().items()}
        self.losses = torch.full((len(next(model.parameters())),), torch.inf, dtype=torch.float64)

    def see(self, losses: Tensor) -> None:
        """Keep the present weights of the replicas whose loss (R,) is their lowest so far."""
        better = losses < self.losses
        self.losses = torch.where(better, losses, self.losses)
        for key, value in self.model.state_dict().items():
            self.weights[key][better] = value[better]

    def restore(self) -> None:
        """Put them back."""
        self.model.load_state_dict(self.weights)


class ReplicaAdam(torch.optim.Adam):
    """Adam with a learning rate for every replica of a stack: it steps along views of the weights."""

    def __init__(self, module: nn.Module, learning_rate: float) -> None:
        self.stacked = list(dict.fromkeys(module.parameters()))
        first = self.stacked[0]
        self.views = [[nn.Parameter(w.detach()[r : r + 1]) for w in self.stacked] for r in range(len(first))]
        super().__init__(
            [{"params": views, "lr": self._rate(learning_rate, first)} for views in self.views],
            fused=True,
            capturable=first.is_cuda,
        )

    @staticmethod
    def _rate(learning_rate: float, weight: Tensor) -> float | Tensor:
        return torch.tensor(learning_rate, device=weight.device) if weight.is_cuda else learning_rate

    def step(self, closure: object = None) -> None:  # type: ignore[override]
        """Step by the gradients of the stacked weights."""
        for r, views in enumerate(self.views):
            for weight, view in zip(self.stacked, views, strict=True):
                view.grad = None if weight.grad is None else weight.grad[r : r + 1]
        super().step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the stacked weights."""
        for weight in self.stacked:
            weight.grad = None

    def set_rates(self, rates: Tensor) -> None:
        """The learning rates from now on, (R,)."""
        for group, rate in zip(self.param_groups, rates.tolist(), strict=True):
            set_group_rate(group, rate)


def train_until_flat(
    model: nn.Module,
    loss_of: Callable[[Tensor], Tensor],
    held_losses: Callable[[], Tensor],
    rows: Tensor,
    pace: Pace,
    generator: torch.Generator,
    verbose: bool = False,
    keeper: BestReplicas | None = None,
) -> int:
    """Minimise `loss_of(batch)`, summed over replicas, until `held_losses()`, (R,), no longer falls for any replica.

    `rows` are the numbers of the rows to learn from. Returns the number of steps that it took. The best weights by the
    held-out loss are restored or, where a `keeper` of more such trainings is given, left to it.
    """
    optimiser, best = ReplicaAdam(model, pace.learning_rate), keeper or BestReplicas(model)
    rates = Plateaus(len(best.losses), pace)

    def learn(batch: Tensor) -> Tensor:
        optimiser.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        optimiser.step()
        return loss.detach()

    step = BatchStep(learn, generator.device, generator)
    per_epoch = len(batch_slices(len(rows), pace.batch_size))
    what = type(model).__name__
    batches = endless_batches(len(rows), pace.iterations, pace.batch_size, generator, what, verbose)
    done = 0
    for done, batch in enumerate(batches, start=1):
        step(rows[batch])
        if done % per_epoch and done < pace.iterations:
            continue
        losses = held_losses().double().cpu()
        best.see(losses)
        rates.see(losses)
        optimiser.set_rates(rates.rates)
        if rates.all_stopped:
            break
    if keeper is None:
        best.restore()
    return done
