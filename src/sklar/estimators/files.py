"""A fitted estimator as tensors and plain metadata, and back. No class is looked up but the four listed here."""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from typing import Any

import numpy as np
import torch

import sklar
from sklar.estimators.base import CopulaEstimator
from sklar.estimators.rankers import CopulaRankerClassifier, CopulaRankerRegressor
from sklar.estimators.selectors import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.export.storage import ModelFileError, read_model, write_model
from sklar.model.ensemble import EnsembleArchitecture, EnsembleModel
from sklar.model.honest_model import HonestArchitecture, HonestModel
from sklar.model.selection import Architecture, SelectionModel
from sklar.table.encoding import Encoding
from sklar.table.scaling import Scaling

CLASSES: dict[str, type[CopulaEstimator]] = {
    cls.__name__: cls
    for cls in (
        CopulaSelectorClassifier,
        CopulaSelectorRegressor,
        CopulaRankerClassifier,
        CopulaRankerRegressor,
    )
}
MODELS: dict[str, tuple[type[Any], type[Any]]] = {
    "joint": (SelectionModel, Architecture),
    "honest": (HonestModel, HonestArchitecture),
    "ensemble": (EnsembleModel, EnsembleArchitecture),
}
_PLAIN = ("n_features_in_", "penalty_", "path_", "history_", "target_centre_", "target_spread_")


def save(estimator: CopulaEstimator, path: str | PathLike[str]) -> None:
    """Write a fitted estimator to `path`."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    tensors = {f"model.{key}": value.float() for key, value in estimator.model_.state_dict().items()}
    tensors["scaling.centre"] = torch.from_numpy(estimator.scaling_.centre)
    tensors["scaling.spread"] = torch.from_numpy(estimator.scaling_.spread)
    metadata = {
        "library_version": sklar.__version__,
        "class": type(estimator).__name__,
        "parameters": {key: _plain(value) for key, value in estimator.get_params(deep=False).items()},
        "model": next(name for name, (cls, _) in MODELS.items() if isinstance(estimator.model_, cls)),
        "architecture": {key: _plain(value) for key, value in asdict(estimator.model_.architecture).items()},
        "fitted": {name: _plain(getattr(estimator, name)) for name in _PLAIN if hasattr(estimator, name)},
        "encoding": None if estimator.encoding_.is_plain else estimator.encoding_.to_dict(),
        "arrays": {
            name: {"dtype": getattr(estimator, name).dtype.str, "values": getattr(estimator, name).tolist()}
            for name in ("classes_", "feature_names_in_", "union_", "union_gates_")
            if hasattr(estimator, name)
        },
    }
    write_model(path, tensors, metadata)


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
    tensors, metadata = read_model(path)
    try:
        return _rebuild(tensors, metadata)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"{path}: its metadata does not describe a model ({error})") from error


def _rebuild(tensors: dict[str, torch.Tensor], metadata: dict[str, Any]) -> CopulaEstimator:
    estimator = CLASSES[metadata["class"]](**metadata["parameters"])
    words = dict(metadata["architecture"])
    words["blocks"] = tuple(tuple(block) for block in words["blocks"])
    words.update({name: tuple(words[name]) for name in ("gate_of_input", "forced") if name in words})
    model_class, architecture_class = MODELS[metadata["model"]]
    model = model_class(architecture_class(**words), torch.Generator())  # no draw from the global generator
    model.load_state_dict({key[6:]: value for key, value in tensors.items() if key.startswith("model.")})
    estimator.model_ = model.double().eval()
    scaling = Scaling(tensors["scaling.centre"].numpy(), tensors["scaling.spread"].numpy())
    estimator.encoding_ = Encoding.from_dict(scaling, metadata.get("encoding"))
    for name, value in metadata["fitted"].items():
        setattr(estimator, name, value)
    for name, array in metadata["arrays"].items():
        setattr(estimator, name, np.array(array["values"], dtype=np.dtype(array["dtype"])))
    if not hasattr(estimator, "union_gates_"):  # a file from before columns could share a gate
        estimator.union_gates_ = np.arange(len(estimator.union_))
    return estimator


def _plain(value: Any) -> Any:
    """What JSON can hold; a random generator has no place in a file and becomes None."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if isinstance(value, np.random.RandomState) else value
