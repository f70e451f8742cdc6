"""Outputs of estimators, as networks would give them."""

import numpy as np
import pytest
import torch

from sklar.predictor.answers import UserPredictor, said
from sklar.predictor.inputs import ShownInputs


class Fixed:
    """An estimator that gives what it was made with, and remembers what it was shown."""

    def __init__(self, answer):
        self.answer = np.array(answer)

    def predict(self, x):
        self.shown = x
        return np.tile(self.answer, len(x))[: len(x)]

    def predict_proba(self, x):
        self.shown = x
        return np.tile(self.answer, (len(x), 1))


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("classes", [0.25, 0.75], np.log([0.25, 0.75])),
        ("classes", [0.0, 1.0], [np.log(1e-12), 0]),
        ("labels", [0.25, 0.75], np.log(3)),
        ("values", [2.0], 2.0),
        ("counts", [2.0], np.log(2)),
        ("counts", [-1.0], np.log(1e-12)),
    ],
)
def test_outputs_are_logits_values_or_log_rates(kind, answer, expected):
    np.testing.assert_allclose(said(Fixed(answer), np.zeros((1, 1)), kind).ravel(), np.ravel(expected))


def test_hidden_columns_are_nan_and_tensors_come_back_as_they_went():
    model = Fixed([1.5])
    inputs = ShownInputs(np.ones(2), np.array([0, 1]), np.array([0, 1]))
    predictor = UserPredictor(inputs, "values", (model,), "Fixed")
    x = torch.arange(6.0, dtype=torch.float64).view(1, 3, 2)
    output = predictor.output(None, x, torch.tensor([[[1.0, 0.0]] * 3]))
    assert output.shape == (1, 3, 1)
    assert output.dtype == torch.float64
    np.testing.assert_array_equal(model.shown, [[0, np.nan], [2, np.nan], [4, np.nan]])
    assert not predictor.is_plain
