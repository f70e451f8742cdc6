"""What the baselines that train networks share: replicas, batches, Adam with an L2 term, answers in blocks.

Every network here carries the leading replica axis R of `sklar.model.networks`, so that several seeds train side
by side (`fit_seeds`); one seed is the plain case.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Annotated, Any, Literal

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import clone
from torch import Tensor, nn

from sklar.model.networks import ChoiceNet, PredictNet
from sklar.model.row_blocks import map_rows
from sklar.paper.baselines.base import Baseline
from sklar.params import Count, NonNegative, Positive, StrOptions, at_least
from sklar.training.engine import optim
from sklar.training.engine.graphs import BatchStep
from sklar.training.engine.loop import batches, progress_bar
from sklar.training.engine.runtime import DEVICES, generator_on, resolve_device, spawn_seeds
from sklar.training.tasks import Task

WIDEST_LAYER = 256  # entries per row that answering takes, where the rows themselves are not wider

BatchSize = Annotated[int, at_least(2)]
Device = Annotated[str, StrOptions(set(DEVICES))]


class NetworkBaseline(Baseline):
    """A baseline that trains networks: fills `_build` and `_train`; they train in float32 and predict in float64.

    Parameters
    ----------
    iterations, batch_size : int
        Steps of training, and rows per step.
    learning_rate : float
        Adam's.
    weight_decay : float
        Weight of the L2 term, on the weight matrices.
    device : "auto", "cpu" or "cuda"
    """

    iterations: Count = 3000
    batch_size: BatchSize = 1000
    learning_rate: Positive = 1e-3
    weight_decay: NonNegative = 1e-3
    device: Device = "auto"

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        """The networks, untrained, every parameter and buffer with a leading replica axis."""
        raise NotImplementedError

    def _train(self, model: Any, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        """Train in place; x is (1, n, d) and y (n,), shared by the replicas, or (R, n, d) and (R, n), one each."""
        raise NotImplementedError

    def fit_seeds(self, X: Any, y: Any, random_states: list[int]) -> list[Any]:
        """Train one model per seed, side by side as replicas in one pass; return one fitted baseline per seed.

        The replicas share their batches, not their weights or noise. A baseline of this list is as good as one
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
        """Train one model per data set (X, y), all of one shape, side by side; return one fitted baseline each.

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
        x, y = self._tensors(rows, target)
        weights = torch.Generator().manual_seed(seed)
        model = self._build(rows.shape[-1], self._task().n_outputs, replicas, weights).to(x.device)
        self._train(model, x, y, generator_on(x.device, seed))
        return self._finished(model)

    def _tensors(self, rows: np.ndarray, target: np.ndarray) -> tuple[Tensor, Tensor]:
        """On the device: (1, n, d) and (n,), or one table per replica, (R, n, d) and (R, n)."""
        device = resolve_device(self.device)
        dtype = np.int64 if self.task_ == "classification" else np.float32
        x = torch.from_numpy(rows.astype(np.float32)).to(device)
        return x if x.ndim == 3 else x.unsqueeze(0), torch.from_numpy(target.astype(dtype)).to(device)

    @staticmethod
    def _finished(model: nn.Module) -> nn.Module:
        """A trained stack, as it answers."""
        return model.cpu().double().eval().requires_grad_(False)

    def _task(self) -> Task:
        return Task(n_classes=len(self.classes_) if self.task_ == "classification" else None)

    def _batches(self, n_rows: int, generator: torch.Generator, what: str) -> Iterator[Tensor]:
        """`iterations` batches of row indices, shuffled each epoch, with a progress bar when verbose."""
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
        width = max(WIDEST_LAYER, rows.shape[1])
        return map_rows(self.model_, len(rows), lambda part: rows[part], function, resolve_device(self.device), width)


class PredictsFromMask(NetworkBaseline):
    """A network baseline that predicts from what its own masks show: fills `_outputs`."""

    def _outputs(self, model: Any, x: Tensor, mask: Tensor) -> Tensor:
        """Logits or values of masked rows: (R, n, d), (R, n, d) -> (R, n, out)."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The class or value of each row, from its selected features alone: (n,)."""
        return self._decoded(self._answers(self._row_outputs(X)))

    def predict_masked(self, X: Any, mask: np.ndarray) -> np.ndarray:
        """The class or value of each row from the features that `mask`, bool (n, d), shows: (n,)."""
        return self._decoded(self._answers(self._masked_outputs(self._check_rows(X), mask)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class | selected features), columns as in `classes_`: (n, classes)."""
        if self.task_ != "classification":
            raise AttributeError("predict_proba is for classification; this was fitted to real numbers")
        return softmax(self._row_outputs(X), axis=1)

    def _row_outputs(self, X: Any) -> np.ndarray:
        rows = self._check_rows(X)
        return self._masked_outputs(rows, self._masks(rows))

    def _answers(self, outputs: np.ndarray) -> np.ndarray:
        """Class codes, or standardised values: (n, out) -> (n,)."""
        return outputs.argmax(axis=1) if self.task_ == "classification" else outputs[:, 0]

    def _masked_outputs(self, rows: np.ndarray, mask: np.ndarray) -> np.ndarray:
        both = np.concatenate([rows, mask], axis=1)  # (n, 2 d): each row with its mask
        d = rows.shape[1]
        return self._answer(both, lambda model, x: self._outputs(model, x[..., :d], x[..., d:]))


class SelectorAndPredictor(nn.Module):
    """Two networks that train together or in turn."""

    def __init__(self, selector: nn.Module, predictor: nn.Module) -> None:
        super().__init__()
        self.selector, self.predictor = selector, predictor


class SelectorPredictorBaseline(PredictsFromMask):
    """A selector d-100-100-d that scores features per row, and a predictor d-200-BN-200-BN-out of masked rows.

    Parameters
    ----------
    selector_hidden, predictor_hidden : int, default 100 and 200
        Widths of their layers.
    activation : "relu" or "selu"
        Of both.
    iterations : int, default 5000
    """

    is_instance_wise = True
    activation: Literal["relu", "selu"] = "relu"
    selector_hidden: Count = 100
    predictor_hidden: Count = 200
    iterations: Count = 5000

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        shared: Any = {"activation": self.activation, "replicas": replicas, "generator": generator}
        return SelectorAndPredictor(
            ChoiceNet(n_features, self.selector_hidden, **shared),
            PredictNet(n_features, self.predictor_hidden, n_outputs, **shared),
        )

    def _outputs(self, model: SelectorAndPredictor, x: Tensor, mask: Tensor) -> Tensor:
        return model.predictor(x * mask)


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


def adam(
    modules: list[nn.Module], learning_rate: float, weight_decay: float, free: tuple[str, ...] = ("norm",)
) -> torch.optim.Adam:
    """Adam on `loss + weight_decay * sum of squared weights`; biases and norms go free, as in the authors' Keras.

    So do weights whose name holds a word of `free`. torch adds `weight_decay * w` to the gradient of w; the gradient
    of the L2 term is twice that.
    """
    named = [pair for module in modules for pair in module.named_parameters()]

    def decays(name: str) -> bool:
        return name.endswith("weight") and not any(word in name for word in free)

    groups = optim.decay_groups(named, 2 * weight_decay, decays)
    return optim.adam(groups, learning_rate, fused=True)


def descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> Tensor:
    """One step down the gradient of `loss`; returns its value."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()
    return loss.detach()


def dropped(values: Tensor, share: float, noise: torch.Generator | None) -> Tensor:
    """Dropout of a share of the values, the others enlarged to keep the mean; none without a generator."""
    if noise is None or not share:
        return values
    kept = torch.rand(values.shape, generator=noise, device=values.device, dtype=values.dtype) >= share
    return values * kept / (1 - share)


def gumbel_like(logits: Tensor, shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
    """Gumbel noise, -log of an exponential that is kept off 0: `shape`, on the device of `logits`."""
    exponential = torch.empty(shape, device=logits.device, dtype=logits.dtype).exponential_(generator=generator)
    return -exponential.clamp_min(1e-20).log()


def n_replicas(model: nn.Module) -> int:
    """How many replicas a stack holds."""
    return next(model.parameters()).shape[0]


def replica(stacked: nn.Module, index: int) -> nn.Module:
    """One replica of a stack, as a stack of one."""
    one = copy.deepcopy(stacked)
    for module in one.modules():
        for name, value in module.named_parameters(recurse=False):
            setattr(module, name, nn.Parameter(value[index : index + 1].clone(), requires_grad=False))
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, buffer[index : index + 1].clone())
    return one
