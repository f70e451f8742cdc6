"""Any table: every outcome is an answer, or a ValueError or TypeError that says where and what."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import sklar
from sklar.table.adapter import adapt
from tests.estimators.any_table import tables, targets
from tests.helpers import quick

# Where an error lies: a column, the target, or the table as a whole (in the words that scikit-learn's checks ask for).
SAYS = re.compile(
    r"column|\by\b|[Cc]omplex|0 feature|sample|2D|dim |2-dimensional|[Ff]eature names|class|finite|collect|array|table"
)


def ask(model, X):
    """All answers about a table, and about its first row."""
    model.select(X), model.predict(X), model.selection_proba(X), model.transform(X), model.correlation(X)
    table = adapt(X)
    if table.n_rows:
        str(model.explain(table.take(np.array([0]))))


def outcome(X, y):
    """None where all was answered, else the error's message."""
    cls = sklar.CopulaSelectorClassifier if isinstance(y[0], str) else sklar.CopulaSelectorRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = quick(cls, max_epochs=1, batch_size=4).fit(X, y)
        except (ValueError, TypeError) as error:
            return str(error)
        ask(model, X)
    return None


def check(X, y):
    assume(X is not None)
    said = outcome(X, y)
    assert said is None or SAYS.search(said), said


def given_tables(n):
    """Draw n tables, the same ones every time."""
    quiet = settings(
        max_examples=n, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    return lambda test: quiet(given(X=tables(), y=targets())(test))


@given_tables(300)
def test_three_hundred_tables(X, y):
    check(X, y)


@pytest.mark.slow
@given_tables(10_000)
def test_ten_thousand_tables(X, y):
    check(X, y)
