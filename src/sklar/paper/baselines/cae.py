"""The concrete autoencoder (Abid, Balin, Zou, ICML 2019): the k features from which all others can be rebuilt.

Each of k selector units mixes the features with concrete weights whose temperature falls from 10 to .1, so that
each ends on one feature; a decoder rebuilds x from the k values. The target plays no part in the choice; a
predictor is trained afterwards on the features chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from sklar.model.networks import PredictNet, StackedLinear
from sklar.paper.baselines.networks import (
    BatchSize,
    PredictsFromMask,
    adam,
    descend,
    dropped,
    endless_batches,
    gumbel_like,
)
from sklar.params import Count, NonNegative, Positive
from sklar.training.engine.graphs import BatchStep

HOTTEST, COLDEST = 10.0, 0.1
DROPOUT = 0.1  # of the decoder
SETTLED = 0.998  # the mean over units of their largest weight at which the choice counts as made


class ConcreteLayer(nn.Module):
    """k selector units: logits (R, d, k)."""

    def __init__(self, n_features: int, k: int, replicas: int, generator: torch.Generator) -> None:
        super().__init__()
        deviation = (2 / (n_features + k)) ** 0.5  # Glorot's
        self.logits = nn.Parameter(deviation * torch.randn(replicas, n_features, k, generator=generator))

    def forward(self, x: Tensor, temperature: Tensor, generator: torch.Generator) -> Tensor:
        """Mix the features by one concrete draw for the whole batch: (R, n, d) -> (R, n, k)."""
        gumbel = gumbel_like(self.logits, tuple(self.logits.shape), generator)
        weights = torch.softmax((self.logits + gumbel) / temperature, dim=1)
        return x.expand(len(weights), -1, -1) @ weights

    def decided(self) -> Tensor:
        """Mean over units of the largest weight, for the least decided replica."""
        return torch.softmax(self.logits, dim=1).amax(1).mean(-1).amin()


class Decoder(nn.Module):
    """k - h - h - d, each layer leaky and with dropout, as the authors' for MNIST; without a generator none drops."""

    def __init__(self, k: int, hidden: int, n_features: int, replicas: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = StackedLinear(replicas, k, hidden, generator)
        self.second = StackedLinear(replicas, hidden, hidden, generator)
        self.last = StackedLinear(replicas, hidden, n_features, generator)

    def forward(self, values: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """x rebuilt: (R, n, k) -> (R, n, d)."""
        for layer in (self.first, self.second):
            values = dropped(leaky_relu(layer(values), 0.2), DROPOUT, noise)
        return self.last(values)


class AutoencoderAndPredictor(nn.Module):
    """The selector units, the decoder that rebuilds x, and the predictor of the target."""

    def __init__(self, units: ConcreteLayer, decoder: nn.Module, predictor: nn.Module) -> None:
        super().__init__()
        self.units, self.decoder, self.predictor = units, decoder, predictor


class ConcreteAutoencoder(PredictsFromMask):
    """Global selection of the k features that rebuild the others.

    Takes the parameters of `NetworkBaseline` too.

    Parameters
    ----------
    k : int, default 4
        Selector units, and so features.
    decoder_hidden, predictor_hidden : int, default 320 and 200
        Widths of the decoder k-320-320-d and of the predictor d-200-BN-200-BN-out.
    selector_learning_rate : float or None
        For the logits of the units; None is `learning_rate`.
    iterations : int, default 76,800
        Over which the temperature falls, as 300 epochs of 256 steps; doubled, and training begun anew, while the units
        have not settled.
    tries : int, default 5
        How often at most.
    predictor_iterations : int, default 3000
        For the predictor, and the decoder of exactly the k values, once the choice is made.
    batch_size, weight_decay : default 256 and 0

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import ConcreteAutoencoder
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> cae = ConcreteAutoencoder(k=2, iterations=20, tries=1, batch_size=50, random_state=0).fit(X, X[:, 0] > 0)
    >>> int(cae.select(X)[0].sum())
    2
    >>> cae.reconstruct(X).shape
    (200, 5)
    """

    k: Count = 4
    decoder_hidden: Count = 320
    predictor_hidden: Count = 200
    selector_learning_rate: Positive | None = None
    iterations: Count = 76_800
    predictor_iterations: Count = 3000
    tries: Count = 5
    batch_size: BatchSize = 256
    weight_decay: NonNegative = 0.0

    def reconstruct(self, X: Any) -> np.ndarray:
        """X rebuilt from its k chosen features, in X's own units: float (n, d)."""

        def rebuild(model: Any, x: Tensor) -> Tensor:
            chosen = model.units.logits.argmax(1)[0]  # (k,)
            return model.decoder(x[..., chosen])

        rebuilt = self._answer(self._check_rows(X), rebuild)
        return rebuilt * self.scaling_.spread + self.scaling_.centre

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        return AutoencoderAndPredictor(
            ConcreteLayer(n_features, self.k, replicas, generator),
            Decoder(self.k, self.decoder_hidden, n_features, replicas, generator),
            PredictNet(n_features, self.predictor_hidden, n_outputs, replicas=replicas, generator=generator),
        )

    def _train(self, model: Any, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        model.train()
        start = {key: value.clone() for key, value in model.state_dict().items()}
        for attempt in range(self.tries):
            model.load_state_dict(start)
            self._train_autoencoder(model, x, self.iterations * 2**attempt, generator)
            if model.units.decided() >= SETTLED:
                break
        self._train_decoder_and_predictor(model, x, y, generator)

    def _train_autoencoder(self, model: Any, x: Tensor, iterations: int, generator: torch.Generator) -> None:
        """Rebuild x while the temperature falls exponentially; stop once the units have settled."""
        optimiser = adam([model.decoder], self.learning_rate, self.weight_decay)
        rate = self.selector_learning_rate or self.learning_rate
        optimiser.add_param_group({"params": [model.units.logits], "lr": rate})
        temperature = x.new_tensor(HOTTEST)

        def learn(rows: Tensor) -> Tensor:
            rebuilt = model.decoder(model.units(x[:, rows], temperature, generator), generator)
            return descend(optimiser, (rebuilt - x[:, rows]).square().mean((-2, -1)).sum())

        step = BatchStep(learn, x.device, generator)
        for done, rows in enumerate(self._steps(x.shape[1], iterations, generator, "autoencoder")):
            temperature.fill_(HOTTEST * (COLDEST / HOTTEST) ** (done / iterations))
            step(rows)
            if done % 100 == 0 and model.units.decided() >= SETTLED:
                break

    def _train_decoder_and_predictor(self, model: Any, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        """With the choice made: the decoder on exactly the k values, the predictor on x with the rest at 0."""
        task = self._task()
        weights = torch.nn.functional.one_hot(model.units.logits.argmax(1), x.shape[2]).to(x.dtype)  # (R, k, d)
        mask = _best_k(model.units, self.k).unsqueeze(1)  # (R, 1, d)
        optimiser = adam([model.decoder, model.predictor], self.learning_rate, self.weight_decay)

        def learn(rows: Tensor) -> Tensor:
            x_rows = x[:, rows].expand(len(weights), -1, -1)
            rebuilt = model.decoder(x_rows @ weights.mT, generator)
            loss = (rebuilt - x_rows).square().mean((-2, -1))
            loss = loss + task.row_loss(model.predictor(x_rows * mask), y[..., rows]).mean(-1)
            return descend(optimiser, loss.sum())

        self._learn(learn, x.shape[1], min(self.predictor_iterations, self.iterations), generator)

    def _steps(self, n_rows: int, iterations: int, generator: torch.Generator, what: str) -> Iterator[Tensor]:
        return endless_batches(n_rows, iterations, self.batch_size, generator, what, bool(self.verbose))

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        model: Any = self.model_
        return _weights(model.units)[0].numpy()

    def _outputs(self, model: Any, x: Tensor, mask: Tensor) -> Tensor:
        return model.predictor(x * mask)


def _weights(units: ConcreteLayer) -> Tensor:
    """The largest weight that any unit gives a feature: (R, d)."""
    return torch.softmax(units.logits.detach(), dim=1).amax(-1)


def _best_k(units: ConcreteLayer, k: int) -> Tensor:
    """The k features of largest weight, as 0 and 1: (R, d)."""
    weights = _weights(units)
    return torch.zeros_like(weights).scatter(1, weights.topk(k, dim=1).indices, 1.0)
