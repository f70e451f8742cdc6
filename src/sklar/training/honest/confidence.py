"""How sure predictors of few rows may be: the one factor on what they predict by which other rows lose least.

With few rows predictors are much too sure of themselves, each in its own way, and a comparison of their losses would
compare that. So rehearsals compare losses at the best confidence of each: for classes, that is the best temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.training.honest.decisions import HeldOut
from sklar.training.honest.strength import Candidate
from sklar.training.penalty_path import PathChoice, choose_penalty
from sklar.training.tasks import Task

CONFIDENCES = np.linspace(0, 1.5, 61)  # factors on what is predicted: 0 is the mean, or that all classes are as likely


class Said(NamedTuple):
    """What predictors say of rows that they did not learn from, pooled over splits."""

    outputs: Tensor  # (n, out)
    y: Tensor  # (n,)
    evidence: np.ndarray  # that it is about y, of mean 0 where it is not, (n,)

    def at_best_confidence(self, task: Task) -> tuple[float, np.ndarray]:
        """The confidence at which the rows lose least in the mean, and what they lose at it: (n,)."""
        losses = []
        for confidence in CONFIDENCES:
            outputs = self.outputs.clone()
            outputs[:, : task.n_predicted] *= confidence  # what it says of its own errors stays
            losses.append(task.row_loss(outputs, self.y).cpu().numpy())
        best = int(np.argmin([one.mean() for one in losses]))
        return float(CONFIDENCES[best]), losses[best]


def said_by(held_out: Sequence[HeldOut], y: Tensor) -> Said:
    """The same of the predictors of a selector, which was judged split by split."""
    outputs, evidence = [one.outputs[one.choice.member] for one in held_out], [one.evidence for one in held_out]
    return Said(torch.cat(outputs), y, np.concatenate(evidence))


def choose_together(held_out: Sequence[HeldOut], penalties: Sequence[float], task: Task, y: Tensor) -> PathChoice:
    """One of the `penalties` of a path by the held-out rows of several splits (targets y) together.

    Every penalty loses what it loses at its best confidence: few features leave predictors less sure, and among those
    that are too sure of themselves showing nothing would win by that alone.
    """
    members = [torch.cat([one.outputs[g] for one in held_out]) for g in range(len(penalties))]
    losses = np.stack([Said(outputs, y, np.empty(0)).at_best_confidence(task)[1] for outputs in members])
    sizes = np.mean([one.choice.path["mean_features"] for one in held_out], axis=0)
    return choose_penalty(list(penalties), losses, sizes)


def pooled(parts: list[Said]) -> Said:
    """What was said of all held-out rows, split by split."""
    outputs, y = torch.cat([one.outputs for one in parts]), torch.cat([one.y for one in parts])
    return Said(outputs, y, np.concatenate([one.evidence for one in parts]))


def compared_fairly(candidate: Candidate, task: Task, y: Tensor) -> Candidate:
    """The same, its held-out rows (targets y) losing what they lose at their best confidence."""
    losses = said_by(candidate.held_out, y).at_best_confidence(task)[1]
    ends = np.cumsum([len(one.losses) for one in candidate.held_out])[:-1]
    parts = zip(candidate.held_out, np.split(losses, ends), strict=True)
    return replace(candidate, held_out=[one._replace(losses=part) for one, part in parts])
