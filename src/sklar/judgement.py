"""What a judge's distributions p(y | x_S) are worth, and whether the choice of S says more about y than x_S does.

If the choice says nothing more, a judge of values is calibrated on what was chosen: its log loss is its own entropy in
the mean. The *excess*

    mean of H[p(. | x_S)] + log p(y | x_S)

is then 0. Above 0 the choice speaks: rows were shown the features that agree with their answer. Below 0 the judge is
over-confident about what it is shown. Judges are recalibrated first, on a control: rows shown by the selection's own
masks dealt at random, weighted so that the values shown look like those chosen (see `control`). So neither a judge's
own confidence nor which sets are popular is taken for a choice that speaks. (Random sets of the same size do not do: a
judge that rarely saw informative features together is under-confident about any selection that shows them, one set for
all rows included.) Of classes a temperature is fitted there, of variances a factor. Either makes the excess of these
rows 0: the derivative of the log loss by 1 / T is -T times the excess. Its error there is part of the error reported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp

from sklar.training.targets import baseline_hazard

LEAST_LOG_P = -20.0  # of a class: what no judge of finitely many rows can know
LOG_TEMPERATURES = (-2.0, 2.0)
MOST_DEVIATIONS = 5.0  # of a residual


class Judgement(NamedTuple):
    """What a judge says of a selection on rows that it did not learn from.

    For classes: accuracy and the judge's own expectation of it in percent, log loss in nats. For values: R^2 and the
    judge's own expectation of it in percent, squared error as a share of the target's variance.
    """

    score: float
    score_error: float  # its standard error over rows
    expected_score: float | None
    loss: float
    excess: float | None  # nats; None where the judge gives no distribution
    excess_error: float | None  # its standard error over rows


def judge_classes(log_p: np.ndarray, y: np.ndarray, control_error: float = 0.0) -> Judgement:
    """The judgement of log-probabilities (n, classes) and class codes (n,).

    `control_error` is the standard error of the excess on the rows that recalibrated the judge.

    Examples
    --------
    >>> fair = np.log([[0.5, 0.5]] * 4)
    >>> judge_classes(fair, np.array([0, 0, 1, 0])).excess  # as sure as it may be
    0.0
    >>> modest = np.log([[0.6, 0.4]] * 4)
    >>> round(judge_classes(modest, np.array([0, 0, 0, 0])).excess, 3)  # always right, and never sure: chosen to agree
    0.162
    """
    log_p = np.maximum(log_p, LEAST_LOG_P)
    score = _mean_and_error(100.0 * (log_p.argmax(axis=1) == y))
    expected = float(100 * np.exp(log_p).max(axis=1).mean())
    loss = float(-log_p[np.arange(len(y)), y].mean())
    excess, error = _mean_and_error(excess_of_classes(log_p, y))
    return Judgement(*score, expected, loss, excess, float(np.hypot(error, control_error)))


def recalibrated_classes(
    log_p: np.ndarray, y: np.ndarray, control: np.ndarray, control_y: np.ndarray, weight: np.ndarray, copies: int = 1
) -> Judgement:
    """The judgement of log-probabilities (n, classes); weighted control rows, `copies` of each, fit a temperature."""
    temperature = fitted_temperature(control, control_y, weight)
    error = error_of_copies(weight * excess_of_classes(tempered(control, temperature), control_y), copies)
    return judge_classes(tempered(log_p, temperature), y, error)


def excess_of_classes(log_p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """H[p] + log p(y) of each row: (n,)."""
    log_p = np.maximum(log_p, LEAST_LOG_P)
    return -(np.exp(log_p) * log_p).sum(axis=1) + log_p[np.arange(len(y)), y]


def judge_values(mean: np.ndarray, variance: np.ndarray | None, y: np.ndarray, control_error: float = 0.0) -> Judgement:
    """The judgement of predicted values (n,) and, where given, predicted variances of their residuals (n,).

    The distribution is Gaussian, so that H[p] + log p(y) = (1 - (y - mean)^2 / variance) / 2: the excess is above 0
    where residuals are smaller than the judge expects. A residual counts as at most 5 deviations, or single rows far
    out would decide it.

    Examples
    --------
    >>> y = np.array([-1.0, 1.0, -1.0, 1.0])
    >>> judge_values(np.zeros(4), np.ones(4), y).excess, judge_values(np.zeros(4), np.full(4, 2.0), y).excess
    (0.0, 0.25)
    """
    squares, spread = (y - mean) ** 2, float(np.var(y)) or 1.0
    loss = float(squares.mean() / spread)
    score = _mean_and_error(100 * (1 - squares / spread))
    if variance is None:
        return Judgement(*score, None, loss, None, None)
    expected = float(100 * (1 - variance.mean() / spread))
    excess, error = _mean_and_error(excess_of_values(squares / variance))
    return Judgement(*score, expected, loss, excess, float(np.hypot(error, control_error)))


def recalibrated_values(
    mean: np.ndarray,
    variance: np.ndarray,
    y: np.ndarray,
    control_mean: np.ndarray,
    control_variance: np.ndarray,
    control_y: np.ndarray,
    weight: np.ndarray,
    copies: int = 1,
) -> Judgement:
    """The judgement of values and variances (n,) after weighted control rows, `copies` of each, fit a factor."""
    ratios = (control_y - control_mean) ** 2 / control_variance
    factor = fitted_factor(ratios, weight)
    error = error_of_copies(weight * excess_of_values(ratios / factor), copies)
    return judge_values(mean, factor * variance, y, error)


def judge_rates(log_rate: np.ndarray, y: np.ndarray, control: np.ndarray, weight: np.ndarray) -> Judgement:
    """The judgement of log-rates (n,) of counts y (n,), recalibrated by weighted ones (n * copies,) of the same rows.

    Of a calibrated rate m, E[(y - m) log m] = 0, whatever the spread of the counts: the mean is the excess. A Poisson
    regression on the control's log-rates makes that of the control 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f, equal = rng.standard_normal(4000), np.ones(4000)
    >>> y = rng.poisson(np.exp(f))
    >>> bool(abs(judge_rates(f, y, f, equal).excess) < 0.05), bool(judge_rates(f / 2, y, f, equal).excess > 0.1)
    (True, True)
    """
    copies = len(control) // len(y)
    control_y = np.repeat(y, copies)

    def rates(of: np.ndarray, line: np.ndarray) -> np.ndarray:
        return np.clip(line[0] + line[1] * of, -20, 20)

    def loss(line: np.ndarray) -> float:
        f = rates(control, line)
        return float(np.mean(weight * (np.exp(f) - control_y * f)))

    line = minimize(loss, np.array([0.0, 1.0]), method="Nelder-Mead").x
    f, of_control = rates(log_rate, line), rates(control, line)
    excess, error = _mean_and_error((y - np.exp(f)) * f)
    control_error = error_of_copies(weight * (control_y - np.exp(of_control)) * of_control, copies)
    spread = float(np.var(y)) or 1.0
    score = _mean_and_error(100 * (1 - (y - np.exp(f)) ** 2 / spread))
    expected = float(100 * np.var(np.exp(f)) / spread)
    own_loss = float(np.mean(np.exp(f) - y * f))
    return Judgement(*score, expected, own_loss, excess, float(np.hypot(error, control_error)))


class Times(NamedTuple):
    """Times to an event, of some only known to be longer, and the rows' weights: (n,) each."""

    time: np.ndarray
    event: np.ndarray
    weight: np.ndarray

    def partial_likelihood(self, risk: np.ndarray) -> float:
        """Of Cox regression, in nats."""
        return float((self.weight * (risk - self._hazard(risk)[1]) * self.event).sum())

    def martingale(self, risk: np.ndarray) -> np.ndarray:
        """Events seen less events expected of each row, (n,)."""
        return self.event - self._hazard(risk)[0] * np.exp(risk)

    def _hazard(self, risk: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Breslow's; a row of weight w counts as w rows."""
        weighted = risk + np.log(np.maximum(self.weight, 1e-9))
        arrays = (self.time, self.event * self.weight, weighted, self.time)
        hazard, log_at_risk = baseline_hazard(*(torch.from_numpy(np.asarray(a, dtype=np.float64)) for a in arrays))
        return hazard.numpy(), log_at_risk.numpy()


def judge_risks(
    risk: np.ndarray, event: np.ndarray, time: np.ndarray, score: float, control: np.ndarray, weight: np.ndarray
) -> Judgement:
    """The judgement of log hazard ratios (n,) of a concordance, recalibrated by weighted ones (n * copies,).

    A calibrated risk f has E[(event - H0(t) e^f) f] = 0: a row's events less those expected by its time are a
    martingale. So the mean is the excess; a factor on the risks (Cox regression on them) makes that of the control 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.standard_normal(4000)
    >>> time, event = rng.exponential(np.exp(-f)), np.ones(4000, dtype=bool)
    >>> bool(abs(judge_risks(f, event, time, 70.0, f, np.ones(4000)).excess) < 0.05)
    True
    """
    copies = len(control) // len(risk)
    rows = Times(time, event, np.ones(len(time)))
    dealt = Times(np.repeat(time, copies), np.repeat(event, copies), weight)
    slope = minimize_scalar(lambda b: -dealt.partial_likelihood(b * control), bounds=(0.0, 4.0), method="bounded").x
    f, of_control = slope * (risk - risk.mean()), slope * (control - np.average(control, weights=weight))
    excess, error = _mean_and_error(rows.martingale(f) * f)
    control_error = error_of_copies(weight * dealt.martingale(of_control) * of_control, copies)
    other = np.random.default_rng(0).permutation(f)
    expected = float(100 * np.mean(1 / (1 + np.exp(-np.abs(f - other)))))
    own_loss = -rows.partial_likelihood(f) / len(f)
    return Judgement(score, float("nan"), expected, own_loss, excess, float(np.hypot(error, control_error)))


def excess_of_values(ratios: np.ndarray) -> np.ndarray:
    """H[p] + log p(y) of each row, from its squared residual as a multiple of the variance expected: (n,)."""
    return (1 - np.minimum(ratios, MOST_DEVIATIONS**2)) / 2


def fitted_factor(ratios: np.ndarray, weight: np.ndarray) -> float:
    """What variances must be multiplied by so that these weighted rows have no excess.

    Examples
    --------
    >>> round(fitted_factor(np.array([1.0, 2.0, 3.0]), np.ones(3)), 6), fitted_factor(np.zeros(3), np.ones(3))
    (2.0, 1.0)
    """
    if not ratios.any():
        return 1.0
    low, high = -20.0, 20.0  # logarithms
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if (weight * excess_of_values(ratios * np.exp(-middle))).sum() > 0 else (middle, high)
    return float(np.exp(low))


def error_of_copies(excess: np.ndarray, copies: int) -> float:
    """The standard error of a mean over rows that stand there so many times in a row, (rows * copies,)."""
    return _mean_and_error(excess.reshape(-1, copies).mean(axis=1))[1]


def _mean_and_error(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std() / len(values) ** 0.5)


def tempered(log_p: np.ndarray, temperature: float) -> np.ndarray:
    """p^(1 / T), normalised, as log-probabilities: (n, classes)."""
    scaled = np.maximum(log_p, LEAST_LOG_P) / temperature
    return scaled - logsumexp(scaled, axis=1, keepdims=True)


def fitted_temperature(log_p: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """The T of least weighted log loss.

    Examples
    --------
    >>> right = np.log([[0.99, 0.01]] * 10)
    >>> temperature = fitted_temperature(right, np.arange(10) // 7, np.ones(10))  # right 7 times of 10
    >>> np.exp(tempered(right, temperature))[0].round(2)
    array([0.7, 0.3])
    """

    def loss(log_temperature: float) -> float:
        return -float((weight * tempered(log_p, np.exp(log_temperature))[np.arange(len(y)), y]).mean())

    return float(np.exp(minimize_scalar(loss, bounds=LOG_TEMPERATURES, method="bounded").x))
