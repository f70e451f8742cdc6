"""REAL-X (Jethani, Sudarshan, Aphinyanaphongs, Ranganath, AISTATS 2021): selection that cannot encode.

The predictor learns on masks that are coin tosses, so it estimates p(y | x_S) for any S and the choice of a mask
tells it nothing. The selector learns through that predictor, whose weights it does not move, with the unbiased
low-variance gradient of REBAR (Tucker et al., NeurIPS 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid, softplus

from sklar.paper.baselines.networks import SelectorAndPredictor, SelectorPredictorBaseline, adam, descend, n_replicas
from sklar.params import NonNegative, Positive, at_least


class RealX(SelectorPredictorBaseline):
    """Instance-wise selection through a predictor of random masks.

    Takes the parameters of `SelectorPredictorBaseline` too.

    Parameters
    ----------
    penalty : float, default 0.1
        Price (lambda) of the mean selection probability of a row.
    temperature : float, default 0.1
        Of the relaxed mask in REBAR's control variate; it changes the variance, not the mean.
    warmup : int, default 1000
        Iterations in which only the predictor learns.

    Examples
    --------
    >>> from sklar.paper.baselines import RealX
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> RealX(iterations=20, warmup=5, batch_size=100, random_state=0).fit(X, X[:, 0] > 0).scores(X).shape
    (200, 4)
    """

    penalty: NonNegative = 0.1
    temperature: Positive = 0.1
    warmup: Annotated[int, at_least(0)] = 1000

    def _train(self, model: SelectorAndPredictor, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        task = self._task()
        learn = adam([model.predictor], self.learning_rate, self.weight_decay)
        choose = adam([model.selector], self.learning_rate, self.weight_decay)
        for step, rows in enumerate(self._batches(x.shape[1], generator, "realx")):
            x_rows, y_rows = x[:, rows].expand(n_replicas(model), -1, -1), y[..., rows]
            model.predictor.train()
            tosses = torch.empty_like(x_rows).bernoulli_(0.5, generator=generator)
            descend(learn, task.row_loss(model.predictor(x_rows * tosses), y_rows).mean(-1).sum())
            if step < self.warmup:
                continue
            model.predictor.eval()
            logits = model.selector(x_rows).scores  # (R, b, d)

            def loss_of(mask: Tensor, x_rows: Tensor = x_rows, y_rows: Tensor = y_rows) -> Tensor:
                return task.row_loss(model.predictor(x_rows * mask), y_rows)  # (R, b)

            surrogate = rebar_surrogate(logits, loss_of, self.temperature, generator)
            loss = surrogate + self.penalty * torch.sigmoid(logits).mean(-1)
            descend(choose, loss.mean(-1).sum())

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
