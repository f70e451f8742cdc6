"""Estimators from their files."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sklar.estimators.base import CopulaEstimator
from sklar.estimators.rankers import CopulaRankerClassifier, CopulaRankerRegressor
from sklar.estimators.selectors import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.export.fields import record, text
from sklar.export.model_file import Saved, read_fitted
from sklar.export.plain import ESTIMATOR
from sklar.export.storage import ModelFileError
from sklar.params import check_params
from sklar.predictor.saved import SavedPredictor

CLASSES: dict[str, type[CopulaEstimator]] = {
    cls.__name__: cls
    for cls in (
        CopulaSelectorClassifier,
        CopulaSelectorRegressor,
        CopulaRankerClassifier,
        CopulaRankerRegressor,
    )
}


def load(path: str | PathLike[str]) -> CopulaEstimator:
    """Read a model that `save` wrote.

    Raises
    ------
    ModelFileError
        if the file is truncated, damaged, not a sklar model, or of a newer format
    FileNotFoundError
        if there is none

    Examples
    --------
    >>> import tempfile, os
    >>> import numpy as np
    >>> from sklar import CopulaSelectorRegressor, load
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> model = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.sklar"))
    ...     again = load(os.path.join(folder, "model.sklar"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    saved = read_fitted(path)
    try:
        return _estimator(saved)._adopt(saved.fitted)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: {error}") from error


def _predictor(saved: Saved) -> Any:
    """The parameter `predictor`: a name, or of an estimator what describes it."""
    given = saved.parameters["predictor"]
    if given != "auto" and (given == "networks") != (saved.fitted.predictor is None):
        raise ModelFileError("parameters.predictor does not fit predictor: one of them says that networks predict")
    if not isinstance(given, dict):
        return given
    return SavedPredictor(text("parameters.predictor", record("parameters.predictor", given, [ESTIMATOR])[ESTIMATOR]))


def _estimator(saved: Saved) -> CopulaEstimator:
    """The estimator that a file names, with parameters that `fit` would take."""
    fitted = saved.fitted
    cls = CLASSES[text("class", fitted.name, CLASSES)]
    for kind, has in (("Ranker", fitted.k is not None), ("Classifier", fitted.target.classes is not None)):
        if (kind in fitted.name) != has:
            raise ModelFileError(f"class is {fitted.name}, and the file describes another kind of model")
    record("parameters", saved.parameters, cls._get_param_names())
    estimator = cls(**saved.parameters | {"predictor": _predictor(saved)})
    check_params(estimator)
    return estimator
