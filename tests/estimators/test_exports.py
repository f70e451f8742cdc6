"""The ways out of an estimator ask for a fit first, and are those of the functions in `export`."""

import pytest
from sklearn.exceptions import NotFittedError

from sklar import load
from tests.helpers import quick, toy_rows


def test_nothing_leaves_before_fit(cls, tmp_path):
    for out in (lambda model: model.save(tmp_path / "m"), lambda model: model.to_onnx(tmp_path / "m")):
        with pytest.raises(NotFittedError):
            out(quick(cls))
    with pytest.raises(NotFittedError):
        quick(cls).to_shap(toy_rows()[0])
    assert not list(tmp_path.iterdir())


def test_a_saved_model_answers_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "model.sklar")
    X, _ = toy_rows()
    assert (load(tmp_path / "model.sklar").select(X) == fitted.select(X)).all()
