"""Parameters and class labels as plain values that a file can hold; what it cannot hold is known before a fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

ESTIMATOR = "estimator"  # the one field of an object that describes an estimator


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """An estimator's parameters as JSON can hold them.

    Examples
    --------
    >>> plain_parameters({"forced": np.array([1, 2]), "costs": {np.int64(3): np.float32(0.5)}})
    {'forced': [1, 2], 'costs': {'3': 0.5}}
    >>> plain_parameters({"costs": {"a": object()}})
    Traceback (most recent call last):
    ...
    TypeError: parameter 'costs' holds a value of type object, which a model file cannot; give plain numbers and text
    """
    return {name: _plain(name, value) for name, value in parameters.items()}


def plain_values(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record of training; a number that is not finite, which JSON lacks, is None."""
    found = {name: value.item() if isinstance(value, np.generic) else value for name, value in record.items()}
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in found.items()}


def plain_labels(classes: np.ndarray) -> dict[str, Any]:
    """Class labels and their type; dates are counted in their own unit."""
    values = classes.astype(np.int64) if classes.dtype.kind in "mM" else classes
    return {"dtype": classes.dtype.newbyteorder("<").str, "values": values.tolist()}


def _plain(name: str, value: Any) -> Any:
    """One value, of any depth; a random generator has no place in a file and becomes None."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.random.RandomState):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "get_params"):  # a predictor, whose own part of the file holds what it learned
        return {ESTIMATOR: str(value)}
    if isinstance(value, Mapping) or hasattr(value, "to_dict"):  # a Series too
        return {str(key): _plain(name, price) for key, price in dict(value).items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_plain(name, entry) for entry in value]
    kind = type(value).__name__
    raise TypeError(
        f"parameter {name!r} holds a value of type {kind}, which a model file cannot; give plain numbers and text"
    )
