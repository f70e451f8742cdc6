"""Few rows get in numpy what torch gives: scores, masks and outputs, of every kind of honest model."""

import numpy as np
import pytest
import torch

from sklar import CopulaRankerClassifier, CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.model.few_rows import MOST_ROWS, FewRows
from tests.helpers import quick, toy_rows

KINDS = {
    "selector": (CopulaSelectorClassifier, {}),
    "values": (CopulaSelectorRegressor, {}),
    "counts": (CopulaSelectorRegressor, {"loss": "poisson"}),
    "ranker": (CopulaRankerClassifier, {}),
    "groups": (CopulaSelectorClassifier, {"groups": [[0, 3]], "forced": [4]}),
    "at least": (CopulaSelectorClassifier, {"min_features": 3, "penalty": 0.5}),
}


@pytest.fixture(params=KINDS)
def model(request):
    cls, words = KINDS[request.param]
    X, value = toy_rows()
    y = np.round(np.abs(value)) if words.get("loss") else value if cls is CopulaSelectorRegressor else value > 0
    return quick(cls, objective="honest", **words).fit(X, y)


def test_numpy_gives_what_torch_gives(model):
    network, (X, _) = model.fitted_.network, toy_rows(n=50, seed=1)
    few, x = FewRows.of(network), model.fitted_.schema.inputs(model.fitted_.read(X))
    stacked = torch.from_numpy(x).unsqueeze(0)
    with torch.inference_mode():
        mask = network.mask(stacked)
        scores, outputs = network.scores(stacked)[0].numpy(), network.output(stacked, mask.double())[0].numpy()
    np.testing.assert_allclose(few.scores(x), scores, rtol=1e-10, atol=1e-12)
    assert (few.mask(x) == mask[0].numpy()).all()
    np.testing.assert_allclose(few.output(x, few.mask(x)), outputs, rtol=1e-10, atol=1e-12)


def test_one_row_is_answered_as_among_many(model):
    X, _ = toy_rows(n=MOST_ROWS + 20, seed=2)
    together = model.select(X), model.predict(X)
    for row in range(0, len(X), 7):
        assert (model.select(X[row : row + 1])[0] == together[0][row]).all()
        np.testing.assert_allclose(
            np.asarray(model.predict(X[row : row + 1]), dtype=float), np.asarray(together[1][[row]], dtype=float)
        )


def test_the_shortcut_is_taken_for_few_rows_only(model, monkeypatch):
    asked = []
    mask = FewRows.mask
    monkeypatch.setattr(FewRows, "mask", lambda self, x: asked.append(len(x)) or mask(self, x))
    X, _ = toy_rows(n=MOST_ROWS + 1)
    model.select(X)
    model.select(X[:MOST_ROWS])
    model.predict(X[:1])
    assert asked == [MOST_ROWS, 1]


def test_other_models_have_none(fit_of):
    assert FewRows.of(fit_of(CopulaSelectorClassifier).fitted_.network) is None  # of joint training
    X, value = toy_rows()
    smooth = quick(CopulaSelectorRegressor, objective="honest", activation="selu").fit(X, value)
    assert FewRows.of(smooth.fitted_.network) is None
