"""What the rivals that train networks share: replicas, batches, Adam with an L2 term, answers in blocks.

Every network here carries the leading replica axis R of `sklar.model.networks`, so that several seeds train side
by side (`fit_seeds`); one seed is the plain case.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import chain, islice
from numbers import Real
from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor, nn

from sklar.paper.baselines.base import COMMON, Baseline, count
from sklar.training.engine import optim
from sklar.training.engine.graphs import BatchStep
from sklar.training.engine.loop import batches, progress_bar
from sklar.training.engine.runtime import DEVICES, generator_on, resolve_device, spawn_seeds
from sklar.training.tasks import Task

# Entries of the widest array that answering a block of rows may make (float64: 16 MiB).
BLOCK_ENTRIES = 2**21

POSITIVE = [Interval(Real, 0, None, closed="neither")]
AT_LEAST_ZERO = [Interval(Real, 0, None, closed="left")]
NETWORK: dict[str, list[Any]] = {
    **COMMON,
    "iterations": count(),
    "batch_size": count(2),
    "learning_rate": POSITIVE,
    "weight_decay": AT_LEAST_ZERO,
    "device": [StrOptions(set(DEVICES))],
}


class NetworkBaseline(Baseline):
    """A rival that trains networks: fills `_build` and `_train`; networks train in float32, answer in float64."""

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        """The networks, untrained, every parameter and buffer with a leading replica axis."""
        raise NotImplementedError

    def _train(self, model: Any, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        """Train in place; x is (1, n, d) and y (n,), shared by the replicas, or (R, n, d) and (R, n), one each."""
        raise NotImplementedError

    def fit_seeds(self, X: Any, y: Any, random_states: list[int]) -> list[Any]:
        """Train one model a seed, side by side as replicas in one pass; return one fitted rival a seed.

        The replicas share their batches, not their weights or noise. A rival of this list is as good as one
        from `fit`, though not the same to the bit.
        """
        learner = clone(self)
        rows, target = learner._prepare(X, y)
        seed = spawn_seeds(random_states[0], 1)[0]
        stacked = learner._train_replicas(rows, target, len(random_states), seed)
        fitted = []
        for index, random_state in enumerate(random_states):
            one = copy.copy(learner).set_params(random_state=random_state)
            one.model_ = replica(stacked, index)
            fitted.append(one)
        return fitted

    def fit_problems(self, problems: list[tuple[Any, Any]], random_states: list[int]) -> list[Any]:
        """Train one model a data set (X, y), all of one shape, side by side; return one fitted rival each.

        The replicas share the order of their batches, nothing else. All data sets have as many classes.
        """
        learners = [clone(self).set_params(random_state=random_state) for random_state in random_states]
        prepared = [learner._prepare(X, y) for learner, (X, y) in zip(learners, problems, strict=True)]
        _require_one_shape(learners, prepared)
        rows, target = (np.stack(parts) for parts in zip(*prepared, strict=True))
        seed = spawn_seeds(random_states[0], 1)[0]
        stacked = learners[0]._train_replicas(rows, target, len(learners), seed)
        for index, learner in enumerate(learners):
            learner.model_ = replica(stacked, index)
        return learners

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        self.model_ = self._train_replicas(rows, target, 1, spawn_seeds(self.random_state, 1)[0])

    def _train_replicas(self, rows: np.ndarray, target: np.ndarray, replicas: int, seed: int) -> nn.Module:
        device = resolve_device(self.device)
        dtype = np.int64 if self.task_ == "classification" else np.float32
        x = torch.from_numpy(rows.astype(np.float32)).to(device)
        x = x if x.ndim == 3 else x.unsqueeze(0)  # (1, n, d), or (R, n, d): a table each
        y = torch.from_numpy(target.astype(dtype)).to(device)  # (n,), or (R, n)
        weights = torch.Generator().manual_seed(seed)
        model = self._build(rows.shape[-1], self._task().n_outputs, replicas, weights).to(device)
        self._train(model, x, y, generator_on(device, seed))
        return model.cpu().double().eval().requires_grad_(False)

    def _task(self) -> Task:
        return Task(n_classes=len(self.classes_) if self.task_ == "classification" else None)

    def _batches(self, n_rows: int, generator: torch.Generator, what: str) -> Iterator[Tensor]:
        """`iterations` batches of row indices, shuffled anew each epoch, with a progress bar when verbose."""
        return endless_batches(n_rows, self.iterations, self.batch_size, generator, what, bool(self.verbose))

    def _learn(
        self,
        step: Callable[[Tensor], Tensor],
        n_rows: int,
        iterations: int,
        generator: torch.Generator,
        before: Callable[[int], object] = lambda index: None,
    ) -> None:
        """`before(index)` and `step(rows)` for so many batches of row indices; on a GPU the step is captured once."""
        captured = BatchStep(step, generator.device, generator)
        what, verbose = type(self).__name__, bool(self.verbose)
        for index, rows in enumerate(endless_batches(n_rows, iterations, self.batch_size, generator, what, verbose)):
            before(index)
            captured(rows)

    def _answer(self, rows: np.ndarray, function: Callable[[Any, Tensor], Tensor]) -> np.ndarray:
        """`function(model, x)` for blocks of rows, on the device: (n, ...)."""
        return answer(self.model_, rows, function, self.device)


class PredictsFromMask(NetworkBaseline):
    """A network rival that predicts from what its own masks show: fills `_outputs`."""

    def _outputs(self, model: Any, x: Tensor, mask: Tensor) -> Tensor:
        """Logits or values of masked rows: (R, n, d), (R, n, d) -> (R, n, out)."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The class or value of each row, from its selected features alone: (n,)."""
        outputs = self._row_outputs(X)
        if self.task_ == "classification":
            return self.classes_[outputs.argmax(axis=1)]
        return outputs[:, 0] * self.target_spread_ + self.target_centre_

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class | selected features), columns as in `classes_`: (n, classes)."""
        if self.task_ != "classification":
            raise AttributeError("predict_proba is for classification; this was fitted to real numbers")
        return softmax(self._row_outputs(X), axis=1)

    def _row_outputs(self, X: Any) -> np.ndarray:
        rows = self._check_rows(X)
        both = np.concatenate([rows, self._masks(rows)], axis=1)  # (n, 2 d): each row with its mask
        d = rows.shape[1]
        return self._answer(both, lambda model, x: self._outputs(model, x[..., :d], x[..., d:]))


def _require_one_shape(learners: list[Any], prepared: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Refuse data sets that do not fit into one stack."""
    shapes = {rows.shape for rows, _ in prepared}
    if len(shapes) > 1:
        raise ValueError(f"data sets side by side must have one shape; got {sorted(shapes)}")
    if len({learner._task() for learner in learners}) > 1:
        raise ValueError("data sets side by side must all be regression, or have the same number of classes")


def endless_batches(
    n_rows: int, iterations: int, size: int, generator: torch.Generator, what: str, verbose: bool
) -> Iterator[Tensor]:
    """`iterations` batches of row indices: epoch after epoch of shuffled rows."""
    progress = progress_bar(iterations, what, verbose)
    epochs = (batches(n_rows, size, generator) for _ in range(iterations))
    try:
        for rows in islice(chain.from_iterable(epochs), iterations):
            yield rows
            progress.update()
    finally:  # also when the caller stops early
        progress.close()


def adam(modules: list[nn.Module], learning_rate: float, weight_decay: float) -> torch.optim.Adam:
    """Adam on `loss + weight_decay * sum of squared weights`; biases and norms go free, as in the authors' Keras.

    torch adds `weight_decay * w` to the gradient of w; the gradient of the L2 term is twice that.
    """
    named = [pair for module in modules for pair in module.named_parameters()]
    groups = optim.decay_groups(named, 2 * weight_decay, lambda name: name.endswith("weight") and "norm" not in name)
    return optim.adam(groups, learning_rate, fused=True)


def descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> Tensor:
    """One step down the gradient of `loss`; returns its value."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()
    return loss.detach()


def gumbel_like(logits: Tensor, shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
    """Gumbel noise, -log of an exponential that is kept off 0: `shape`, on the device of `logits`."""
    exponential = torch.empty(shape, device=logits.device, dtype=logits.dtype).exponential_(generator=generator)
    return -exponential.clamp_min(1e-20).log()


def n_replicas(model: nn.Module) -> int:
    """How many replicas a stack holds."""
    return next(model.parameters()).shape[0]


def answer(
    model: Any, rows: np.ndarray, function: Callable[[Any, Tensor], Tensor], device: str, width: int = 256
) -> np.ndarray:
    """`function(model, x)` with x (1, n, d), in blocks of rows of bounded memory, on the device: (n, ...)."""
    where = resolve_device(device)
    model = model if where.type == "cpu" else copy.deepcopy(model).to(where)
    size = max(1, BLOCK_ENTRIES // max(width, rows.shape[1]))
    with torch.inference_mode():
        parts = [
            function(model, torch.from_numpy(rows[i : i + size]).unsqueeze(0).to(where))[0].cpu().numpy()
            for i in range(0, len(rows), size)
        ]
    return np.concatenate(parts)


def replica(stacked: nn.Module, index: int) -> nn.Module:
    """One replica of a stack, as a stack of one."""
    one = copy.deepcopy(stacked)
    for module in one.modules():
        for name, value in module.named_parameters(recurse=False):
            setattr(module, name, nn.Parameter(value[index : index + 1].clone(), requires_grad=False))
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, buffer[index : index + 1].clone())
    return one
