"""Replacements judged by rows that a fit did not see."""

import numpy as np
import pandas as pd
import pytest
import torch

import sklar
from sklar.retesting import judged_rows, retested
from sklar.training.best_confidence import losses_at_best_confidence
from sklar.training.tasks import Task
from tests.helpers import quick


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    X[:, 3] = X[:, 0] + 0.05 * X[:, 3]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.array(["x", "y"])[rng.integers(0, 2, 500)])
    y = np.where(X[:, 0] > 0, "up", "down")
    words = {"objective": "honest", "max_epochs": 150, "batch_size": 400, "choice_hidden": 30, "predict_hidden": 32}
    return sklar.CopulaSelectorClassifier(penalty=0.02, random_state=0, **words).fit(frame, y), frame, y


def test_losses_are_log_losses_of_what_is_predicted_at_the_best_confidence(model):
    selector, frame, y = model
    read = selector.fitted_.read(frame)
    rows, where = judged_rows(selector.fitted_, read, y, as_many=True), np.arange(500) < 200
    outputs, labels = (
        torch.from_numpy(selector.predict_proba(frame)).log()[None],
        torch.from_numpy(y == "up").long()[None],
    )
    expected = losses_at_best_confidence(Task(2), outputs, labels, torch.from_numpy(where)[None])[0].numpy()
    np.testing.assert_allclose(rows.losses(rows.masks, where), expected, rtol=1e-6, atol=1e-9)


def test_new_rows_bear_out_a_copy_and_refuse_what_is_none(model):
    """Where the copies are selected together nothing is said, else they are the one group."""
    selector, frame, y = model
    masks = selector.select(frame)
    found = retested(selector.fitted_, frame, y).interchangeable(0.5)
    assert found == ([] if (masks["a"] & masks["d"]).mean() > 0.05 else [["a", "d"]])
    alone = retested(selector.fitted_, frame.assign(d=np.roll(frame["d"], 1)), y)
    assert all("d" not in group for group in alone.interchangeable(1.0))


def test_targets_that_cannot_judge_are_refused(model):
    selector, frame, y = model
    fitted = selector.fitted_
    with pytest.raises(ValueError, match="as many rows"):
        retested(fitted, frame, y[:-1])
    with pytest.raises(ValueError, match="'sideways'"):
        retested(fitted, frame, np.where(np.arange(500) == 3, "sideways", y))
    counts = quick(sklar.CopulaSelectorRegressor, loss="poisson").fit(frame[["a", "b"]], np.arange(500))
    with pytest.raises(ValueError, match="one class or one value"):
        retested(counts.fitted_, frame[["a", "b"]], np.arange(500))
