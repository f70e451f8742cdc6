"""REAL-X (Jethani, Sudarshan, Aphinyanaphongs, Ranganath, AISTATS 2021): selection that cannot encode.

The predictor learns on masks that are coin tosses, so it estimates p(y | x_S) for any S and the choice of a mask
tells it nothing. The selector learns through that predictor, whose weights it does not move, with the unbiased
low-variance gradient of REBAR (Tucker et al., NeurIPS 2017).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid, softplus

from sklar.model.networks import ChoiceNet, PredictNet
from sklar.paper.baselines.base import count
from sklar.paper.baselines.l2x import SelectorAndPredictor
from sklar.paper.baselines.networks import (
    AT_LEAST_ZERO,
    NETWORK,
    POSITIVE,
    PredictsFromMask,
    adam,
    descend,
    n_replicas,
)


class RealX(PredictsFromMask):
    """Instance-wise selection through a predictor of random masks.

    Parameters
    ----------
    penalty : float, default 0.1
        Price (lambda) of the mean selection probability of a row.
    temperature : float, default 0.1
        Of the relaxed mask in REBAR's control variate; it changes the variance, not the mean.
    warmup : int, default 1000
        Iterations in which only the predictor learns.
    selector_hidden, predictor_hidden : int, default 100 and 200
        Widths: selector d-100-100-d; predictor d-200-BN-200-BN-out.
    iterations, batch_size, learning_rate : default 5000, 1000 and 1e-3
    weight_decay : float, default 1e-3
        Weight of the L2 term, on the weight matrices.
    task, device, random_state, verbose
        As in `Invase`.

    Examples
    --------
    >>> from sklar.paper.baselines import REGISTRY
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> realx = REGISTRY["realx"](iterations=20, warmup=5, batch_size=100, random_state=0).fit(X, y)
    >>> realx.scores(X).shape
    (300, 11)
    """

    is_instance_wise = True
    _parameter_constraints = {
        **NETWORK,
        "penalty": AT_LEAST_ZERO,
        "temperature": POSITIVE,
        "warmup": count(0),
        "selector_hidden": count(),
        "predictor_hidden": count(),
    }

    def __init__(
        self,
        *,
        penalty: float = 0.1,
        temperature: float = 0.1,
        warmup: int = 1000,
        selector_hidden: int = 100,
        predictor_hidden: int = 200,
        iterations: int = 5000,
        batch_size: int = 1000,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-3,
        task: str = "auto",
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.penalty = penalty
        self.temperature = temperature
        self.warmup = warmup
        self.selector_hidden = selector_hidden
        self.predictor_hidden = predictor_hidden
        self.iterations = iterations
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.task = task
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        return SelectorAndPredictor(
            ChoiceNet(n_features, self.selector_hidden, replicas=replicas, generator=generator),
            PredictNet(n_features, self.predictor_hidden, n_outputs, replicas=replicas, generator=generator),
        )

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

    def _outputs(self, model: SelectorAndPredictor, x: Tensor, mask: Tensor) -> Tensor:
        return model.predictor(x * mask)


def rebar_surrogate(
    logits: Tensor,
    loss_of: Callable[[Tensor], Tensor],
    temperature: float,
    generator: torch.Generator | None = None,
) -> Tensor:
    """A value a row whose gradient in `logits` estimates that of E f(b), b ~ Bernoulli(sigmoid(logits)), unbiased.

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
