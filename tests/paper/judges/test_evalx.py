"""EVAL-X as a judge: several selections at once, categories as groups of inputs."""

import numpy as np
import pytest

from sklar.paper.judges import EvalxJudge


def test_classes_of_a_group_of_inputs():
    """A category of three states is three inputs of one feature; it decides y."""
    rng = np.random.default_rng(0)
    state = rng.integers(3, size=900)
    inputs = np.column_stack([np.eye(3)[state] * 2, rng.standard_normal(900)])
    y = np.array(["no", "yes", "no"])[state]
    masks = [np.tile([True, False], (300, 1)), np.tile([False, True], (300, 1))]
    judge = EvalxJudge("classification", steps=800)
    told, blind = judge.judge_all((inputs[:600], y[:600]), (inputs[600:], y[600:]), masks, [0, 0, 0, 1])
    assert told.score > 95
    assert blind.score < 75
    assert blind.excess == pytest.approx(0, abs=0.1)


def test_values():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = 100 + 5 * X[:, 0]
    masks = [np.tile(np.arange(3) == j, (200, 1)) for j in (0, 1)]
    told, blind = EvalxJudge("regression", steps=800).judge_all(
        (X[:400], y[:400]), (X[400:], y[400:]), masks, [0, 1, 2]
    )
    assert told.score > 80 > 30 > blind.score
    assert abs(told.excess) < 4 * told.excess_error
    assert told.expected_score > 80
