"""What every test shares: which tests run, and one thread each so that two workers do not fight for two cores."""

import os

import matplotlib
import pytest
import torch

from tests.helpers import four, quick, toy_rows, toy_target

if not torch.cuda.is_available():  # before anything imports Triton: kernels run in its interpreter
    os.environ["TRITON_INTERPRET"] = "1"
matplotlib.use("Agg")
torch.set_num_threads(1)


def pytest_addoption(parser):
    parser.addoption("--run-slow", action="store_true", help="run the tests marked slow too")


def pytest_collection_modifyitems(config, items):
    reasons = {
        "slow": None if config.getoption("--run-slow") else "takes minutes: give --run-slow",
        "gpu": None if torch.cuda.is_available() else "needs a CUDA device",
    }
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):  # not by keywords, which a folder's name is among
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def global_seeds_untouched():
    """Fails the test if it moved numpy's or torch's global generator."""
    import numpy as np

    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    yield
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state[1])  # noqa: NPY002
    assert np.random.get_state()[2] == numpy_state[2]  # noqa: NPY002


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
