"""Flips of correlated gates: latents are put at their thresholds, and their gates shut and opened.

Putting latent i at its threshold moves the other latents, and some gates with them (see `gradients`): every flip has a
mask of its own. It differs from the drawn mask in few gates. On a CPU the first layer of the predictor is moved by
these alone, and a flip that moves no other gate shares the loss of the drawn mask.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sklar import kernels
from sklar.training.honest import gradients
from sklar.training.honest.draws import Latents, Trial

# What the fused kernel takes: a tile of pre-activations must fit into a program's registers.
WIDEST_HIDDEN, MOST_OUTPUTS = 64, 64


class CopulaFlips(NamedTuple):
    """What flips and pair flips say."""

    gain: Tensor  # loss with gate i shut minus loss with it open, latent i at its threshold: (R, n, K)
    # of the first two, both latents at their thresholds, but for one sign:
    neither: Tensor  # loss with neither gate flipped, (R, n)
    others: Tensor  # loss with one flipped, the other, both, (R, n, 3)

    @property
    def mixed(self) -> Tensor:
        """f11 - f10 - f01 + f00 of the loss: (R, n)."""
        one, other, both = self.others.unbind(-1)
        return self.neither - one - other + both


def copula_flips(trial: Trial, latents: Latents, index: Tensor) -> CopulaFlips:
    """Flip each of the features `index` (R, n, K) of every row, and the first two together."""
    if kernels.pick("copula_flips", trial.x, _fits_a_kernel(trial)) == "triton":
        return by_kernel(trial, latents, index)
    return (by_changes if trial.x.device.type == "cpu" else by_masks)(trial, latents, index)


def by_kernel(trial: Trial, latents: Latents, index: Tensor) -> CopulaFlips:
    """Masks and first layers in the registers of a GPU."""
    from sklar.kernels import _triton

    judge, count = trial.judge, index.shape[-1]
    layers = [(layer.weight.detach(), layer.bias.detach()) for layer in (judge.first, judge.second, judge.last)]
    outputs = _triton.flips_at_thresholds(*latents, trial.x, index, layers)
    losses = trial.loss(outputs, trial.y.unsqueeze(-1).expand(outputs.shape[:-1]))
    shut, opened = losses[..., : count + 1], losses[..., count + 1 :]
    return CopulaFlips(shut[..., :count] - opened[..., :count], shut[..., count], opened[..., count:])


def _fits_a_kernel(trial: Trial) -> bool:
    """One input a gate, and layers that fit into registers."""
    judge = trial.judge
    narrow = judge.second.weight.shape[-1] <= WIDEST_HIDDEN and judge.last.weight.shape[-1] <= MOST_OUTPUTS
    return narrow and judge.gate_of_value is None and trial.x.dtype == torch.float32


def by_masks(trial: Trial, latents: Latents, index: Tensor) -> CopulaFlips:
    """Every mask whole: the work is the same whatever was drawn, so that a graph can capture it."""
    judge, x, count = trial.judge, trial.x, index.shape[-1]
    q, c, correlation = -latents.distance, torch.zeros_like(latents.distance), latents.correlation.unsqueeze(1)
    i, j = index[..., :1], index[..., 1:2]
    single = gradients.with_gate(gradients.at_threshold(q, c, correlation, index), index, -1.0)
    double = gradients.pair_at_threshold(q, c, correlation, i, j)
    double = gradients.with_gate(gradients.with_gate(double, i, -1.0), j, -1.0)
    masks = (torch.cat([single, double], dim=2) > 0).to(x.dtype).flatten(1, 2)  # (R, n (K + 1), d)
    hidden = judge.before_activation(x.repeat_interleave(count + 1, 1), masks).view(*index.shape[:2], count + 1, -1)
    opened = _flip_steps(trial, torch.zeros_like(trial.draw.mask), index)
    opened[:, :, :count] += hidden[:, :, :count]
    opened[:, :, count:] += hidden[:, :, count:]
    shut, opened = trial.losses(hidden), trial.losses(opened)
    return CopulaFlips(shut[..., :count] - opened[..., :count], shut[..., count], opened[..., count:])


def by_changes(trial: Trial, latents: Latents, index: Tensor) -> CopulaFlips:
    """The first layer of the drawn mask, moved by the gates that differ from it."""
    count, mask = index.shape[-1], trial.draw.mask
    flipped = _flip_steps(trial, mask, index).add_(trial.hidden.unsqueeze(2))  # (R, n, K + 3, h)
    drawn = trial.drawn_loss.unsqueeze(-1).expand(-1, -1, count + 1)
    displacement = latents.distance.gather(-1, index)
    found = crossings(*latents, index, displacement, _pair_displacement(latents, index, displacement))
    if len(found.move):
        drawn = _move(trial, found, flipped, drawn)
    losses = trial.losses(flipped)
    sign = 2 * mask.gather(-1, index) - 1  # -1: the flip opens the gate
    of_pair = sign[..., 0] * sign[..., 1]
    others = losses[..., count:] * of_pair.unsqueeze(-1)
    return CopulaFlips((losses[..., :count] - drawn[..., :count]) * sign, drawn[..., count] * of_pair, others)


def _flip_steps(trial: Trial, mask: Tensor, index: Tensor) -> Tensor:
    """Steps of K flips, and of the first, the second and both flips of the pair: (R, n, K + 3, h)."""
    pair = index[..., :2]
    steps = trial.judge.flip_step(trial.x, mask, torch.cat([index, pair, pair[..., :1]], dim=-1), trial.cells)
    steps[:, :, -1] += steps[:, :, 1]
    return steps


def _pair_displacement(latents: Latents, index: Tensor, displacement: Tensor) -> Tensor:
    """How far the first two latents pull the others when both are put at their thresholds: (R, n, 2)."""
    r = latents.correlation.flatten(1).gather(1, index[..., 0] * latents.distance.shape[-1] + index[..., 1])
    return torch.stack(gradients.pair_displacement(displacement[..., 0], displacement[..., 1], r), dim=-1)


def _move(trial: Trial, found: Crossings, flipped: Tensor, drawn: Tensor) -> Tensor:
    """Move the flipped pre-activations by the gates that crossed, in place; return the losses without the flips.

    flipped : (R, n, K + 3, h)
    drawn : (R, n, K + 1), losses of the drawn masks
    """
    replicas, n, moves = drawn.shape
    key, sizes = torch.unique_consecutive(found.move * (replicas * n) + found.row, return_counts=True)
    move, row = key // (replicas * n), key % (replicas * n)  # (G,), moves that take gates along
    starts = sizes.cumsum(0) - sizes
    by = trial.judge.sum_of_steps(trial.x, found.row, found.gate, found.sign, starts, trial.cells)
    target, flat = row * (moves + 2) + move, flipped.view(-1, flipped.shape[-1])
    flat.index_add_(0, target, by)
    of_pair = move == moves - 1
    for place in (1, 2):  # one gate of the pair flipped, the other, both
        flat.index_add_(0, target[of_pair] + place, by[of_pair])
    by += trial.hidden.flatten(0, 1).index_select(0, row)
    losses = _by_replica(trial, row, by)
    return drawn.flatten().scatter(0, row * moves + move, losses).view(drawn.shape)


def _by_replica(trial: Trial, row: Tensor, hidden: Tensor) -> Tensor:
    """Losses from pre-activations (G, h), which are overwritten, of rows (G,) of all replicas: (G,).

    The replicas' networks are evaluated side by side, each for as many as the most have.
    """
    replicas, n = trial.y.shape
    replica = row // n
    order = replica.argsort(stable=True)
    sizes = torch.bincount(replica, minlength=replicas)
    first = (sizes.cumsum(0) - sizes).unsqueeze(-1)
    place = torch.arange(int(sizes.max()), device=row.device)
    inside = place < sizes.unsqueeze(-1)  # (R, most)
    which = order[(first + place).clamp_max(len(row) - 1)]
    losses = trial.loss(trial.judge.after_activation(hidden.relu_()[which]), trial.y.flatten()[row[which]])
    return torch.empty_like(hidden[:, 0]).scatter(0, order, losses[inside])


class Crossings(NamedTuple):
    """Gates that moves open or shut besides those put at their thresholds; ordered by move, then by row."""

    move: Tensor  # (M,), 0 to K - 1: the row's latent of that number is put at its threshold; K: the first two are
    row: Tensor  # (M,), rows of all replicas numbered through
    gate: Tensor  # (M,)
    sign: Tensor  # (M,), 1 where the gate opens, -1 where it shuts


def crossings(
    distance: Tensor, correlation: Tensor, index: Tensor, displacement: Tensor, pair_displacement: Tensor
) -> Crossings:
    """The gates that K single moves and one of a pair take across their thresholds, in every row.

    Latent l moves by R_li times the displacement of latent i, and most correlations are small: of d gates few cross.
    Only gates near their thresholds can, so that the others are not looked at.

    distance : (R, n, d), of each latent to its threshold, c - q
    correlation : (R, d, d)
    index, displacement : (R, n, K), single moves: latent l moves by R_l,index * displacement
    pair_displacement : (R, n, 2), the move of the first two of `index`: latent l moves by the sum of both
    """
    _, n, d = distance.shape
    others = correlation.clone()  # no latent crosses by its own move
    others.diagonal(dim1=1, dim2=2).zero_()
    strongest = others.abs().amax(-1)  # (R, d)
    furthest = torch.maximum(displacement.abs().amax(-1), pair_displacement.abs().sum(-1))  # (R, n)
    can_cross = distance.abs() <= furthest.unsqueeze(-1) * strongest.unsqueeze(1)
    place = can_cross.flatten().nonzero().squeeze(1)  # (N,)
    row, gate = place // d, place % d

    def of_row(values: Tensor) -> Tensor:
        return values.flatten(0, 1).index_select(0, row)

    fixed = of_row(index)  # (N, K)
    entry = ((row // n * d + gate) * d).unsqueeze(-1) + fixed
    pull = others.flatten().index_select(0, entry.flatten()).view_as(entry)
    of_pair = (pull[:, :2] * of_row(pair_displacement)).sum(1)
    of_pair *= (fixed[:, :2] != gate.unsqueeze(-1)).all(1)  # nor by that of its partner
    moved = torch.cat([pull * of_row(displacement), of_pair.unsqueeze(-1)], 1)  # (N, K + 1)
    apart = distance.flatten().index_select(0, place).unsqueeze(-1)
    shuts = apart < 0
    move, which = ((moved > apart) != shuts).T.nonzero().unbind(1)
    sign = torch.where(shuts.squeeze(-1), -1.0, 1.0).to(distance.dtype)
    return Crossings(move, *(values.index_select(0, which) for values in (row, gate, sign)))
