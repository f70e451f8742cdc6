"""The estimator of a task, and words that it does not know."""

import pytest

import sklar
from sklar.estimators.choosing import estimator_for


@pytest.mark.parametrize(
    ("task", "params", "cls"),
    [
        ("classification", {}, sklar.CopulaSelectorClassifier),
        ("classification", {"k": 3}, sklar.CopulaRankerClassifier),
        ("regression", {"penalty": 0.1}, sklar.CopulaSelectorRegressor),
        ("regression", {"k": 3, "loss": "poisson"}, sklar.CopulaRankerRegressor),
    ],
)
def test_a_task_and_k_say_which(task, params, cls):
    made = estimator_for(task, params)
    assert type(made) is cls
    assert made.get_params().items() >= params.items()


@pytest.mark.parametrize(
    ("task", "params", "says"),
    [
        ("regression", {"k": 1, "min_features": 1}, "--min-features is for selectors; leave out --k"),
        ("regression", {"chooses_from": "row"}, "--chooses-from is for rankers; give --k too"),
        ("classification", {"loss": "poisson"}, "--loss is not for classification"),
    ],
)
def test_what_an_estimator_has_not_is_named(task, params, says):
    with pytest.raises(ValueError, match=says):
        estimator_for(task, params)
