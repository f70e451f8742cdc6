"""What honest training leaves: P trained problems, and the model of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sklar.model.gates import to_inputs
from sklar.model.honest_model import PENALTY_SCALE, HonestArchitecture, HonestModel
from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.engine.loop import Record
from sklar.training.honest.row_part import RowPart
from sklar.training.honest.scoring import Decisions, Selector
from sklar.training.honest.screening import Screened
from sklar.training.honest.settings import SHUT
from sklar.training.penalty_path import PathChoice, PenaltyPath


@dataclass(frozen=True)
class HonestFit:
    """P trained problems."""

    screened: Screened
    selector: Selector
    decisions: Decisions
    log_penalty: Tensor  # (P,)
    choices: list[PathChoice | None]  # None where the penalty was given
    history: list[list[Record]]  # of each problem
    shows: list[bool]  # whether held-out rows show that anything can be selected
    paths: list[PenaltyPath] = field(default_factory=list)  # of each problem
    any_penalty: bool = False  # whether the model is to be asked at other penalties
    priced: HonestFit | None = None  # the one that is, beside one that is not
    row_part: RowPart | None = None  # of the correlation

    def penalty(self, problem: int = 0) -> float:
        """The penalty that was used."""
        return math.exp(float(self.log_penalty[problem]))

    def union(self, problem: int = 0) -> list[int]:
        """The features (gates) that one problem's model reads, in its order."""
        return [int(i) for i in self.screened.columns[problem][self.screened.alive[problem]].cpu()]

    def model(self, problem: int = 0) -> HonestModel:
        """One problem's model, on the CPU. Its gates are as random as they were at the end of training."""
        selector, alive = self.selector, self.selector.alive[problem].cpu()
        model = HonestModel(self._architecture(problem), torch.Generator())  # the weights are replaced below
        model.choice.load_state_dict(self._scorer(problem))
        model.predictors.load_state_dict(self._predictors(problem))
        if model.penalty_weight is not None:
            model.penalty_weight.copy_(self._penalty_weight(problem))
        model.substitutes.copy_(self.decisions.substitutes[problem].cpu()[alive][:, alive])
        if model.order is not None and self._told is not None:
            model.order.load_state_dict(self._order(self._told, problem))
        if selector.correlation is not None:
            model.loadings.data.copy_(selector.correlation.patterned()[problem].detach().cpu()[alive])
        if model.row_factors is not None and model.contested is not None and self.row_part is not None:
            model.row_factors.load_state_dict(self._row_factors(problem))
            model.contested.copy_(self.row_part.contested[problem].cpu()[alive][:, alive])
        return model.eval()

    @property
    def _told(self) -> HonestFit | None:
        """The ranker that is told how many features a row gets; None of a selector, or where there is none."""
        if self.selector.settings.k is None:
            return None
        return self if self.any_penalty else self.priced

    def _order(self, told: HonestFit, problem: int) -> dict[str, Tensor]:
        """The weights of one problem's order."""
        scorer = {f"choice.{key}": value for key, value in told._scorer(problem).items()}
        return scorer | {"told": told._penalty_weight(problem)}

    def _penalty_weight(self, problem: int) -> Tensor:
        """Of the input that is told the penalty, or the number of features: (1, 1, h)."""
        return self.selector.network.state_dict()["first.weight"][problem : problem + 1, -1:].cpu()

    def _row_factors(self, problem: int) -> dict[str, Tensor]:
        """The weights of one problem's row part, of the inputs that are alive."""
        assert self.row_part is not None
        states = self.row_part.network.state_dict()
        state = {key: value[problem : problem + 1].cpu() for key, value in states.items()}
        return state | {"first.weight": state["first.weight"][:, self._kept_inputs(problem)]}

    def _kept_inputs(self, problem: int) -> Tensor:
        """The inputs of the features that are alive: bool (D,)."""
        of_input = self.screened.predictors.folds.gates.of_input
        return to_inputs(self.selector.alive[problem].cpu(), None if of_input is None else of_input.cpu())

    def _scorer(self, problem: int) -> dict[str, Tensor]:
        """The score network's weights; penalty, threshold and features shut become biases."""
        selector, alive = self.selector, self.selector.alive[problem].cpu()
        state = {key: value[problem : problem + 1].cpu() for key, value in selector.network.state_dict().items()}
        penalty_input = float((self.log_penalty[problem] - selector.log_penalty_centre[problem, 0, 0]) * PENALTY_SCALE)
        first = state["first.weight"]
        shut = self.decisions.shut[problem].cpu()
        weight, bias = state["scores.weight"].masked_fill(shut, 0.0), state["scores.bias"].masked_fill(shut, SHUT)
        sharpness = selector.sharpness if selector.settings.k is None else 1.0
        return {
            **state,
            "first.bias": state["first.bias"] + penalty_input * first[:, -1:],
            "first.weight": first[:, :-1][:, self._kept_inputs(problem)],
            "scores.weight": (sharpness * weight)[..., alive],
            "scores.bias": (sharpness * (bias - self.decisions.score_threshold[problem].cpu()))[..., alive],
        }

    def _judges(self, problem: int) -> MaskedPredictor:
        """The predictors of all problems, of the features that are alive in one."""
        predictors, alive = self.screened.predictors, self.screened.alive
        read = torch.nonzero(alive[problem]).squeeze(1)
        return predictors.judge.only(read.expand(len(alive) * predictors.folds.n_folds, -1))

    def _predictors(self, problem: int) -> dict[str, Tensor]:
        """The weights of one problem's predictors, of the features that are alive."""
        predictors = self.screened.predictors
        n_folds = predictors.folds.n_folds
        mine = slice(problem * n_folds, (problem + 1) * n_folds)
        state = {key: value[mine].cpu() for key, value in self._judges(problem).state_dict().items()}
        of_prediction = {key: state[key][..., : predictors.task.n_predicted] for key in ("last.weight", "last.bias")}
        return state | of_prediction

    def _architecture(self, problem: int) -> HonestArchitecture:
        predictors, correlation, s = self.screened.predictors, self.selector.correlation, self.selector.settings
        gates, pieces = predictors.folds.gates, self._judges(problem).pieces
        if not gates.plain:
            gates = gates.only(torch.nonzero(self.screened.alive[problem]).squeeze(1))
        return HonestArchitecture(
            n_features=int(self.screened.alive[problem].sum()),
            n_outputs=predictors.task.n_predicted,
            output_kind=predictors.task.kind,
            k=s.k,
            covariance=s.covariance,
            n_factors=0 if correlation is None else correlation.loadings.shape[-1],
            choice_hidden=s.hidden,
            predict_hidden=predictors.settings.hidden,
            activation=s.activation,
            n_folds=predictors.folds.n_folds,
            gate_of_input=() if gates.of_input is None else tuple(gates.of_input.tolist()),
            forced=() if gates.forced is None else tuple(torch.nonzero(gates.forced).squeeze(1).tolist()),
            min_features=s.min_features,
            any_penalty=self.any_penalty,
            row_hidden=0 if self.row_part is None else self.row_part.hidden_of(problem),
            order_k=0 if self._told is None else s.k or 0,
            n_bins=0 if pieces is None else pieces.n_bins,
            cut=() if pieces is None else tuple(pieces.cut.tolist()),
        )
