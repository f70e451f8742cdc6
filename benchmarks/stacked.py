"""Default fits of many data sets of one size, side by side: what the benchmarks of quality share.

The fit is exactly that of `CopulaSelectorClassifier(covariance=...)`: one problem a data set, one training for all.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from sklar import CopulaSelectorClassifier
from sklar.estimators.fitting import honest_words
from sklar.estimators.scaling import Scaling
from sklar.training.honest import HonestFit, fit_honest
from sklar.training.objectives import Task


@dataclass(frozen=True)
class Answers:
    """What one problem's model says about rows it was not trained on."""

    selected: np.ndarray  # bool (n, d)
    accuracy: float  # percent
    gate_correlation: np.ndarray  # (d, d)


@dataclass(frozen=True)
class StackedFit:
    """Many fits in one."""

    fit: HonestFit
    scalings: list[Scaling]
    seconds: float
    cpu_seconds: float

    def answers(self, problem: int, X: np.ndarray, y: np.ndarray) -> Answers:
        union, model = np.array(self.fit.union(problem)), self.fit.model(problem).double()
        with torch.inference_mode():
            x = torch.from_numpy(self.scalings[problem].apply(X[:, union], union)).unsqueeze(0)
            inside = model.decide(model.scores(x))
            predicted = model.output(x, inside.double())[0].argmax(-1).numpy()
            correlation = model.covariance(model.gates(x[:, :1])).correlation().view(len(union), len(union)).numpy()
        selected, wide = np.zeros(X.shape, dtype=bool), np.eye(X.shape[1])
        selected[:, union] = inside[0].numpy()
        wide[np.ix_(union, union)] = correlation
        return Answers(selected, float(100 * (predicted == y).mean()), wide)


def fit_stack(data: list, covariance: str, device: torch.device, seed: int) -> StackedFit:
    """Fit data sets (X, y, ...) of one shape side by side."""
    n, d = data[0][0].shape
    scalings = [Scaling.of(X, [str(j) for j in range(d)]) for X, *_ in data]
    scaled = [scaling.apply(X) for scaling, (X, *_) in zip(scalings, data, strict=True)]
    x = torch.from_numpy(np.stack(scaled)).float().to(device)
    y = torch.from_numpy(np.stack([labels for _, labels, *_ in data])).to(device)
    words = CopulaSelectorClassifier(covariance=covariance).get_params(deep=False)
    start, cpu = time.perf_counter(), time.process_time()
    fit = fit_honest(x, y, Task(2), **honest_words(words, n, None), seed=seed)
    return StackedFit(fit, scalings, time.perf_counter() - start, time.process_time() - cpu)
