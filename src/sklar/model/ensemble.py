"""Several models of one table, trained from different seeds, as one: what most of them say, and how many do.

Each member reads features of its own (its union); the ensemble reads all of them. A member has nothing to say about a
feature that it does not read: its gate is shut.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from sklar.model.honest_model import HonestModel, mean_output
from sklar.model.networks import Choice
from sklar.model.selection import Architecture, GateModel, SelectionModel
from sklar.model.topk_mask import places

SHUT = -30.0  # the score of a feature that a member does not read


@dataclass(frozen=True)
class EnsembleArchitecture(Architecture):
    """The members' architectures, and the features (gates) that each reads among those of the ensemble."""

    honest: bool = True
    members: tuple[Architecture, ...] = ()
    columns: tuple[tuple[int, ...], ...] = ()


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
        super().__init__(architecture)
        kind = HonestModel if architecture.honest else SelectionModel
        self.members = nn.ModuleList(kind(member, generator) for member in architecture.members)  # type: ignore[arg-type]
        self._inputs = [_inputs_of(architecture.gate_of_input, gates) for gates in architecture.columns]

    @classmethod
    def of(cls, members: list[GateModel], unions: list[list[int]]) -> tuple[EnsembleModel, list[int]]:
        """The ensemble of trained members that read these features (gates) of a table, and those that it reads."""
        union = sorted(set().union(*unions))
        place = {column: index for index, column in enumerate(union)}
        first = members[0].architecture
        widths = dict(pair for m, read in zip(members, unions, strict=True) for pair in _widths(m.architecture, read))
        forced = {read[gate] for m, read in zip(members, unions, strict=True) for gate in m.architecture.forced}
        of_input = [gate for gate, column in enumerate(union) for _ in range(widths[column])]
        architecture = EnsembleArchitecture(
            n_features=len(union),
            n_outputs=first.n_outputs,
            k=first.k,
            choice_hidden=first.choice_hidden,
            predict_hidden=first.predict_hidden,
            output_kind=first.output_kind,
            gate_of_input=() if len(of_input) == len(union) else tuple(of_input),
            forced=tuple(sorted(place[column] for column in forced)),
            min_features=first.min_features,
            honest=isinstance(members[0], HonestModel),
            members=tuple(member.architecture for member in members),
            columns=tuple(tuple(place[column] for column in read) for read in unions),
        )
        ensemble = cls(architecture, torch.Generator())  # the weights are replaced
        for own, trained in zip(ensemble.members, members, strict=True):
            own.load_state_dict(trained.state_dict())
        return ensemble, union

    def withholding(self, gates: Tensor) -> Self:
        """See `GateModel.withholding`; no member has anything to show there."""
        other = super().withholding(gates)
        members = [member.withholding(gates[..., columns]) for member, columns in self._parts()]
        other._modules = {**self._modules, "members": nn.ModuleList(members)}
        return other

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
        choices = [member.gates(x[..., inputs]) for member, inputs in self._readers()]
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

    def at_penalty(self, log_factor: float) -> EnsembleModel:
        """Every member at another penalty, by the same factor on its own."""
        return self._with_members([member.at_penalty(log_factor) for member in self._models()])

    def shared(self) -> EnsembleModel:
        """Every member without its rows' part."""
        return self._with_members([member.shared() for member in self._models()])

    def with_k(self, k: int, told: bool = False) -> EnsembleModel:
        """Every member with another number of features per row."""
        return self._with_members([member.with_k(k, told) for member in self._models()], k=k)

    def _with_members(self, members: list[GateModel], **changed: Any) -> EnsembleModel:
        other = copy.copy(self)
        other._modules = {**self._modules, "members": nn.ModuleList(members)}
        other.architecture = replace(self.architecture, members=tuple(m.architecture for m in members), **changed)
        return other

    def output(self, x: Tensor, mask: Tensor) -> Tensor:
        """The mean of what the members predict: of probabilities (as logarithms), or of values."""
        outputs = [member.output(x[..., inputs], mask[..., gates]) for member, inputs, gates in self._views()]
        return mean_output(torch.cat(outputs), self.architecture)

    def out_of_fold(self, x: Tensor, mask: Tensor, folds: Tensor) -> Tensor:
        """The same by predictors that did not learn from the rows, whose folds (models, n) in training are given."""
        outputs = [
            member.out_of_fold(x[..., inputs], mask[..., gates], folds[i : i + 1])
            for i, (member, inputs, gates) in enumerate(self._views())
        ]
        return mean_output(torch.cat(outputs), self.architecture)

    def _views(self) -> list[tuple[Any, list[int], list[int]]]:
        """The members with the inputs and the gates that each reads."""
        pairs = zip(self._readers(), self.architecture.columns, strict=True)
        return [(member, inputs, list(gates)) for (member, inputs), gates in pairs]

    def _combined(self, scores: list[Tensor]) -> Tensor:
        if self.architecture.k is None:
            return self._without_withheld(torch.stack(scores).median(0).values)
        return self._without_withheld(-torch.stack([places(s).to(s.dtype) for s in scores]).mean(0))

    def _member_scores(self, x: Tensor) -> list[Tensor]:
        return [
            self._widened(_as_decided(member, member.ordered(x[..., inputs])), i)
            for i, (member, inputs) in enumerate(self._readers())
        ]

    def _models(self) -> list[GateModel]:
        return list(self.members)  # type: ignore[arg-type]

    def _readers(self) -> list[tuple[GateModel, list[int]]]:
        """The members with the inputs that each reads."""
        return list(zip(self.members, self._inputs, strict=True))  # type: ignore[arg-type]

    def _parts(self) -> list[tuple[GateModel, list[int]]]:
        return [(m, list(c)) for m, c in zip(self.members, self.architecture.columns, strict=True)]  # type: ignore[misc]

    def _widened(self, values: Tensor, member: int, fill: float = SHUT) -> Tensor:
        """A member's values at the ensemble's width."""
        wide = values.new_full((*values.shape[:-1], self.architecture.n_features), fill)
        wide[..., list(self.architecture.columns[member])] = values
        return wide


def _as_decided(member: GateModel, scores: Tensor) -> Tensor:
    """A member's scores, negative for what it does not select beside a substitute: a vote against it."""
    if member.architecture.k is not None:
        return scores
    return torch.where((scores > 0) & ~member.decide(scores), -scores, scores)


def _widths(architecture: Architecture, read: list[int]) -> list[tuple[int, int]]:
    """The number of inputs of each feature that a member reads."""
    counts = Counter(architecture.gate_of_input or range(len(read)))
    return [(column, counts[gate]) for gate, column in enumerate(read)]


def _inputs_of(gate_of_input: tuple[int, ...], gates: tuple[int, ...]) -> list[int]:
    """The inputs of some gates, gate by gate."""
    if not gate_of_input:
        return list(gates)
    inputs: dict[int, list[int]] = {gate: [] for gate in gates}
    for number, gate in enumerate(gate_of_input):
        inputs.get(gate, []).append(number)
    return [number for gate in gates for number in inputs[gate]]
