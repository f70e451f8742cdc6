"""What a judge's distributions p(y | x_S) are worth, and whether the choice of S says more about y than x_S does.

If the choice says nothing more, a judge of values is calibrated on what was chosen: its log loss is its own entropy in
the mean. The *excess*

    mean of H[p(. | x_S)] + log p(y | x_S)

is then 0. Above 0 the choice speaks: rows were shown the features that agree with their answer. Below 0 the judge is
over-confident about what it is shown. Judges are recalibrated first, on other rows shown by the selection's own masks
dealt at random: the same sets of features as often, but none chosen for its row. So neither a judge's own confidence
nor which sets are popular is taken for a choice that speaks. (Random sets of the same size do not do: a judge that
rarely saw informative features together is under-confident about any selection that shows them, one set for all rows
included.) Of classes a temperature is fitted there, of variances a factor. Either makes the excess of these rows 0: the
derivative of the log loss by 1 / T is -T times the excess. Its error there is part of the error that is reported.
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
    log_p: np.ndarray, y: np.ndarray, control: np.ndarray, control_y: np.ndarray, copies: int = 1
) -> Judgement:
    """The judgement of log-probabilities (n, classes); those of control rows, `copies` of each, fit a temperature."""
    temperature = fitted_temperature(control, control_y)
    error = error_of_copies(excess_of_classes(tempered(control, temperature), control_y), copies)
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
    copies: int = 1,
) -> Judgement:
    """The judgement of values and variances (n,) after those of control rows, `copies` of each, fit a factor."""
    ratios = (control_y - control_mean) ** 2 / control_variance
    factor = fitted_factor(ratios)
    error = error_of_copies(excess_of_values(ratios / factor), copies)
    return judge_values(mean, factor * variance, y, error)


def judge_rates(log_rate: np.ndarray, control: np.ndarray, y: np.ndarray) -> Judgement:
    """The judgement of log-rates (n,) of counts y (n,), recalibrated by those of control masks (n,) of the same rows.

    Of a calibrated rate m, E[(y - m) log m] = 0, whatever the spread of the counts: the mean is the excess. A Poisson
    regression on the control's log-rates makes that of the control 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.standard_normal(4000)
    >>> y = rng.poisson(np.exp(f))
    >>> bool(abs(judge_rates(f, f, y).excess) < 0.05), bool(judge_rates(f / 2, f, y).excess > 0.1)  # more extreme
    (True, True)
    """

    def loss(of: np.ndarray, line: np.ndarray) -> float:
        f = np.clip(line[0] + line[1] * of, -20, 20)
        return float(np.mean(np.exp(f) - y * f))

    line = minimize(lambda line: loss(control, line), np.array([0.0, 1.0]), method="Nelder-Mead").x
    f, of_control = (np.clip(line[0] + line[1] * of, -20, 20) for of in (log_rate, control))
    excess, error = _mean_and_error((y - np.exp(f)) * f)
    control_error = _mean_and_error((y - np.exp(of_control)) * of_control)[1]
    spread = float(np.var(y)) or 1.0
    score = _mean_and_error(100 * (1 - (y - np.exp(f)) ** 2 / spread))
    expected = float(100 * np.var(np.exp(f)) / spread)
    return Judgement(*score, expected, loss(log_rate, line), excess, float(np.hypot(error, control_error)))


def judge_risks(risk: np.ndarray, control: np.ndarray, event: np.ndarray, time: np.ndarray, score: float) -> Judgement:
    """The judgement of log hazard ratios (n,) of a concordance, recalibrated by those of control masks (n,).

    A calibrated risk f has E[(event - H0(t) e^f) f] = 0: a row's events less those expected by its time are a
    martingale. So the mean is the excess; a factor on the risks (Cox regression on them) makes that of the control 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.standard_normal(4000)
    >>> time, event = rng.exponential(np.exp(-f)), np.ones(4000, dtype=bool)
    >>> bool(abs(judge_risks(f, f, event, time, 70.0).excess) < 0.05)
    True
    """

    def loss(b: float) -> float:
        return -_partial_likelihood(b * control, event, time)

    slope = float(minimize_scalar(loss, bounds=(0.0, 4.0), method="bounded").x)
    f, of_control = slope * (risk - risk.mean()), slope * (control - control.mean())
    excess, error = _mean_and_error(_martingale(f, event, time) * f)
    control_error = _mean_and_error(_martingale(of_control, event, time) * of_control)[1]
    other = np.random.default_rng(0).permutation(f)
    expected = float(100 * np.mean(1 / (1 + np.exp(-np.abs(f - other)))))
    own_loss = -_partial_likelihood(f, event, time) / len(f)
    return Judgement(score, float("nan"), expected, own_loss, excess, float(np.hypot(error, control_error)))


def _partial_likelihood(risk: np.ndarray, event: np.ndarray, time: np.ndarray) -> float:
    log_at_risk = baseline_hazard(*_tensors(time, event, risk, time))[1].numpy()
    return float(((risk - log_at_risk) * event).sum())


def _martingale(risk: np.ndarray, event: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Events seen less events expected, (n,)."""
    hazard = baseline_hazard(*_tensors(time, event, risk, time))[0].numpy()
    return event - hazard * np.exp(risk)


def _tensors(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64)) for array in arrays]


def excess_of_values(ratios: np.ndarray) -> np.ndarray:
    """H[p] + log p(y) of each row, from its squared residual as a multiple of the variance expected: (n,)."""
    return (1 - np.minimum(ratios, MOST_DEVIATIONS**2)) / 2


def fitted_factor(ratios: np.ndarray) -> float:
    """What variances must be multiplied by so that these rows have no excess.

    Examples
    --------
    >>> round(fitted_factor(np.array([1.0, 2.0, 3.0])), 6), fitted_factor(np.zeros(3))
    (2.0, 1.0)
    """
    if not ratios.any():
        return 1.0
    low, high = -20.0, 20.0  # logarithms
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if excess_of_values(ratios * np.exp(-middle)).mean() > 0 else (middle, high)
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


def fitted_temperature(log_p: np.ndarray, y: np.ndarray) -> float:
    """The T of least log loss.

    Examples
    --------
    >>> right = np.log([[0.99, 0.01]] * 10)
    >>> temperature = fitted_temperature(right, np.arange(10) // 7)  # right 7 times of 10
    >>> np.exp(tempered(right, temperature))[0].round(2)
    array([0.7, 0.3])
    """

    def loss(log_temperature: float) -> float:
        return -float(tempered(log_p, np.exp(log_temperature))[np.arange(len(y)), y].mean())

    return float(np.exp(minimize_scalar(loss, bounds=LOG_TEMPERATURES, method="bounded").x))


def random_masks(sizes: np.ndarray, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Masks of these sizes (n,), all sets of a size equally probable: bool (n, d).

    Examples
    --------
    >>> random_masks(np.array([0, 2, 3]), 3, np.random.default_rng(0)).sum(axis=1)
    array([0, 2, 3])
    """
    order = rng.random((len(sizes), n_features), dtype=np.float32).argsort(axis=1)
    masks = np.empty(order.shape, dtype=bool)
    np.put_along_axis(masks, order, np.arange(n_features) < sizes[:, None], axis=1)
    return masks


def few_or_many(n_rows: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """How many features to show: log-uniform from 1 to d, so that few are well represented: int (n,).

    Examples
    --------
    >>> sizes = few_or_many(10_000, 100, np.random.default_rng(0))
    >>> sizes.min(), sizes.max(), bool(abs(np.mean(sizes <= 9) - 0.5) < 0.02)
    (np.int64(1), np.int64(100), True)
    """
    return np.exp(rng.random(n_rows) * np.log(n_features + 1)).astype(np.int64)
