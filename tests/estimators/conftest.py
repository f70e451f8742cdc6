import pytest

from tests.helpers import four, quick, toy_rows, toy_target


@pytest.fixture(params=list(four()), ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


@pytest.fixture(scope="session")
def fit_of():
    """One quick fit of each class, shared; tests must not change it."""
    models = {}

    def get(cls):
        if cls not in models:
            X, value = toy_rows()
            models[cls] = quick(cls).fit(X, toy_target(cls, value))
        return models[cls]

    return get


@pytest.fixture
def fitted(cls, fit_of):
    return fit_of(cls)
