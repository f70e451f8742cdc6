"""ChoiceNet and PredictNet, as stacks of replicas.

These networks are small, and one alone leaves a machine idle. Every layer therefore carries a leading
replica axis R, so that folds, penalties and seeds train side by side in one batched matrix product.
One replica is the plain case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

FEW_OUTPUTS = 8  # up to here a CPU is several times as fast with the outputs as rows
ACTIVATIONS = {"relu": torch.relu, "selu": torch.selu, "tanh": torch.tanh}


class StackedLinear(nn.Module):
    """R linear layers evaluated as one product: (R, n, n_in) -> (R, n, n_out)."""

    def __init__(self, replicas: int, n_in: int, n_out: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        bound = n_in**-0.5  # the range torch.nn.Linear draws from
        self.weight = nn.Parameter(_uniform((replicas, n_in, n_out), bound, generator))
        self.bias = nn.Parameter(_uniform((replicas, 1, n_out), bound, generator))

    @torch.no_grad()
    def start(self, gain: float, bias: float, generator: torch.Generator | None = None) -> None:
        """Begin from normal weights of deviation gain / sqrt(n_in) and one bias, instead."""
        self.weight.normal_(0, gain * self.weight.shape[1] ** -0.5, generator=generator)
        self.bias.fill_(bias)

    def forward(self, x: Tensor) -> Tensor:
        """Apply layer r to slice r; a single slice of x is shared by all layers."""
        if x.shape[0] != self.weight.shape[0]:
            x = x.expand(self.weight.shape[0], -1, -1)
        if x.is_cuda:
            return _OnGpu.apply(x, self.weight, self.bias)
        if self.weight.shape[-1] <= FEW_OUTPUTS:
            return _Narrow.apply(x, self.weight, self.bias).mT
        return torch.baddbmm(self.bias, x, self.weight)


class _OnGpu(torch.autograd.Function):
    """A layer by products alone: torch's sum over rows takes a GPU three times as long as a product with ones."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        if len(x) > 1:
            return torch.baddbmm(bias, x, weight)
        out = x.new_empty(1, x.shape[1], weight.shape[-1])  # no view: callers change the result in place
        torch.addmm(bias[0, 0], x[0], weight[0], out=out[0])  # adds the bias on its way
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0]
        of_x = gradient @ weight.mT if ctx.needs_input_grad[0] else None
        if not any(ctx.needs_input_grad[1:]):
            return of_x, None, None
        ones = x.new_ones(1, 1, x.shape[1]).expand(len(x), -1, -1)
        return of_x, x.mT @ gradient, ones @ gradient


class _Narrow(torch.autograd.Function):
    """A layer of few outputs, with the products that a CPU does quickly: (R, n, n_in) -> (R, n_out, n)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return weight.mT.contiguous() @ x.mT + bias.mT

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        of_x = gradient.mT.contiguous() @ weight.mT.contiguous()  # in the order of x: what comes before walks along it
        return of_x, (gradient @ x).mT, gradient.sum(-1).unsqueeze(1)


class StackedBatchNorm(nn.Module):
    """Batch normalisation over the rows of each replica: (R, n, h) -> (R, n, h)."""

    def __init__(self, replicas: int, width: int, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight = nn.Parameter(torch.ones(replicas, 1, width))
        self.bias = nn.Parameter(torch.zeros(replicas, 1, width))
        self.mean: Tensor
        self.variance: Tensor
        self.register_buffer("mean", torch.zeros(replicas, 1, width))
        self.register_buffer("variance", torch.ones(replicas, 1, width))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise by the batch while training, by the running moments afterwards."""
        if not self.training:
            gain = self.weight * torch.rsqrt(self.variance + self.eps)
            return x * gain + (self.bias - self.mean * gain)
        replicas, n, width = x.shape
        columns = x.transpose(0, 1).reshape(n, -1)  # all replicas' side by side
        affine = self.weight.flatten(), self.bias.flatten()
        out, mean, inverse = torch.native_batch_norm(columns, *affine, None, None, True, 0.0, self.eps)
        with torch.no_grad():
            self.mean.lerp_(mean.view_as(self.mean), self.momentum)
            variance = (inverse.square().reciprocal_() - self.eps).clamp_min_(0)
            self.variance.lerp_(variance.view_as(self.variance), self.momentum)
        return out.view(n, replicas, width).transpose(0, 1)


class Choice(NamedTuple):
    """What ChoiceNet says about every row."""

    scores: Tensor  # alpha, (R, n, d)
    loadings: Tensor | None  # the entries of L, flat, (R, n, entries)
    sigma: Tensor | None  # (R, n, d)
    hidden: Tensor | None = None  # (R, n, h), where the copula is known by what it is made of: act(h W + b)


class ChoiceNet(nn.Module):
    """d - h - h - heads: the scores alpha and, for a copula, the entries of L and sigma.

    A feature may be several inputs (`n_inputs` in all), and `n_extra` may follow: what a row is told besides.

    The paper's text puts tanh on L and ReLU on sigma, its Algorithm 4 the reverse: `loadings_activation`
    chooses L's, and sigma gets the other. ReLU loadings can only make correlations positive.
    """

    def __init__(
        self,
        n_features: int,
        hidden: int,
        *,
        n_inputs: int | None = None,
        n_extra: int = 0,
        n_loadings: int = 0,
        with_sigma: bool = False,
        activation: str = "relu",
        loadings_activation: str = "tanh",
        replicas: int = 1,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.loadings_activation = ACTIVATIONS[loadings_activation]
        self.sigma_activation = ACTIVATIONS["relu" if loadings_activation == "tanh" else "tanh"]
        self.first = StackedLinear(replicas, (n_inputs or n_features) + n_extra, hidden, generator)
        self.second = StackedLinear(replicas, hidden, hidden, generator)
        self.scores = StackedLinear(replicas, hidden, n_features, generator)
        self.n_loadings = n_loadings
        width = n_loadings + n_features * with_sigma
        # one layer for both parts: many small products take longer than one
        self.copula = StackedLinear(replicas, hidden, width, generator) if width else None

    def forward(self, x: Tensor, heads: bool = True, factored: bool = False) -> Choice:
        """Scores for every row of x (R, n, D); with `heads`, the copula's parameters too.

        With `factored` these are not made, and the hidden units they would be made of are returned instead.
        """
        h = self.activation(self.second(self.activation(self.first(x))))
        if factored:
            return Choice(self.scores(h), None, None, h)
        return Choice(self.scores(h), *(self.copula_of(h) if heads else (None, None)))

    def copula_of(self, h: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Loadings and sigma made of hidden units (R, n, h), as far as there are heads for them."""
        if self.copula is None:
            return None, None
        loadings, sigma = self.copula(h).tensor_split([self.n_loadings], dim=-1)
        return self.loadings_activation(loadings), self.sigma_activation(sigma) if sigma.shape[-1] else None

    @torch.no_grad()
    def only(self, features: Tensor, inputs: Tensor) -> ChoiceNet:
        """The same scores of the features (R, w) alone, from the inputs (R, W) alone, as if the others were 0.

        The copula's heads are left out.
        """
        replicas, hidden = len(features), self.first.weight.shape[-1]
        narrow = ChoiceNet(
            features.shape[1], hidden, n_inputs=inputs.shape[1], replicas=replicas, generator=torch.Generator()
        ).to(features.device)
        narrow.activation = self.activation
        narrow.first.weight.copy_(_take_rows(self.first.weight, inputs))
        narrow.first.bias.copy_(self.first.bias)
        narrow.second.load_state_dict(self.second.state_dict())
        narrow.scores.weight.copy_(_take_rows(self.scores.weight.mT, features).mT)
        narrow.scores.bias.copy_(_take_rows(self.scores.bias.mT, features).mT)
        return narrow


class PredictNet(nn.Module):
    """d - h - h - out, with batch normalisation after each activation."""

    def __init__(
        self,
        n_inputs: int,
        hidden: int,
        n_outputs: int,
        *,
        activation: str = "relu",
        replicas: int = 1,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.first = StackedLinear(replicas, n_inputs, hidden, generator)
        self.first_norm = StackedBatchNorm(replicas, hidden)
        self.second = StackedLinear(replicas, hidden, hidden, generator)
        self.second_norm = StackedBatchNorm(replicas, hidden)
        self.last = StackedLinear(replicas, hidden, n_outputs, generator)

    def forward(self, x: Tensor) -> Tensor:
        """Logits or values for every row: (R, n, n_inputs) -> (R, n, n_outputs)."""
        h = self.first_norm(self.activation(self.first(x)))
        h = self.second_norm(self.activation(self.second(h)))
        return self.last(h)


def _uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator | None) -> Tensor:
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)


def _take_rows(weight: Tensor, rows: Tensor) -> Tensor:
    """Rows (R, w) of a stack of matrices (R, d, h): (R, w, h)."""
    return weight.gather(1, rows.unsqueeze(-1).expand(-1, -1, weight.shape[-1]))
