"""Constructor parameters and what they may be: the one file that imports scikit-learn's private validation.

`DeclaredParams` writes a constructor from annotations, `k: Count = 4`; scikit-learn reads its signature.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from inspect import get_annotations
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, dataclass_transform, get_args, get_origin

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions, validate_parameter_constraints

__all__ = [
    "Constraints",
    "Count",
    "DeclaredParams",
    "HasMethods",
    "Interval",
    "NonNegative",
    "Positive",
    "RandomState",
    "StrOptions",
    "Verbose",
    "at_least",
    "check_params",
    "constraints_of",
]

Constraints = dict[str, list[Any]]


def at_least(least: int) -> Interval:
    """The constraint of a whole number."""
    return Interval(Integral, least, None, closed="left")


# Types of parameters; the constraint is what scikit-learn checks, the type what mypy does.
Count = Annotated[int, at_least(1)]
Positive = Annotated[float, Interval(Real, 0, None, closed="neither")]
NonNegative = Annotated[float, Interval(Real, 0, None, closed="left")]
RandomState = Annotated[int | np.random.RandomState | None, "random_state"]
Verbose = Annotated[bool | int, "verbose"]


@dataclass_transform(kw_only_default=True, eq_default=False)
class DeclaredParams:
    """A subclass's annotated names are its keyword parameters; a subclass of it inherits them, or gives other defaults.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> class Base(DeclaredParams, BaseEstimator):
    ...     k: Count = 4
    ...     verbose: Verbose = False
    >>> class Wide(Base):
    ...     k: Count = 100
    ...     penalty: NonNegative | None = None
    >>> Wide(penalty=0.1).get_params()
    {'k': 100, 'penalty': 0.1, 'verbose': False}
    >>> check_params(Wide(k=0))
    Traceback (most recent call last):
    ...
    sklearn.utils._param_validation.InvalidParameterError: The 'k' parameter of Wide must be an int in the range...
    """

    _parameter_constraints: ClassVar[Constraints] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False, repr=False)(cls)  # writes __init__, and nothing else
        hints = get_annotations(cls, eval_str=True)
        names = [field.name for field in fields(cls) if field.name in hints]  # type: ignore[arg-type]
        own = {name: constraints_of(hints[name]) for name in names}
        inherited = [vars(base).get("_parameter_constraints", {}) for base in reversed(cls.__mro__[1:])]
        cls._parameter_constraints = {name: value for part in (*inherited, own) for name, value in part.items()}


def constraints_of(hint: Any) -> list[Any]:
    """The constraints that a parameter's type stands for; a value has to meet one of them.

    Examples
    --------
    >>> constraints_of(Count | Literal["auto"] | None)
    [<sklearn.utils._param_validation.Interval ...>, <sklearn.utils._param_validation.StrOptions ...>, None]
    """
    if get_origin(hint) is Annotated:
        return list(hint.__metadata__)
    if get_origin(hint) in (Union, UnionType):
        return [constraint for part in get_args(hint) for constraint in constraints_of(part)]
    if get_origin(hint) is Literal:
        return [StrOptions(set(get_args(hint)))]
    return [None if hint is NoneType else get_origin(hint) or hint]


def check_params(estimator: Any) -> None:
    """Raise, naming the parameter, where one of an estimator's is not what its constraints allow."""
    params = estimator.get_params(deep=False)  # numpy's numbers as Python's: messages say 0, not np.int64(0)
    params = {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
    validate_parameter_constraints(estimator._parameter_constraints, params, caller_name=type(estimator).__name__)
