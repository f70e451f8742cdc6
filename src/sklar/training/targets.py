"""Targets beyond a class or a value: several values, several labels, counts, and times to an event.

Here a row's target is its number: the task holds the table of targets and looks it up. So rows can be dealt, drawn and
repeated as ever, whatever a target is made of.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from sklar.training.tasks import Task

LARGEST_LOG_RATE = 20.0


@dataclass(frozen=True)
class TableTask(Task):
    """A task that knows the targets (n, T) of all rows; `row_loss` gets row numbers."""

    n_classes: int | None = field(default=None, init=False)
    targets: Tensor

    @property
    def n_outputs(self) -> int:
        """One a column of the table."""
        return self.targets.shape[1]

    def to(self, device: torch.device) -> TableTask:
        """The same on a device."""
        return replace(self, targets=self.targets.to(device))

    def of_rows(self, rows: Tensor, output: Tensor) -> Tensor:
        """The targets of rows (n,) or (..., n), for outputs (..., n, T)."""
        return self.targets[rows.expand(output.shape[:-1])]


class ValuesTask(TableTask):
    """Several standardised values a row: the mean of their squared errors."""

    kind = "values"

    def row_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """One loss a row."""
        return (output - self.of_rows(target, output)).square().mean(-1)

    def residuals(self, output: Tensor, target: Tensor) -> Tensor:
        """y - E y."""
        return self.of_rows(target, output) - output


class LabelsTask(TableTask):
    """Several yes-or-no labels a row: the mean of their cross-entropies."""

    kind = "labels"

    def row_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """One loss a row."""
        return binary_cross_entropy_with_logits(output, self.of_rows(target, output), reduction="none").mean(-1)

    def expected_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """The mean of the labels' entropies."""
        return binary_cross_entropy_with_logits(output, output.sigmoid(), reduction="none").mean(-1)

    def residuals(self, output: Tensor, target: Tensor) -> Tensor:
        """1{y} - p."""
        return self.of_rows(target, output) - output.sigmoid()


class CountsTask(TableTask):
    """Counts, divided by their mean: the negative Poisson log-likelihood e^f - y f of a log-rate f."""

    kind = "counts"

    def row_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """One loss a row."""
        rate = output.clamp_max(LARGEST_LOG_RATE)
        return (rate.exp() - self.of_rows(target, output) * rate).squeeze(-1)

    def expected_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of a count that is e^f in the mean, whatever its spread."""
        rate = output.clamp_max(LARGEST_LOG_RATE)
        return (rate.exp() * (1 - rate)).squeeze(-1)

    def residuals(self, output: Tensor, target: Tensor) -> Tensor:
        """y - E y."""
        return self.of_rows(target, output) - output.clamp_max(LARGEST_LOG_RATE).exp()


@dataclass(frozen=True)
class RiskTask(TableTask):
    """Times to an event, some only known to be longer (censored): Cox's proportional hazards.

    The partial likelihood couples rows; the full likelihood with a baseline hazard h0, -log L = H0(t) e^f - 1{event}
    (f + log h0(t)), does not, and with Breslow's h0 it *is* the partial likelihood up to a constant, gradient included.
    Honest training takes h0 from all training rows and renews it between its parts (`renew`); joint training takes
    h0 from the batch (`batch_loss`).
    """

    targets: Tensor  # (n, 2): time, and 1 where the event was seen
    hazard: Tensor = field(init=False)  # H0 at each row's time, (n,)

    kind = "risk"

    def __post_init__(self) -> None:
        time, event = self.targets.unbind(-1)
        object.__setattr__(self, "hazard", baseline_hazard(time, event, torch.zeros_like(time), time)[0])

    @property
    def n_outputs(self) -> int:
        """The logarithm of the hazard ratio."""
        return 1

    def row_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """One loss a row, given the baseline; without its constant, log h0."""
        risk = output.squeeze(-1).clamp_max(LARGEST_LOG_RATE)
        target = target.expand(risk.shape)
        return self.hazard[target] * risk.exp() - self.targets[target, 1] * risk

    def expected_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """The same with as many events as are expected by the row's time: their difference is a martingale."""
        risk = output.squeeze(-1).clamp_max(LARGEST_LOG_RATE)
        expected = self.hazard[target.expand(risk.shape)] * risk.exp()
        return expected * (1 - risk)

    def batch_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """One loss a row, with risk sets within the batch: (R, n, 1), (n,) -> (R, n)."""
        risk = output.squeeze(-1).clamp_max(LARGEST_LOG_RATE)
        time, event = self.targets[target.expand(risk.shape)].unbind(-1)
        hazard, log_at_risk = baseline_hazard(time, event, risk.detach(), time)
        return hazard * risk.exp() - event * (risk - log_at_risk)

    @torch.no_grad()
    def renew(self, output: Tensor, target: Tensor) -> None:
        """Take the baseline from these rows' outputs (n, 1), for all rows."""
        time, event = self.targets[target].unbind(-1)
        self.hazard.copy_(baseline_hazard(time, event, output.squeeze(-1), self.targets[:, 0])[0])

    def residuals(self, output: Tensor, target: Tensor) -> Tensor:
        """Martingale residuals: events seen less events expected."""
        expected = self.hazard[target].unsqueeze(-1) * output.clamp_max(LARGEST_LOG_RATE).exp()
        return self.targets[target, 1].unsqueeze(-1) - expected


def baseline_hazard(time: Tensor, event: Tensor, risk: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    """Breslow's cumulative hazard H0 at the times `at` (..., m), and the logarithm of each row's risk set (..., n).

    H0(t) = sum over events j with t_j <= t of 1 / sum over rows i with t_i >= t_j of e^f_i; all others are (..., n).
    """
    time, at = time.contiguous(), at.contiguous()
    falling, order = (-time).sort(-1)
    upto = risk.gather(-1, order).logcumsumexp(-1)
    log_at_risk = upto.gather(-1, torch.searchsorted(falling, -time, right=True) - 1)  # ties are at risk together
    rising, order = time.sort(-1)
    steps = (event * (-log_at_risk).exp()).gather(-1, order).cumsum(-1)
    steps = torch.cat([torch.zeros_like(steps[..., :1]), steps], -1)
    return steps.gather(-1, torch.searchsorted(rising, at, right=True)), log_at_risk
