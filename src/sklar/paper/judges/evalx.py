"""EVAL-X as a judge of several selections of the same rows: the networks of an audit, cross-fitted.

They are trained once, with all masks to be judged at hand. Training rows and test rows are dealt into folds together;
every row is judged by the network that never saw it. Training rows are shown the masks of test rows, dealt at random,
which recalibrates the networks.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from scipy.special import log_softmax

from sklar.control import odds_of_choice
from sklar.judgement import Judgement, recalibrated_classes, recalibrated_values
from sklar.model.gates import Gates
from sklar.selection_scores import EVALX_STEPS
from sklar.training.honest.evalx import evalx_outputs
from sklar.training.tasks import SpreadTask, Task


class EvalxJudge:
    """EVAL-X for the rows of one split.

    Parameters
    ----------
    task : "classification" or "regression"
    steps : of training; fewer where there are fewer than 10,000 rows
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((600, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> shown = [np.tile(np.arange(3) == j, (200, 1)) for j in (0, 1)]
    >>> judge = EvalxJudge("classification", steps=800)
    >>> of_x0, of_x1 = judge.judge_all((X[:400], y[:400]), (X[400:], y[400:]), shown, gate_of_input=[0, 1, 2])
    >>> of_x0.score > 80, of_x1.score > 80
    (True, False)
    """

    def __init__(
        self, task: Literal["classification", "regression"], steps: int = EVALX_STEPS, random_state: int = 0
    ) -> None:
        self.task = task
        self.steps = steps
        self.random_state = random_state

    def judge_all(
        self,
        train: tuple[np.ndarray, np.ndarray],
        test: tuple[np.ndarray, np.ndarray],
        masks: list[np.ndarray],
        gate_of_input: list[int],
    ) -> list[Judgement]:
        """The judgement of each of these masks of the test rows.

        Parameters
        ----------
        train, test : standardised inputs (n, D), and the target (n,)
        masks : bool, (test rows, d) each
        gate_of_input : the feature of each input, (D,)
        """
        rng = np.random.default_rng(self.random_state)
        n = len(train[1])
        shown = [np.concatenate([mask[rng.integers(len(mask), size=n)], mask]) for mask in masks]
        inputs, y = (np.concatenate(parts) for parts in zip(train, test, strict=True))
        weights = [self._weights(inputs, mask, n, gate_of_input) for mask in shown]
        if self.task == "classification":
            classes, codes = np.unique(y, return_inverse=True)
            outputs = self._outputs(inputs, codes, shown, Task(len(classes)), gate_of_input)
            log_p = [log_softmax(output, axis=1) for output in outputs]
            return [
                recalibrated_classes(p[n:], codes[n:], p[:n], codes[:n], weight)
                for p, weight in zip(log_p, weights, strict=True)
            ]
        target = (y - y[:n].mean()) / (y[:n].std() or 1.0)
        task = SpreadTask(None)
        outputs = self._outputs(inputs, target.astype(np.float32), shown, task, gate_of_input)
        return [self._of_values(output, task, target, weight) for output, weight in zip(outputs, weights, strict=True)]

    def _of_values(self, output: np.ndarray, task: SpreadTask, target: np.ndarray, weight: np.ndarray) -> Judgement:
        mean, variance = output[:, 0], task.expected_loss(torch.from_numpy(output), torch.empty(0)).numpy()
        n = len(weight)
        return recalibrated_values(mean[n:], variance[n:], target[n:], mean[:n], variance[:n], target[:n], weight)

    def _weights(self, inputs: np.ndarray, masks: np.ndarray, n: int, gate_of_input: list[int]) -> np.ndarray:
        """Of the training rows, so that the values shown look like those of test rows: (n,)."""
        shown, row = np.where(masks[:, gate_of_input], inputs, np.nan), np.arange(len(inputs))
        return odds_of_choice(shown[n:], shown[:n], row[n:], row[:n])

    def _outputs(
        self, inputs: np.ndarray, target: np.ndarray, masks: list[np.ndarray], task: Task, gate_of_input: list[int]
    ) -> list[np.ndarray]:
        rows = torch.from_numpy(np.ascontiguousarray(inputs, dtype=np.float32))[None]
        shown = [torch.from_numpy(mask)[None] for mask in masks]
        gates = Gates.of(masks[0].shape[1], gate_of_input)
        steps = max(100, round(self.steps * min(1.0, (len(inputs) / 10_000) ** 0.5)))
        outputs = evalx_outputs(
            rows, torch.from_numpy(target)[None], shown, task, steps, self.random_state, gates=gates
        )
        return [output[0].double().numpy() for output in outputs]
