import numpy as np
import pandas as pd
import pytest

from sklar import CopulaRankerRegressor, CopulaSelectorClassifier, CopulaSelectorRegressor
from tests.helpers import quick, toy_rows

# Names that would break out of a careless page.
NASTY = [
    "<script>window.broken=1</script>",
    "</script><img src=x onerror='window.broken=1'>",
    'a & b "c"',
    "ünïcode 特",
    "plain",
]


@pytest.fixture(scope="session")
def classified():
    """A selector of two classes with nasty names, its rows and targets; quick, and with real probabilities."""
    X, value = toy_rows(130)
    frame = pd.DataFrame(X, columns=NASTY, index=[f"r{i}" for i in range(130)])
    y = pd.Series(np.where(value > 0, "<b>yes</b>", "</script>no"), name="a <i>target</i>")
    model = quick(CopulaSelectorClassifier, max_epochs=40, learning_rate=0.01, penalty="auto")
    return model.fit(frame, y), frame, y


@pytest.fixture(scope="session")
def ranked():
    X, value = toy_rows(60)
    return quick(CopulaRankerRegressor).fit(X, value), X, value


@pytest.fixture(scope="session")
def priced():
    """A selector of values that can be asked at every price."""
    X, value = toy_rows(150)
    words = {"objective": "honest", "penalty": "auto", "max_epochs": 60}
    return quick(CopulaSelectorRegressor, **words).fit(X, value), X, value


@pytest.fixture(scope="session")
def graded():
    """Seven classes, whose columns are wider than a phone."""
    X, value = toy_rows(140)
    y = np.digitize(value, np.quantile(value, np.linspace(0, 1, 8)[1:-1])) + 3
    return quick(CopulaSelectorClassifier, penalty=0.001).fit(X, y), X, y


@pytest.fixture(scope="session")
def wide():
    """Every row gets one of 25 features."""
    X = np.random.default_rng(0).standard_normal((60, 25))
    X = pd.DataFrame(X, columns=[f"a measurement {j}" for j in range(25)])
    model = quick(CopulaRankerRegressor, k=1)
    return model.fit(X, X["a measurement 0"]), X, X["a measurement 0"]
