"""Honest fits of many data sets of one size, side by side: one problem a data set, one training for all.

Each fit is that of an estimator with the same parameters.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch

from sklar.estimators import CopulaRankerClassifier, CopulaSelectorClassifier
from sklar.model.gates import Gates
from sklar.model.honest_model import HonestModel
from sklar.model.row_blocks import map_rows, row_blocks
from sklar.paper.experiments.stacks import Answers, Table, known_params, stack_tables
from sklar.table.scaling import Scaling
from sklar.training.honest.fit import fit_honest
from sklar.training.honest.predictor_choice import with_first_reading
from sklar.training.honest.result import HonestFit
from sklar.training.honest.settings import HonestSettings
from sklar.training.tasks import Task

CPU = torch.device("cpu")


@dataclass(frozen=True)
class HonestStack:
    """Many honest fits in one."""

    fit: HonestFit
    scalings: list[Scaling]
    seconds: float
    cpu_seconds: float

    def answers(self, problem: int, X: np.ndarray, y: np.ndarray) -> Answers:
        """What the model of one problem says about rows X."""
        union, model = self._model(problem)
        selected, predicted = np.zeros(X.shape, dtype=bool), np.empty(len(X), dtype=np.int64)
        for part, _, x in row_blocks(model, len(X), self._reader(problem, X, union), CPU, _width(model)):
            inside = model.decide(model.scores(x))
            predicted[part] = model.output(x, inside.double())[0].argmax(-1).numpy()
            selected[part][:, union] = inside[0].numpy()
        shared = model.shared()
        with torch.inference_mode():
            correlation = shared.covariance(shared.gates(x[:, :1])).correlation().view(len(union), -1).numpy()
        wide = np.eye(X.shape[1])
        wide[np.ix_(union, union)] = correlation
        return Answers(selected, float(100 * (predicted == y).mean()), wide)

    def scores(self, problem: int, X: np.ndarray) -> np.ndarray:
        """alpha of every row and feature; features that the model does not read come last: (n, d)."""
        union, model = self._model(problem)
        read, result = self._reader(problem, X, union), np.full(X.shape, -np.inf)
        result[:, union] = map_rows(model, len(X), read, lambda model, x: model.scores(x), CPU, _width(model))
        return result

    def _model(self, problem: int) -> tuple[np.ndarray, HonestModel]:
        return np.array(self.fit.union(problem)), self.fit.model(problem).double()

    def _reader(self, problem: int, X: np.ndarray, union: np.ndarray) -> Callable[[slice], np.ndarray]:
        return lambda part: self.scalings[problem].apply(X[part][:, union], union)


def _width(model: HonestModel) -> int:
    """Entries that answering a row makes at its widest."""
    a = model.architecture
    return max(a.n_inputs, a.choice_hidden, a.n_folds * a.predict_hidden)


def fit_honest_stack(
    data: list[Table], params: dict[str, Any], device: torch.device, seed: int, k: int | None = None
) -> HonestStack:
    """Fit data sets (X, y) of one shape side by side, as an honest estimator with these parameters fits each.

    But for what an estimator chooses by trials on its own table: `predictor_regularization` and `quantile_bins`, which
    are 1 and 0 here unless given, and below 1,500 rows `selector_sparsity`.

    Names with a dot reach what an estimator's do not: "settings.flips", "predictor.weight_decay",
    "schedule.final_steps" (see `HonestSettings`; "settings" are the selector's).
    """
    params, n_classes = dict(params), int(max(y.max() for _, y, *_ in data)) + 1
    scalings, x, y = stack_tables(data, params.pop("scaling", "column"), device)
    maker = CopulaSelectorClassifier if k is None else CopulaRankerClassifier
    dotted = {name: params.pop(name) for name in list(params) if "." in name}
    known = known_params(maker().get_params(deep=False), params, "honest training")
    # what answers at other penalties does not change the fit
    settings = replace(HonestSettings.from_params(known, x.shape[1], k), any_penalty=False)
    settings = with_first_reading(settings, Gates(x.shape[2]))
    for name, value in dotted.items():
        settings = _with_dotted(settings, name, value)
    start, cpu = time.perf_counter(), time.process_time()
    fit = fit_honest(x, y, Task(n_classes), settings, seed=seed)
    return HonestStack(fit, scalings, time.perf_counter() - start, time.process_time() - cpu)


PARTS = {name: name for name in ("predictor", "schedule", "screening", "decisions")} | {"settings": "selector"}


def _with_dotted(settings: HonestSettings, dotted: str, value: Any) -> HonestSettings:
    """The settings with one of a part's replaced, say "schedule.final_steps"."""
    part, name = dotted.split(".", 1)
    home = getattr(settings, PARTS.get(part, ""), None)
    if home is None or name not in {field.name for field in fields(home)}:
        raise ValueError(
            f"there is no setting {dotted!r}: say one of {', '.join(f'{part}.X' for part in sorted(PARTS))}"
        )
    return replace(settings, **{PARTS[part]: replace(home, **{name: value})})
