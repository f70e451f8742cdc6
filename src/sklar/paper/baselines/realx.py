"""REAL-X (Jethani, Sudarshan, Aphinyanaphongs, Ranganath, AISTATS 2021): selection that cannot encode.

The predictor learns on masks that are coin tosses, so it estimates p(y | x_S) for any S and the choice of a mask
tells it nothing. The selector learns through that predictor, whose weights it does not move, with the unbiased
low-variance gradient of REBAR (Tucker et al., NeurIPS 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid, softplus

from sklar.paper.baselines.networks import SelectorAndPredictor, SelectorPredictorBaseline, adam, descend, n_replicas
from sklar.paper.baselines.priced import PricedBaseline
from sklar.params import Positive, at_least


class RealX(PricedBaseline, SelectorPredictorBaseline):
    """Instance-wise selection through a predictor of random masks.

    The predictor learns first, for `warmup` steps; then the selector, through the finished predictor. The price is that
    of the selection probability, and the parameters are those of `SelectorPredictorBaseline` and `PricedBaseline` too.

    Parameters
    ----------
    temperature : float, default 0.1
        Of the relaxed mask in REBAR's control variate; it changes the variance, not the mean.
    warmup : int, default 5000
        Iterations of the predictor.
    iterations : int, default 5000
        Of the selector.

    Examples
    --------
    >>> from sklar.paper.baselines import RealX
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> RealX(iterations=20, warmup=5, batch_size=100, random_state=0).fit(X, X[:, 0] > 0).scores(X).shape
    (200, 4)
    """

    temperature: Positive = 0.1
    warmup: Annotated[int, at_least(0)] = 5000

    def _train(self, model: SelectorAndPredictor, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        task, replicas = self._task(), n_replicas(model)
        learn = adam([model.predictor], self.learning_rate, self.weight_decay)
        choose = adam([model.selector], self.learning_rate, self.weight_decay)
        price: Any = model.price  # (R, 1)

        def predict(rows: Tensor) -> Tensor:
            x_rows = x[:, rows].expand(replicas, -1, -1)
            tosses = torch.empty_like(x_rows).bernoulli_(0.5, generator=generator)
            return descend(learn, task.row_loss(model.predictor(x_rows * tosses), y[..., rows]).mean(-1).sum())

        def select(rows: Tensor) -> Tensor:
            x_rows = x[:, rows].expand(replicas, -1, -1)
            logits = model.selector(x_rows).scores  # (R, b, d)

            def loss_of(mask: Tensor) -> Tensor:
                return task.row_loss(model.predictor(x_rows * mask), y[..., rows])  # (R, b)

            surrogate = rebar_surrogate(logits, loss_of, self.temperature, generator)
            return descend(choose, (surrogate + price * torch.sigmoid(logits).mean(-1)).mean(-1).sum())

        model.predictor.train()
        self._learn(predict, x.shape[1], self.warmup, generator)
        model.predictor.eval().requires_grad_(False)
        self._learn(select, x.shape[1], self.iterations, generator)

    def _decided(self, model: SelectorAndPredictor, x: Tensor) -> Tensor:
        return (model.selector(x).scores > 0).to(x.dtype)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self._answer(rows, lambda model, x: torch.sigmoid(model.selector(x).scores))

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores > 0.5


def rebar_surrogate(
    logits: Tensor,
    loss_of: Callable[[Tensor], Tensor],
    temperature: float,
    generator: torch.Generator | None = None,
) -> Tensor:
    """A value per row whose gradient in `logits` estimates that of E f(b), b ~ Bernoulli(sigmoid(logits)), unbiased.

    With z = logits + log u - log(1 - u), b = 1{z > 0}, and z' drawn from the law of z given b,
    grad = [f(b) - f(s(z'))] grad log p(b) + grad f(s(z)) - grad f(s(z')),  s(z) = sigmoid(z / temperature).
    """
    noise = torch.rand(logits.shape, generator=generator, device=logits.device).clamp(1e-6, 1 - 1e-6)
    z = logits + torch.logit(noise)
    b = (z > 0).to(logits.dtype).detach()
    z_given_b = _logistic_given_sign(logits, b, generator)
    relaxed, relaxed_given_b = (loss_of(torch.sigmoid(v / temperature)) for v in (z, z_given_b))
    with torch.no_grad():
        gain = loss_of(b) - relaxed_given_b
    log_chance = -binary_cross_entropy_with_logits(logits, b, reduction="none").sum(-1)
    return gain * log_chance + relaxed - relaxed_given_b


def _logistic_given_sign(logits: Tensor, b: Tensor, generator: torch.Generator | None) -> Tensor:
    """z ~ logits + Logistic given that 1{z > 0} = b, as a differentiable function of `logits`.

    With v uniform: z = log(1 + v / ((1 - v) sigmoid(-logits))) for b = 1, and by symmetry the negative of the same
    with -logits for b = 0.
    """
    v = torch.rand(logits.shape, generator=generator, device=logits.device).clamp(1e-6, 1 - 1e-6)
    sign = 2 * b - 1
    return sign * softplus(torch.logit(v) - logsigmoid(-sign * logits))
