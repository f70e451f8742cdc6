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
from sklar.training.engine.run import Run
from sklar.training.engine.state import State

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


def batch_slices(n: int, size: int) -> list[slice]:
    """Where the batches of n rows stand; a lone last row joins the batch before it.

    Batch normalisation has no variance to divide by in a batch of one.
    """
    n_batches = max(1, -(-n // size))
    if n_batches > 1 and n - (n_batches - 1) * size == 1:
        n_batches -= 1
    return [slice(i * size, n if i == n_batches - 1 else (i + 1) * size) for i in range(n_batches)]


def batches(n: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Shuffled row indices in batches of `size`."""
    order = shuffled(n, generator)
    yield from (order[part] for part in batch_slices(n, size))


def shuffled(n: int, generator: torch.Generator) -> Tensor:
    """Row indices in random order."""
    return torch.randperm(n, generator=generator, device=generator.device)


def train(
    model: nn.Module,
    step_loss: Callable[[Tensor], Tensor],
    n_rows: int,
    settings: LoopSettings,
    generator: torch.Generator,
    validation_loss: Callable[[], Tensor] | None = None,
    run: Run | None = None,
) -> list[Record]:
    """Minimise `step_loss(rows)` with Adam; return one record an epoch.

    With `validation_loss`, stop after `patience` epochs without a better one and restore the best weights.
    """
    optimiser = adam(list(model.parameters()), settings.learning_rate, settings.weight_decay)
    step = BatchStep(_learning_step(optimiser, step_loss), generator.device, generator)
    epochs = Epochs(n_rows, settings, generator.device, validation_loss is not None)
    keeper = BestWeights(model, settings.patience)
    state = {"model": model, "optimiser": optimiser, "epochs": epochs.state, "best": keeper.state, "rng": generator}
    progress = Progress([Part("both networks", settings.max_epochs)], settings.verbose)
    for k in (run or Run()).steps(epochs.n_steps, state, until=lambda: keeper.exhausted):
        epoch, batch = divmod(k, epochs.n_batches)
        if batch == 0:
            epochs.order.copy_(shuffled(n_rows, generator))
        if not model.training:
            model.train()
        epochs.losses[batch] = step(epochs.rows(batch))
        if batch == epochs.n_batches - 1:
            model.eval()
            record = epochs.close(epoch, validation_loss)
            if validation_loss is not None:
                keeper.see(record["validation_loss"])
            said = {key: f"{value:.4f}" for key, value in record.items() if key != "epoch"}
            progress.set_postfix(said, refresh=False)
            progress.skip(epoch - int(progress.n))  # of an earlier run
            progress.update()
    progress.close()
    keeper.restore()
    model.eval()
    return epochs.history


class Epochs:
    """Passes over shuffled rows: the present order, and the losses so far."""

    def __init__(self, n_rows: int, settings: LoopSettings, device: torch.device, validated: bool) -> None:
        self.slices = batch_slices(n_rows, settings.batch_size)
        self.n_batches, self.n_steps = len(self.slices), settings.max_epochs * len(self.slices)
        self.order = torch.zeros(n_rows, dtype=torch.long, device=device)
        self.losses = torch.zeros(self.n_batches, device=device)  # of the present epoch
        self.n_done = torch.zeros((), dtype=torch.long)
        # of each epoch the training loss and, where there is one, the validation loss
        self.means = torch.zeros(settings.max_epochs, 2 if validated else 1, dtype=torch.float64)

    @property
    def state(self) -> State:
        """All that changes."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def rows(self, batch: int) -> Tensor:
        """The rows of a batch."""
        return self.order[self.slices[batch]]

    def close(self, epoch: int, validation_loss: Callable[[], Tensor] | None) -> Record:
        """Write down what an epoch ended with."""
        self.means[epoch, 0] = self.losses.mean().item()
        if validation_loss is not None:
            self.means[epoch, 1] = validation_loss().item()
        self.n_done.fill_(epoch + 1)
        return self._record(epoch)

    @property
    def history(self) -> list[Record]:
        """One record an epoch."""
        return [self._record(epoch) for epoch in range(int(self.n_done))]

    def _record(self, epoch: int) -> Record:
        names = ("loss", "validation_loss")[: self.means.shape[1]]
        return {"epoch": epoch, **dict(zip(names, self.means[epoch].tolist(), strict=True))}


def _learning_step(
    optimiser: torch.optim.Optimizer, step_loss: Callable[[Tensor], Tensor]
) -> Callable[[Tensor], Tensor]:
    """One step down the loss of a batch; it returns the loss."""

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
        self.loss = torch.tensor(torch.inf, dtype=torch.float64)
        self.waited = torch.zeros((), dtype=torch.long)
        self.weights = {key: value.clone() for key, value in model.state_dict().items()}

    @property
    def state(self) -> State:
        """All that changes."""
        return {"loss": self.loss, "waited": self.waited, "weights": self.weights}

    @property
    def exhausted(self) -> bool:
        """Whether `patience` losses in a row were no better."""
        return int(self.waited) >= self.patience

    def see(self, loss: float) -> None:
        """Keep the present weights if `loss` is the lowest so far."""
        if loss < float(self.loss):
            self.loss.fill_(loss)
            self.waited.zero_()
            for key, value in self.model.state_dict().items():
                self.weights[key].copy_(value)
        else:
            self.waited.add_(1)

    def restore(self) -> None:
        """Put the best weights back, if any loss was seen."""
        if float(self.loss) < torch.inf:
            self.model.load_state_dict(self.weights)


def progress_bar(total: int, what: str, verbose: bool) -> Any:
    """A bar on standard error, or a silent stand-in."""
    from tqdm import tqdm

    return tqdm(total=total, desc=what, disable=not verbose, file=sys.stderr, leave=False, dynamic_ncols=True)
