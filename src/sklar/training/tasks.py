"""What is minimised: a task gives one loss a row, and an objective adds the price of the features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot, softplus

from sklar.model.selection import SelectionModel

LOG_VARIANCES = (-8.0, 3.0)  # of a standardised target: beyond, one row would decide what the others teach


@dataclass(frozen=True)
class Task:
    """Classification with `n_classes`, or regression (squared error on a standardised target) with None."""

    n_classes: int | None

    @property
    def kind(self) -> str:
        """What an output means: "classes" (logits), "values", and those of `targets`."""
        return "values" if self.n_classes is None else "classes"

    @property
    def n_outputs(self) -> int:
        """Width of PredictNet's last layer."""
        return self.n_classes or 1

    def row_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """One loss a row: (..., n, out), (n,) or (..., n) -> (..., n)."""
        if self.n_classes is None:
            return (output.squeeze(-1) - target).square()
        target = target.expand(output.shape[:-1])
        if self.n_classes == 2:  # the same, ten times as fast on a CPU
            return softplus((1 - 2 * target) * (output[..., 1] - output[..., 0]))
        return cross_entropy(output.flatten(0, -2), target.flatten(), reduction="none").view_as(target)

    def expected_loss(self, output: Tensor, target: Tensor) -> Tensor | None:
        """The loss that a prediction expects of itself, like `row_loss`; None where it says nothing about that.

        Of classes the entropy. A value alone does not say how far off it will be (`SpreadTask` does).
        """
        if self.n_classes is None:
            return None
        log_p = output.log_softmax(-1)
        return -(log_p.exp() * log_p).sum(-1)

    def learning_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """What predictors learn from, one loss a row; most tasks' own."""
        return self.row_loss(output, target)

    @property
    def n_predicted(self) -> int:
        """How many of the outputs are a prediction; the others say how sure it is."""
        return self.n_outputs

    def to(self, device: torch.device) -> Task:
        """The same on a device."""
        return self

    def batch_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """One loss a row of a batch, for losses that couple rows."""
        return self.row_loss(output, target)

    def residuals(self, output: Tensor, target: Tensor) -> Tensor:
        """What a prediction leaves open: y - E y for a value, 1{y = c} - p_c for classes: (..., C)."""
        if self.n_classes is None:
            return (target - output.squeeze(-1)).unsqueeze(-1)
        hit = one_hot(target, self.n_classes).to(output.dtype) - output.softmax(-1)
        return hit[..., 1:] if self.n_classes == 2 else hit

    def renew(self, output: Tensor, target: Tensor) -> None:
        """Look at outputs for rows between the parts of a training; most tasks need not."""


class SpreadTask(Task):
    """Regression whose predictors also say how far off they expect to be: outputs are the value and log-variance."""

    @property
    def n_outputs(self) -> int:
        """The value, and the logarithm of its expected squared error."""
        return 2

    @property
    def n_predicted(self) -> int:
        """The value."""
        return 1

    def row_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """The squared error."""
        return super().row_loss(output[..., :1], target)

    def expected_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """The expected squared error."""
        return output[..., 1].clamp(*LOG_VARIANCES).exp()

    def learning_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """The squared error and, of that error as it is, the Gaussian likelihood of its variance."""
        square, log_variance = self.row_loss(output, target), output[..., 1].clamp(*LOG_VARIANCES)
        return square + 0.5 * (log_variance + square.detach() * (-log_variance).exp())

    def residuals(self, output: Tensor, target: Tensor) -> Tensor:
        """y - E y."""
        return super().residuals(output[..., :1], target)


def joint_loss(
    model: SelectionModel,
    task: Task,
    x: Tensor,
    y: Tensor,
    penalty: Tensor,
    generator: torch.Generator | None = None,
    cost: Tensor | None = None,
    weight: Tensor | None = None,
    rounded: bool = False,
) -> Tensor:
    """The paper's objective: task + lambda * mean over rows of sum_i z_i, through the relaxed mask.

    `penalty` is (R, 1), one lambda a replica; `cost` (d,) makes the sum that of c_i z_i. The replicas' losses are
    summed: each has weights of its own. `weight` (n,) is what each row counts. The relaxed mask itself is shown, or a
    `rounded` one with its gradient.
    """
    forward = model(x, generator, rounded)
    loss = task.batch_loss(forward.output, y) + penalty * bill(forward.mask, cost)  # (R, n)
    return mean_loss(loss, weight).sum()


@torch.no_grad()
def noiseless_loss(
    model: SelectionModel, task: Task, x: Tensor, y: Tensor, penalty: Tensor, cost: Tensor | None = None
) -> Tensor:
    """The same without noise, a value a row, for early stopping: (R, n)."""
    mask = model.decide(model.scores(x)).to(x.dtype)
    return task.batch_loss(model.output(x, mask), y) + penalty * bill(mask, cost)


def mean_loss(losses: Tensor, weight: Tensor | None) -> Tensor:
    """The mean over rows (..., n), each as often as its weight (n,) says."""
    return losses.mean(-1) if weight is None else (losses * weight).sum(-1) / weight.sum().clamp_min(1e-12)


def bill(mask: Tensor, cost: Tensor | None) -> Tensor:
    """What a mask's features cost together, in penalties: (..., d) -> (...)."""
    return (mask if cost is None else mask * cost).sum(-1)
