"""Several models of one table, trained from different seeds, as one: what most of them say, and how many do.

Each member reads columns of its own (its union); the ensemble reads all of them. A member has nothing to say about a
feature that it does not read: its gate is shut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from sklar.model.honest_model import HonestArchitecture, HonestModel
from sklar.model.networks import Choice
from sklar.model.selection import Architecture, GateModel, SelectionModel
from sklar.model.topk_mask import places

SHUT = -30.0  # the score of a feature that a member does not read


@dataclass(frozen=True)
class EnsembleArchitecture(Architecture):
    """The members' architectures, and the columns that each reads among those of the ensemble."""

    honest: bool = True
    members: tuple[Architecture, ...] = ()
    columns: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        """From a file, members come as words and columns as lists."""
        kind = HonestArchitecture if self.honest else Architecture
        members = [kind(**{**m, "blocks": _tuples(m["blocks"])}) if isinstance(m, dict) else m for m in self.members]
        object.__setattr__(self, "members", tuple(members))
        object.__setattr__(self, "columns", _tuples(self.columns))


class EnsembleChoice(NamedTuple):
    """The ensemble's scores, and what each member says."""

    scores: Tensor  # (1, n, w)
    members: list[Choice]


class MeanCorrelation(NamedTuple):
    """The members' correlations, averaged: what `Covariance` says, without its noise."""

    mean: Tensor  # (1, n or 1, w, w)

    def correlation(self) -> Tensor:
        """R."""
        return self.mean


class EnsembleModel(GateModel):
    """Members that vote.

    A selector's score is the median of its members', so a feature is selected if most members select it; a ranker's is
    minus the mean place. Predictions are means of what the members predict from the selected features.
    """

    architecture: EnsembleArchitecture

    def __init__(self, architecture: EnsembleArchitecture, generator: torch.Generator | None = None) -> None:
        super().__init__()
        a = self.architecture = architecture
        kind = HonestModel if a.honest else SelectionModel
        self.members = nn.ModuleList(kind(member, generator) for member in a.members)  # type: ignore[arg-type]

    @classmethod
    def of(cls, members: list[GateModel], unions: list[list[int]]) -> tuple[EnsembleModel, list[int]]:
        """The ensemble of trained members that read these columns of a table, and the columns that it reads."""
        union = sorted(set().union(*unions))
        place = {column: index for index, column in enumerate(union)}
        first = members[0].architecture
        architecture = EnsembleArchitecture(
            n_features=len(union),
            n_outputs=first.n_outputs,
            k=first.k,
            choice_hidden=first.choice_hidden,
            predict_hidden=first.predict_hidden,
            honest=isinstance(members[0], HonestModel),
            members=tuple(member.architecture for member in members),
            columns=tuple(tuple(place[column] for column in read) for read in unions),
        )
        ensemble = cls(architecture, torch.Generator())  # the weights are replaced
        for own, trained in zip(ensemble.members, members, strict=True):
            own.load_state_dict(trained.state_dict())
        return ensemble, union

    def scores(self, x: Tensor) -> Tensor:
        """The median score of a feature (of the lower half, where two are), or minus its mean place: (1, n, w)."""
        return self._combined(self._member_scores(x))

    def votes(self, x: Tensor) -> Tensor:
        """The share of members that select each feature: (1, n, w)."""
        return torch.stack([self.decide(scores).double() for scores in self._member_scores(x)]).mean(0)

    def places(self, x: Tensor) -> Tensor:
        """The place that each member gives each feature, 1 the best: (M, n, w)."""
        return torch.cat([places(scores) for scores in self._member_scores(x)])

    def gates(self, x: Tensor) -> EnsembleChoice:  # type: ignore[override]
        """Everything that the members say."""
        choices = [member.gates(x[..., columns]) for member, columns in self._parts()]
        return EnsembleChoice(self._combined([self._widened(c.scores, i) for i, c in enumerate(choices)]), choices)

    def sample(self, choice: EnsembleChoice, batch_shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:  # type: ignore[override]
        """One mask a row, all of one member, which is drawn first."""
        device = choice.scores.device
        drawn = int(torch.randint(len(self.members), (1,), generator=generator, device=device))
        mask = self._parts()[drawn][0].sample(choice.members[drawn], batch_shape, generator)
        return self._widened(mask, drawn, fill=0.0)

    def covariance(self, choice: EnsembleChoice) -> MeanCorrelation:  # type: ignore[override]
        """The mean correlation; features that a member does not read are unlinked in it."""
        width = self.architecture.n_features
        total: Tensor | float = 0.0
        for (member, columns), said in zip(self._parts(), choice.members, strict=True):
            inside = member.covariance(said).correlation()
            wide = torch.eye(width, dtype=inside.dtype, device=inside.device).repeat(*inside.shape[:-2], 1, 1)
            index = torch.tensor(columns, device=inside.device)
            wide[..., index[:, None], index] = inside
            total = total + wide / len(self.members)
        return MeanCorrelation(total)  # type: ignore[arg-type]

    def output(self, x: Tensor, mask: Tensor) -> Tensor:
        """The mean of what the members predict: of probabilities (as logarithms), or of values."""
        outputs = torch.cat([member.output(x[..., c], mask[..., c]) for member, c in self._parts()])  # (M, n, out)
        if self.architecture.n_outputs == 1:
            return outputs.mean(0, keepdim=True)
        return torch.logsumexp(log_softmax(outputs, dim=-1), dim=0, keepdim=True)

    def _combined(self, scores: list[Tensor]) -> Tensor:
        if self.architecture.k is None:
            return torch.stack(scores).median(0).values
        return -torch.stack([places(s).to(s.dtype) for s in scores]).mean(0)

    def _member_scores(self, x: Tensor) -> list[Tensor]:
        return [self._widened(member.scores(x[..., c]), i) for i, (member, c) in enumerate(self._parts())]

    def _parts(self) -> list[tuple[GateModel, list[int]]]:
        return [(m, list(c)) for m, c in zip(self.members, self.architecture.columns, strict=True)]  # type: ignore[misc]

    def _widened(self, values: Tensor, member: int, fill: float = SHUT) -> Tensor:
        """A member's values at the ensemble's width."""
        wide = values.new_full((*values.shape[:-1], self.architecture.n_features), fill)
        wide[..., list(self.architecture.columns[member])] = values
        return wide


def _tuples(lists: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(part) for part in lists)
