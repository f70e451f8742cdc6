"""Which measurement next, for this row? Asking a ranker that chooses from what it has been shown.

A feature is asked for by what it is expected to gain (the loss that it takes away, given the values known so far) for
its price. Asking ends when the prediction is sure enough, the budget is spent, or as many features are known as the
model learned to ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from sklar.explain import names_by_position, one_row
from sklar.fitted import FittedModel
from sklar.model.acquisition_model import AcquisitionModel
from sklar.table.adapter import adapt
from sklar.table.cells import plain, show_value

Ask = Callable[[str], Any]  # a feature's name -> its value

SURE_ENOUGH, SPENT, ENOUGH_ASKED, NOTHING_LEFT = (
    "sure enough",
    "the budget is spent",
    "as many features as the model learned to ask for",
    "nothing is left to ask",
)


@dataclass(frozen=True)
class Question:
    """One feature that was asked for, and what the model says with its answer."""

    feature: str
    value: Any
    cost: float
    worth: float  # what it was expected to take off the loss
    prediction: Any
    probability: float | None  # of the predicted class


@dataclass(frozen=True)
class Acquisition:
    """What was asked about one row, in order, and why it ended. `print` it; `to_dict` gives plain values."""

    questions: tuple[Question, ...]
    prediction: Any
    probability: float | None
    spent: float
    ended: str

    @property
    def features(self) -> list[str]:
        """The names of what was asked for, in order."""
        return [question.feature for question in self.questions]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return {**asdict(self), "questions": [asdict(question) for question in self.questions]}

    def __str__(self) -> str:
        """A line for each question."""
        cells = [f"{place}. {q.feature} = {show_value(q.value)}" for place, q in enumerate(self.questions, start=1)]
        width = max(map(len, cells), default=0)
        lines = [
            f"  {cell:<{width}}   {_said(q.prediction, q.probability)}"
            for cell, q in zip(cells, self.questions, strict=True)
        ]
        n = len(self.questions)
        asked = f"Asked for {n} feature{'' if n == 1 else 's'} at a cost of {self.spent:g}"
        return "\n".join([f"{asked}: {_said(self.prediction, self.probability)}; {self.ended}.", *lines])


def _said(prediction: Any, probability: float | None) -> str:
    return show_value(prediction) + ("" if probability is None else f" (P {probability:.2f})")


def next_feature(fitted: FittedModel, row: Any, costs: Any = None) -> str | None:
    """The feature to ask for next, given the values of a row that are not missing; None where none is missing."""
    state = _State(fitted, row, costs)
    gate = state.best(np.inf)
    return None if gate is None else state.names_of(gate)[0]


def acquire(
    fitted: FittedModel,
    row: Any,
    *,
    budget: float | None = None,
    costs: Any = None,
    confidence: float | None = None,
    ask: Ask | None = None,
) -> Acquisition:
    """Ask for one feature after the other; see `CopulaRanker.acquire`."""
    _require_limits(fitted, budget, confidence)
    state = _State(fitted, row, costs)
    if ask is None:
        answers = state.forget()
        ask = answers.__getitem__
    questions: list[Question] = []
    left, ended = np.inf if budget is None else float(budget), ENOUGH_ASKED
    prediction, probability = state.prediction()
    while len(questions) < (fitted.k or 0):
        if confidence is not None and probability is not None and probability >= confidence:
            ended = SURE_ENOUGH
            break
        gate = state.best(left)
        if gate is None:
            ended = NOTHING_LEFT if state.best(np.inf) is None else SPENT
            break
        worth, cost = float(state.worth[gate]), float(state.prices[gate])
        state.learn({name: ask(name) for name in state.names_of(gate)})
        left -= cost
        prediction, probability = state.prediction()
        name = state.names_of(gate)[0]
        questions.append(Question(name, plain(state.values[name]), cost, worth, prediction, probability))
    spent = sum((question.cost for question in questions), 0.0)
    return Acquisition(tuple(questions), prediction, probability, spent, ended)


def _require_limits(fitted: FittedModel, budget: float | None, confidence: float | None) -> None:
    if budget is not None and not budget > 0:
        raise ValueError(f"budget must be above 0; got {budget}")
    if confidence is None:
        return
    if fitted.target.kind != "classes":
        raise ValueError(f"confidence is for classes; this model predicts {fitted.target.kind}: give a budget")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1); got {confidence}")


class _State:
    """What is known of one row, and what the model says of it."""

    def __init__(self, fitted: FittedModel, row: Any, costs: Any) -> None:
        if not isinstance(fitted.network, AcquisitionModel):
            raise ValueError("only a ranker fitted with chooses_from='shown' knows what to ask for next")
        self.fitted, self.network = fitted, fitted.network
        schema = fitted.schema
        self.prices = schema.gating.prices(costs, list(schema.names))
        self.values = self._read(row)
        self._ask_network()

    def forget(self) -> dict[str, Any]:
        """Leave the row as if nothing were known, and return what was."""
        answers = self.values
        lacking = [name for name in self._names if _is_missing(answers[name])]
        if lacking:
            raise ValueError(f"the row has no value for {lacking[0]!r}: give `ask`, which is called with a name")
        self.values = dict.fromkeys(answers)
        self._ask_network()
        return answers

    def learn(self, answers: dict[str, Any]) -> None:
        """Take values of features that were asked for."""
        missing = [name for name, value in answers.items() if _is_missing(value)]
        if missing:
            raise ValueError(f"the answer for {missing[0]!r} is missing")
        self.values = {**self.values, **answers}
        self._ask_network()

    def best(self, budget: float) -> int | None:
        """The gate of the largest worth for its price, of those that the budget allows."""
        open_to = ~self.known & (self.prices <= budget)
        if not open_to.any():
            return None
        gain = self.worth / np.maximum(self.prices, 1e-12)
        return int(np.where(open_to, gain, -np.inf).argmax())

    def names_of(self, gate: int) -> list[str]:
        """The columns of a gate."""
        schema = self.fitted.schema
        return [schema.names[j] for j in schema.columns[schema.gates == gate]]

    def prediction(self) -> tuple[Any, float | None]:
        """What is predicted from what is known, and how probable a class is."""
        target = self.fitted.target
        said = target.predictions(self.output)[0]
        of_class = float(target.probabilities(self.output)[0].max()) if target.kind == "classes" else None
        return [plain(value) for value in said] if np.ndim(said) else plain(said), of_class

    @property
    def _names(self) -> list[str]:
        return [self.fitted.schema.names[j] for j in self.fitted.schema.columns]

    def _read(self, row: Any) -> dict[str, Any]:
        """A row's values by name; a dict may leave out what is not known."""
        names = self.fitted.schema.names
        if isinstance(row, dict):
            unknown = [name for name in row if name not in names]
            if unknown:
                raise ValueError(f"the model knows no feature {unknown[0]!r}")
            row = {name: row.get(name) for name in names}
        cells = adapt(one_row(self.fitted, row)).cells
        return {name: cells(j)[0] for j, name in enumerate(names)}

    @torch.inference_mode()
    def _ask_network(self) -> None:
        schema = self.fitted.schema
        blank = [np.nan if kept is None else None for kept in schema.encoding.categories]
        values = {
            name: other if _is_missing(self.values[name]) else self.values[name]
            for name, other in zip(schema.names, blank, strict=True)
        }
        with names_by_position():
            rows = self.fitted.read(one_row(self.fitted, values))
        by_column = np.array([not _is_missing(self.values[name]) for name in self._names])
        self.known = np.logical_and.reduceat(by_column, np.searchsorted(schema.gates, np.arange(schema.gates[-1] + 1)))
        x = torch.from_numpy(schema.inputs(rows))[None]
        mask = torch.from_numpy(self.known).to(x.dtype)[None, None]
        self.worth = self.network.next_worth(x, mask)[0, 0].numpy()
        self.output = self.fitted.output_of(self.network, x, mask)[0].numpy()


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))
