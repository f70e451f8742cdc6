"""The training loop: epochs of shuffled batches, early stopping on rows kept aside, the best weights restored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sklar.training.engine.graphs import BatchStep
from sklar.training.engine.optim import adam
from sklar.training.engine.progress import Part, Progress

Record = dict[str, Any]


@dataclass(frozen=True)
class LoopSettings:
    """How long and how fast."""

    max_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    patience: int
    verbose: bool = False


def batches(n: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Shuffled row indices in batches of `size`; a lone last row joins the batch before it.

    Batch normalisation has no variance to divide by in a batch of one.
    """
    order = torch.randperm(n, generator=generator, device=generator.device)
    n_batches = max(1, -(-n // size))
    if n_batches > 1 and n - (n_batches - 1) * size == 1:
        n_batches -= 1
    for index in range(n_batches):
        yield order[index * size : None if index == n_batches - 1 else (index + 1) * size]


def train(
    model: nn.Module,
    step_loss: Callable[[Tensor], Tensor],
    n_rows: int,
    settings: LoopSettings,
    generator: torch.Generator,
    validation_loss: Callable[[], Tensor] | None = None,
) -> list[Record]:
    """Minimise `step_loss(rows)` with Adam; return one record an epoch.

    With `validation_loss`, stop after `patience` epochs without a better one and restore the best weights.
    """
    step = BatchStep(_learning_step(model, step_loss, settings), generator.device, generator)
    history: list[Record] = []
    keeper = BestWeights(model, settings.patience)
    progress = Progress([Part("both networks", settings.max_epochs)], settings.verbose)
    for epoch in range(settings.max_epochs):
        model.train()
        losses = [step(rows) for rows in batches(n_rows, settings.batch_size, generator)]
        record: Record = {"epoch": epoch, "loss": torch.stack(losses).mean().item()}
        if validation_loss is not None:
            model.eval()
            record["validation_loss"] = validation_loss().item()
            keeper.see(record["validation_loss"])
        history.append(record)
        progress.set_postfix({key: f"{value:.4f}" for key, value in record.items() if key != "epoch"}, refresh=False)
        progress.update()
        if keeper.exhausted:
            break
    progress.close()
    keeper.restore()
    model.eval()
    return history


def _learning_step(
    model: nn.Module, step_loss: Callable[[Tensor], Tensor], settings: LoopSettings
) -> Callable[[Tensor], Tensor]:
    """One step of Adam down the loss of a batch; it returns the loss."""
    optimiser = adam(list(model.parameters()), settings.learning_rate, settings.weight_decay)

    def learn(rows: Tensor) -> Tensor:
        optimiser.zero_grad(set_to_none=True)
        loss = step_loss(rows)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return learn


class BestWeights:
    """Remembers the weights of the lowest loss seen, and says when to stop looking."""

    def __init__(self, model: nn.Module, patience: int) -> None:
        self.model, self.patience = model, patience
        self.loss = float("inf")
        self.waited = 0
        self.weights: dict[str, Tensor] | None = None

    @property
    def exhausted(self) -> bool:
        """Whether `patience` losses in a row were no better."""
        return self.waited >= self.patience

    def see(self, loss: float) -> None:
        """Keep the present weights if `loss` is the lowest so far."""
        if loss < self.loss:
            self.loss, self.waited = loss, 0
            self.weights = {key: value.clone() for key, value in self.model.state_dict().items()}
        else:
            self.waited += 1

    def restore(self) -> None:
        """Put the best weights back, if any were kept."""
        if self.weights is not None:
            self.model.load_state_dict(self.weights)


def progress_bar(total: int, what: str, verbose: bool) -> Any:
    """A bar on standard error, or a silent stand-in."""
    from tqdm import tqdm

    return tqdm(total=total, desc=what, disable=not verbose, file=sys.stderr, leave=False, dynamic_ncols=True)
