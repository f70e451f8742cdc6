"""Honest fits of many data sets of one size, side by side: one problem a data set, one training for all.

Each fit is that of an estimator with the same words.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch

from sklar.estimators import CopulaRankerClassifier, CopulaSelectorClassifier
from sklar.estimators.fitting import honest_words
from sklar.paper.experiments.stacks import Answers, Table, blocks, known_words, stack_tables
from sklar.table.scaling import Scaling
from sklar.training.honest.fit import HonestFit, fit_honest
from sklar.training.tasks import Task


@dataclass(frozen=True)
class HonestStack:
    """Many honest fits in one."""

    fit: HonestFit
    scalings: list[Scaling]
    seconds: float
    cpu_seconds: float

    def answers(self, problem: int, X: np.ndarray, y: np.ndarray) -> Answers:
        """What the model of one problem says about rows X."""
        union, model = np.array(self.fit.union(problem)), self.fit.model(problem).double()
        selected, predicted = np.zeros(X.shape, dtype=bool), np.empty(len(X), dtype=np.int64)
        with torch.inference_mode():
            for part in blocks(len(X)):
                x = torch.from_numpy(self.scalings[problem].apply(X[part][:, union], union)).unsqueeze(0)
                inside = model.decide(model.scores(x))
                predicted[part] = model.output(x, inside.double())[0].argmax(-1).numpy()
                selected[part][:, union] = inside[0].numpy()
            correlation = model.covariance(model.gates(x[:, :1])).correlation().view(len(union), len(union)).numpy()
        wide = np.eye(X.shape[1])
        wide[np.ix_(union, union)] = correlation
        return Answers(selected, float(100 * (predicted == y).mean()), wide)

    def scores(self, problem: int, X: np.ndarray) -> np.ndarray:
        """alpha of every row and feature; features that the model does not read come last: (n, d)."""
        union, model = np.array(self.fit.union(problem)), self.fit.model(problem).double()
        result = np.full(X.shape, -np.inf)
        with torch.inference_mode():
            x = torch.from_numpy(self.scalings[problem].apply(X[:, union], union)).unsqueeze(0)
            result[:, union] = model.scores(x)[0].numpy()
        return result


def fit_honest_stack(
    data: list[Table], words: dict[str, Any], device: torch.device, seed: int, k: int | None = None
) -> HonestStack:
    """Fit data sets (X, y) of one shape side by side, as an honest estimator with these words fits each.

    Words with a dot reach what an estimator's do not: "settings.flips", "predictor.weight_decay",
    "schedule.final_steps".
    """
    words, n_classes = dict(words), int(max(y.max() for _, y, *_ in data)) + 1
    scalings, x, y = stack_tables(data, words.pop("scaling", "column"), device)
    maker = CopulaSelectorClassifier if k is None else CopulaRankerClassifier
    dotted = {word: words.pop(word) for word in list(words) if "." in word}
    arguments = honest_words(known_words(maker().get_params(deep=False), words, "honest training"), x.shape[1], k)
    for word, value in dotted.items():
        arguments = _with_dotted(arguments, word, value)
    start, cpu = time.perf_counter(), time.process_time()
    fit = fit_honest(x, y, Task(n_classes), **arguments, seed=seed)
    return HonestStack(fit, scalings, time.perf_counter() - start, time.process_time() - cpu)


def _with_dotted(arguments: dict[str, Any], word: str, value: Any) -> dict[str, Any]:
    part, name = word.split(".", 1)
    settings = arguments["settings"]
    homes = {"settings": settings, "predictor": settings.predictor, "schedule": arguments["schedule"]}
    if part not in homes or name not in {field.name for field in fields(homes[part])}:
        raise ValueError(f"there is no setting {word!r}: say settings.X, predictor.X or schedule.X")
    changed = replace(homes[part], **{name: value})
    if part == "schedule":
        return {**arguments, "schedule": changed}
    return {**arguments, "settings": changed if part == "settings" else replace(settings, predictor=changed)}
