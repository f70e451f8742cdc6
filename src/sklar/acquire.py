"""Which measurement next, for this row? Asking a ranker that chooses from what it has been shown.

Forced features come first: training always showed them. Every other is asked for by what it is expected to gain (the
loss that it takes away, given the values known so far) for its price. Asking ends when the prediction is sure enough,
the budget is spent, or k features are known, forced ones and those known at first among them: the model learned from no
more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
import torch

from sklar.explain import names_by_position, one_row
from sklar.fitted import FittedModel
from sklar.model.acquisition_model import AcquisitionModel
from sklar.table.adapter import adapt
from sklar.table.cells import plain, said, show_value

Ask = Callable[[str], Any]  # a feature's name -> its value

SURE_ENOUGH, SPENT, ENOUGH_KNOWN = (
    "sure enough",
    "the budget is spent",
    "as many features are known as the model learned from",
)
ROUNDING = 1e-9  # of a budget, that sums of prices may be beyond it: .1 + .1 + .1 is more than .3


@dataclass(frozen=True)
class Question:
    """One feature that was asked for, and what the model says with its answer."""

    feature: str
    value: Any
    cost: float
    worth: float | None  # what it was expected to take off the loss; None of a forced feature
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
    state = _State(fitted, row, costs, "next_feature")
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
    _require_limits(fitted, budget, confidence, ask)
    state = _State(fitted, row, costs, "acquire")
    if ask is None:
        answers = state.forget()
        ask = answers.__getitem__
    questions: list[Question] = []
    allowed, spent = np.inf if budget is None else float(budget), 0.0
    prediction, probability = state.prediction()
    while True:
        if state.is_sure(probability, confidence):
            ended = SURE_ENOUGH
            break
        gate = None if state.is_full else state.best(allowed * (1 + ROUNDING) - spent)
        if gate is None:
            ended = ENOUGH_KNOWN if state.is_full else SPENT
            break
        worth, cost = state.worth_of(gate), float(state.prices[gate])
        state.learn({name: ask(name) for name in state.names_of(gate)})
        spent = min(spent + cost, allowed)
        prediction, probability = state.prediction()
        name = state.names_of(gate)[0]
        questions.append(Question(name, plain(state.values[name]), cost, worth, prediction, probability))
    return Acquisition(tuple(questions), prediction, probability, spent, ended)


def _require_limits(fitted: FittedModel, budget: Any, confidence: Any, ask: Any) -> None:
    if ask is not None and not callable(ask):
        raise TypeError(f"ask must be a function of a feature's name; got {said(ask)}")
    if budget is not None and not (_is_number(budget) and budget > 0):
        raise ValueError(f"budget must be a number above 0; got {said(budget)}")
    if confidence is None:
        return
    if fitted.target.kind != "classes":
        raise ValueError(f"confidence is for classes; this model predicts {fitted.target.kind}: give a budget")
    if not (_is_number(confidence) and 0 < confidence < 1):
        raise ValueError(f"confidence must be a number in (0, 1); got {said(confidence)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


class _State:
    """What is known of one row, and what the model says of it; errors name the `method` that was called."""

    def __init__(self, fitted: FittedModel, row: Any, costs: Any, method: str) -> None:
        if not isinstance(fitted.network, AcquisitionModel):
            raise ValueError("only a ranker fitted with chooses_from='shown' knows what to ask for next")
        self.fitted, self.network, self.method = fitted, fitted.network, method
        schema = fitted.schema
        self.prices = schema.gating.prices(costs, list(schema.names))
        forced = self.network.forced
        self.forced = np.zeros(len(self.prices), dtype=bool) if forced is None else forced.numpy()
        self.values = _values_by_name(fitted, row, method)
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
        cells = {name: _only_cell(name, value, self.method) for name, value in answers.items()}
        missing = [name for name, value in cells.items() if _is_missing(value)]
        if missing:
            raise ValueError(f"the answer for {missing[0]!r} is missing")
        self.values = {**self.values, **cells}
        self._ask_network()

    @property
    def lacking(self) -> np.ndarray:
        """The forced gates that are not known: (gates,)."""
        return self.forced & ~self.known

    @property
    def is_full(self) -> bool:
        """Whether k features are known, forced ones among them: the model learned from no more."""
        return int(self.known.sum()) >= (self.fitted.k or 0) and not self.lacking.any()

    def is_sure(self, probability: float | None, confidence: float | None) -> bool:
        """Whether a class has this probability, given all forced features."""
        if confidence is None or probability is None or self.lacking.any():
            return False
        return probability >= confidence

    def best(self, budget: float) -> int | None:
        """The gate to ask for, of those that the budget allows: a forced one, or the largest worth for its price."""
        lacking = self.lacking
        open_to = (lacking if lacking.any() else ~self.known) & (self.prices <= budget)
        if not open_to.any():
            return None
        if lacking.any():
            return int(open_to.argmax())  # in the order of the ranking
        price = np.maximum(self.prices, 1e-12)
        gain = np.where(self.worth > 0, self.worth / price, self.worth * price)  # a loss is none the less for its price
        return int(np.where(open_to, gain, -np.inf).argmax())

    def worth_of(self, gate: int) -> float | None:
        """What a gate was expected to take off the loss; of forced ones nothing is known: training never hid them."""
        return None if self.forced[gate] else float(self.worth[gate])

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

    @torch.inference_mode()
    def _ask_network(self) -> None:
        schema = self.fitted.schema
        blank = [np.nan if kept is None else None for kept in schema.encoding.categories]
        values = {
            name: other if _is_missing(self.values[name]) else self.values[name]
            for name, other in zip(schema.names, blank, strict=True)
        }
        with names_by_position():
            rows = self.fitted.read(one_row(self.fitted, values, self.method))
        by_column = np.array([not _is_missing(self.values[name]) for name in self._names])
        self.known = np.logical_and.reduceat(by_column, np.searchsorted(schema.gates, np.arange(schema.gates[-1] + 1)))
        x = torch.from_numpy(schema.inputs(rows))[None]
        mask = torch.from_numpy(self.known).to(x.dtype)[None, None]
        self.worth = self.network.next_worth(x, mask)[0, 0].numpy()
        self.output = self.fitted.output_of(self.network, x, mask)[0].numpy()


def _values_by_name(fitted: FittedModel, row: Any, method: str) -> dict[str, Any]:
    """A row's values, None where none is given: a dict, a Series or a frame may leave out what is not known."""
    names = fitted.schema.names
    if isinstance(row, dict):
        unknown = [name for name in row if name not in names]
        if unknown and not set(names) <= set(row):  # a complete row may hold more, as for `explain`
            raise ValueError(f"the model knows no feature {unknown[0]!r}")
        return {name: _only_cell(name, row.get(name), method) for name in names}
    table = adapt(one_row(fitted, row, method))
    given = names if table.names is None else table.names
    if not set(given) < set(names):
        with names_by_position(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="column .* categories")  # told when the values are read
            fitted.read(table.native)  # names and width, in the words of `predict`
        given = names  # what was fitted without names reads by position
    return {**dict.fromkeys(names), **{name: table.cells(j)[0] for j, name in enumerate(given)}}


def _only_cell(name: str, value: Any, method: str) -> Any:
    """A value, also where it is a column of one row."""
    if not isinstance(value, (np.ndarray, list, tuple)):
        return value
    if np.ndim(value) > 1 or np.size(value) != 1:
        raise ValueError(f"{method} takes one row; column {name!r} has {np.size(value)}")
    return value.flat[0] if isinstance(value, np.ndarray) else value[0]


def _is_missing(value: Any) -> bool:
    return plain(value) is None
