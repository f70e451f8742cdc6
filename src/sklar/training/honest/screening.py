"""Which features may matter at all: the union that selection then works on, found at any width.

Three tests, each on rows judged by predictors that never saw them. The first asks the predictors: does showing the
feature lower the loss? It finds interactions, but a predictor of a hundred features overlooks weak ones. The second
asks the residuals of what was found so far: are they related to the feature, overall or where a found feature is
large or small? It is a sum over rows for each feature, so it costs next to nothing and sees weak features, also behind
a switch. The third asks them about products of two features, of which neither may say anything alone; there are many
pairs, so of wide tables it takes the strongest features only. A feature that passes none, and is not among the
`least_width` best, is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sklar.model.gates import Gates, largest_by_gate, to_inputs
from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import threads_for
from sklar.training.honest.predictors import FoldPredictors, random_masks
from sklar.training.honest.settings import Schedule, ScreeningSettings

CHUNK = 256  # features tested at a time,
CONTEXTS = 128  # in so many contexts: rows times classes times these are held
CACHED_ENTRIES = 2**21  # of the hidden units of a chunk, that a CPU's cache holds; one feature may need more
ENTRIES = 2**26  # of the largest array, where a feature is several inputs


@dataclass(frozen=True)
class Screened:
    """The predictors of the union, and the features (gates) of the table that it has."""

    predictors: FoldPredictors
    columns: Tensor  # (P, w); those not alive only fill up the width

    @property
    def alive(self) -> Tensor:
        """Bool (P, w)."""
        return self.predictors.alive


def screen(
    predictors: FoldPredictors,
    schedule: Schedule,
    settings: ScreeningSettings,
    k: int | None,
    run: Run | None = None,
) -> Screened:
    """Go on with the union alone where there are too many features, and let the predictors settle on it."""
    (problems, d), least = predictors.alive.shape, schedule.screened_to(k)
    if d <= least:
        return Screened(predictors, torch.arange(d, device=predictors.alive.device).expand(problems, d))
    keep = union(predictors, least, schedule.union_width(predictors.folds.n_rows, k), settings)
    forced = predictors.folds.gates.forced
    columns, alive = columns_of(keep if forced is None else keep | forced)
    narrow = predictors.only(columns, alive)
    with threads_for(columns.shape[1]):
        narrow.warm_up(schedule.settle_steps, run)
    return Screened(narrow, columns)


def columns_of(keep: Tensor) -> tuple[Tensor, Tensor]:
    """The features in `keep` (P, d), first to last, w the most of any problem: (P, w), and which of them are kept."""
    order = keep.to(torch.int8).argsort(dim=1, descending=True, stable=True)
    columns = order[:, : int(keep.sum(1).max())]
    return columns, keep.gather(1, columns)


def union(predictors: FoldPredictors, least_width: int, most_width: int, settings: ScreeningSettings) -> Tensor:
    """The features to go on with: bool (P, d)."""
    from_gains = gain_z(predictors, predictors.generator)
    found = _best(from_gains, from_gains > settings.gain_z, 0, most_width // 2)
    from_residuals, threshold = residual_z(predictors, found, settings)
    strength = torch.maximum(from_gains / settings.gain_z, from_residuals / threshold)
    from_pairs, pair_threshold = pair_z(predictors, strength > 1, strength, settings)
    in_pairs = (from_pairs / pair_threshold).clamp_max(1 + 1e-3)  # enough to pass, behind those that passed before
    strength = torch.maximum(strength, in_pairs)
    return _best(strength, strength > 1, least_width, most_width)


@torch.no_grad()
def gain_z(predictors: FoldPredictors, generator: torch.Generator) -> Tensor:
    """Mean gain of every feature over its standard error, the larger of random and of full masks: (P, d)."""
    folds, task, judge, gates = predictors.folds, predictors.task, predictors.judge, predictors.folds.gates
    (problems, n_folds, m, _), d = folds.training[0].shape, gates.n
    share = predictors.team.share(m)
    # held-out rows will say what the union is worth
    x, y = (share.own(part, 2).flatten(0, 1) for part in folds.training)
    like = gates.like(x)
    weight = None if folds.training_weight is None else folds.training_weight.unsqueeze(-1)  # (P, n, 1)
    size = max(1, min(CHUNK, CACHED_ENTRIES // (problems * n_folds * m * predictors.settings.hidden)))
    if judge.gate_of_value is not None:
        size = _gates_together(judge, x)
    z = torch.full((problems, d), -torch.inf, device=x.device)
    for mask in (random_masks(like, generator, share=share), torch.ones_like(like)):
        hidden = judge.before_activation(x, mask)  # once for all features: a flip moves it by one step
        drawn = task.row_loss(judge.after_first(hidden), y).unsqueeze(-1)
        for first in range(0, d, size):
            part = slice(first, min(first + size, d))
            output = judge.after_step(hidden, _flip_steps(judge, x, mask, part))
            flipped = task.row_loss(output, y.unsqueeze(-1).expand(output.shape[:-1]))
            gain = (flipped - drawn) * (2 * mask[..., part] - 1)  # (P F, m, size)
            gain = share.together(gain.unflatten(0, (problems, n_folds)), 2).flatten(1, 2)
            z[:, part] = torch.maximum(z[:, part], _z_of_mean(gain, weight))
    return z


def _flip_steps(judge: MaskedPredictor, x: Tensor, mask: Tensor, part: slice) -> Tensor:
    """What flipping each gate of a range adds to the first pre-activation."""
    if judge.gate_of_value is None:
        return judge.flip_steps(x, mask, part)
    index = torch.arange(part.start, part.stop, device=x.device).expand(*x.shape[:2], -1)
    return judge.flip_step(x, mask, index)


@torch.no_grad()
def residual_z(predictors: FoldPredictors, found: Tensor, settings: ScreeningSettings) -> tuple[Tensor, float]:
    """How clearly the residuals of a prediction from the features in `found` (P, d) depend on each feature.

    A feature of several inputs depends as clearly as its clearest input.

    The score test of adding f(x_j) c(x) to the prediction, for f in {x, |x|} and contexts c: everywhere, and where a
    found feature is positive or negative. Returns the largest |z| of each feature (P, d), and the value that
    `false_nominations` irrelevant features are expected to exceed.
    """
    gates = predictors.folds.gates
    x, residual = _left_open(predictors, found)
    contexts = _contexts(x, _context_inputs(x, found, gates, settings.most_contexts))  # (P, n, M)
    encoded = gates.of_input is not None
    z = torch.zeros_like(x[:, 0])
    for part in contexts.split(CONTEXTS, dim=-1):
        weight = (residual.unsqueeze(-1) * part.unsqueeze(-2)).flatten(-2)  # (P, n, C M)
        columns = [score_z(chunk, weight, encoded) for chunk in x.split(CHUNK, dim=-1)]
        z = torch.maximum(z, torch.cat(columns, dim=1))
    n_tests = 2 * x.shape[-1] * residual.shape[-1] * contexts.shape[-1]
    threshold = _two_sided(settings.false_nominations, n_tests, settings.gain_z)
    return largest_by_gate(z, gates.of_input, gates.n), threshold


@torch.no_grad()
def pair_z(
    predictors: FoldPredictors, found: Tensor, strength: Tensor, settings: ScreeningSettings
) -> tuple[Tensor, float]:
    """How clearly the residuals of a prediction from `found` (P, d) depend on x_i x_j, for the best j of each i.

    The score test of adding x_i x_j to the prediction, for all pairs of the strongest features: so many that a test
    takes `pair_products` products. Returns the largest |z| of each feature (P, d), 0 for those not asked about, and the
    value that `false_pairs` pairs of irrelevant features are expected to exceed.
    """
    of_input, n_gates = predictors.folds.gates.of_input, predictors.folds.gates.n
    x, residual = _left_open(predictors, found)
    width = min(x.shape[-1], max(2, int((settings.pair_products / (x.shape[1] * residual.shape[-1])) ** 0.5)))
    columns = to_inputs(strength, of_input).topk(width, dim=1).indices  # (P, w)
    gate = columns if of_input is None else of_input[columns]
    part = x.gather(2, columns.unsqueeze(1).expand(-1, x.shape[1], -1)).clamp(-3, 3)
    part = part - part.mean(1, keepdim=True)  # else a product says what one of its factors says
    usual, squared = part.mT @ part / x.shape[1], part.square()
    largest = torch.zeros_like(usual)
    for left_open in residual.unbind(-1):  # (P, n): class by class, as pairs are many
        weight = left_open.unsqueeze(-1)
        total = part.mT @ (weight * part) - weight.sum(1, keepdim=True) * usual
        spread = (squared.mT @ (weight.square() * squared)).sqrt()
        largest = torch.maximum(largest, (total / spread.clamp_min(1e-12)).abs())
    largest.masked_fill_(gate.unsqueeze(1) == gate.unsqueeze(2), 0.0)
    n_tests = residual.shape[-1] * width * (width - 1) / 2
    z = torch.zeros_like(x[:, 0]).scatter_(1, columns, largest.amax(2))
    threshold = _two_sided(settings.false_pairs, n_tests, settings.gain_z)
    return largest_by_gate(z, of_input, n_gates), threshold


def _two_sided(n_false: float, n_tests: float, least: float) -> float:
    """The |z| that so many of `n_tests` standard normals are expected to exceed, or `least` if that is more."""
    threshold = torch.special.ndtri(torch.tensor(1 - n_false / (2 * n_tests), dtype=torch.float64))
    return max(float(threshold), least)


def _left_open(predictors: FoldPredictors, found: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (P, n, D), and the residuals of a prediction from the features in `found` (P, d), by weight: (P, n, C)."""
    (x, y), weight = predictors.folds.training, predictors.folds.training_weight
    mask = found[:, None, None].expand(*x.shape[:3], -1).flatten(0, 1).to(x.dtype)
    output = predictors.judge(x.flatten(0, 1), mask).unflatten(0, x.shape[:2]).flatten(1, 2)
    residual = predictors.task.residuals(output, y.flatten(1, 2))
    if weight is not None:
        residual = residual * weight.unsqueeze(-1)
    return x.flatten(1, 2), residual


def score_z(x: Tensor, weight: Tensor, encoded: bool = False, straight: bool = False) -> Tensor:
    """The largest |z| of the score tests of x_j and |x_j|: x (P, n, c), weighted residuals (P, n, W) -> (P, c).

    Standardised columns have the mean 0; inputs of `encoded` columns, as the indicators of categories, need not. With
    `straight` x_j alone is tested.
    """
    part = x.clamp(-3, 3)
    if encoded:
        part = part - part.mean(1, keepdim=True)
    shapes = part if straight else torch.cat([part, part.abs() - part.abs().mean(1, keepdim=True)], dim=-1)
    total = weight.mT @ shapes  # (P, W, c or 2 c)
    spread = (weight.square().mT @ shapes.square()).sqrt()
    z = (total / spread.clamp_min(1e-12)).abs().amax(1)
    return z.unflatten(-1, (-1, x.shape[-1])).amax(1)


def _gates_together(judge: MaskedPredictor, x: Tensor) -> int:
    """How many gates, of several values each, can be flipped at a time: for each all values are looked at."""
    width = max(judge.n_values, judge.first.weight.shape[-1])
    return min(CHUNK, max(1, ENTRIES // (x[..., 0].numel() * width)))


def _context_inputs(x: Tensor, found: Tensor, gates: Gates, most: int) -> Tensor:
    """The inputs that make contexts: those of found features, of the many of encoded columns the most varied."""
    if gates.of_input is None:
        return found
    inputs = to_inputs(found, gates.of_input)
    return _best(x.var(1).masked_fill(~inputs, 0), inputs, 0, most)


def _contexts(x: Tensor, found: Tensor) -> Tensor:
    """1, 1{x_s > 0} and 1{x_s <= 0} for each found s; zero where a problem has found fewer than others."""
    width = max(1, int(found.sum(1).max()))
    columns = found.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :width]
    alive = found.gather(1, columns).to(x.dtype).unsqueeze(1)  # (P, 1, w)
    positive = (x.gather(2, columns.unsqueeze(1).expand(-1, x.shape[1], -1)) > 0).to(x.dtype)
    return torch.cat([torch.ones_like(x[..., :1]), positive * alive, (1 - positive) * alive], dim=-1)


def _z_of_mean(values: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean over its standard error, over axis 1."""
    if weight is not None:
        mean = (values * weight).sum(1, keepdim=True) / weight.sum(1, keepdim=True)
        error = ((values - mean) * weight).square().sum(1).sqrt() / weight.sum(1)
        return mean.squeeze(1) / error.clamp_min(1e-12)
    return values.mean(1) / (values.std(1) / math.sqrt(values.shape[1])).clamp_min(1e-12)


def _best(strength: Tensor, passed: Tensor, least: int, most: int) -> Tensor:
    """Those that passed, but at least and at most so many of the strongest: bool (P, d)."""
    place = strength.argsort(dim=1, descending=True).argsort(dim=1)
    return (passed & (place < most)) | (place < least)
