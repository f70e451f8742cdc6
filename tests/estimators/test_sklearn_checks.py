"""Every check that scikit-learn has for estimators; none is expected to fail."""

import pytest
import sklearn
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.helpers import four, run_python

# Small networks, trained enough for the checks that ask for a passable score.
WORDS = {
    "objective": "joint",
    "max_epochs": 40,
    "learning_rate": 0.02,
    "choice_hidden": 20,
    "predict_hidden": 30,
    "random_state": 0,
    "device": "cpu",
}
# One penalty: a path of them would cost eight fits and is no affair of these checks.
PENALTY = {"penalty": 0.01}


def name_of(check):
    return getattr(check, "func", check).__name__


def checks():
    for estimator in (cls(**WORDS, **(PENALTY if "penalty" in words else {})) for cls, words in four().items()):
        for instance, check in estimator_checks_generator(estimator):
            if name_of(check) != "check_array_api_input":  # needs a variable that SciPy reads at import: see below
                yield pytest.param(instance, check, id=f"{type(estimator).__name__}-{name_of(check)}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_check(estimator, check):
    check(estimator)


@pytest.mark.skipif(sklearn.__version__ < "1.7", reason="the check came with scikit-learn 1.7")
def test_the_check_of_array_api_input_too():
    code = """
from sklearn.utils.estimator_checks import estimator_checks_generator
from tests.estimators.test_sklearn_checks import WORDS, name_of
from tests.helpers import four
for cls in four():
    for estimator, check in estimator_checks_generator(cls(**{**WORDS, "max_epochs": 1})):
        if name_of(check) == "check_array_api_input":
            check(estimator)
            print(cls.__name__)
"""
    assert run_python(code, SCIPY_ARRAY_API="1").split() == [cls.__name__ for cls in four()]
