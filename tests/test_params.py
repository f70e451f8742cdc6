"""Declared parameters: a constructor that scikit-learn can read, and constraints that name the parameter at fault."""

import inspect
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pytest
from sklearn.base import BaseEstimator, clone

import sklar
from sklar.params import (
    Count,
    DeclaredParams,
    Interval,
    NonNegative,
    RandomState,
    StrOptions,
    Verbose,
    at_least,
    check_params,
    constraints_of,
)


class Parent(DeclaredParams, BaseEstimator):
    shared: ClassVar[str] = "not a parameter"
    steps: Count = 10
    random_state: RandomState = None
    verbose: Verbose = False


class Child(Parent):
    is_plain = True  # no annotation: no parameter
    steps: Count = 20
    size: Annotated[int, at_least(0)] | None = None
    kind: Literal["a", "b"] = "a"
    price: NonNegative | Literal["auto"] = "auto"


def test_a_subclass_inherits_parameters_and_may_change_a_default():
    assert Parent().get_params() == {"steps": 10, "random_state": None, "verbose": False}
    assert Child().get_params() == {**Parent().get_params(), "steps": 20, "size": None, "kind": "a", "price": "auto"}
    assert set(Child._parameter_constraints) == set(Child().get_params())
    assert set(Parent._parameter_constraints) == set(Parent().get_params())


def test_the_constructor_takes_keywords_alone_and_only_those_it_has():
    kinds = {parameter.kind for parameter in list(inspect.signature(Child.__init__).parameters.values())[1:]}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError, match="speed"):
        Child(speed=3)


def test_clone_and_set_params():
    child = Child(steps=3, price=0.5).set_params(kind="b")
    twin = clone(child)
    assert twin is not child
    assert twin != child  # as of any estimator: no comparison of values
    assert twin.get_params() == child.get_params()
    assert repr(twin) == "Child(kind='b', price=0.5, steps=3)"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("steps", 1.5),
        ("size", -1),
        ("kind", "c"),
        ("price", "cheap"),
        ("price", -1.0),
        ("verbose", "loud"),
    ],
)
def test_a_bad_value_is_named_when_checked_and_not_before(name, value):
    child = Child(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter of Child"):
        check_params(child)


@pytest.mark.parametrize("params", [{}, {"size": 0}, {"price": 0}, {"price": 1.5, "kind": "b"}, {"verbose": 2}])
def test_good_values_pass(params):
    check_params(Child(**params))


def test_constraints_of_types():
    assert constraints_of(str) == [str]
    assert constraints_of(int | None) == [int, None]
    interval, options, nothing = constraints_of(Count | Literal["auto", "all"] | None)
    assert isinstance(interval, Interval)
    assert isinstance(options, StrOptions)
    assert options.options == {"auto", "all"}
    assert nothing is None


def test_scikit_learns_private_validation_is_imported_in_one_file():
    package = Path(sklar.__file__).parent
    files = [path.name for path in package.rglob("*.py") if "_param_validation import" in path.read_text()]
    assert files == ["params.py"]
