"""Which price gives so many features."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from sklar import CopulaSelectorRegressor
from sklar.prices import features_at


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).standard_normal((600, 6))
    return X, 3 * X[:, 0] + 1.0 * X[:, 1] + 0.3 * X[:, 2] + 0.1 * np.random.default_rng(1).standard_normal(600)


@pytest.fixture(scope="module")
def selector(data):
    return CopulaSelectorRegressor(max_epochs=400, selector_sparsity=1.0, random_state=0).fit(*data)


def test_fewer_features_cost_more(selector, data):
    sizes = [selector.select(data[0], penalty=p).sum(1).mean() for p in selector.path_["penalty"]]
    assert sizes[-1] < sizes[0]
    assert all(later <= earlier + 0.1 for earlier, later in pairwise(sizes))


def test_the_path_spans_two_orders_of_magnitude(selector):
    path = selector.path_
    assert set(path) == {"penalty", "mean_features", "loss", "error", "score", "score_error"}
    assert max(path["penalty"]) > 100 * min(path["penalty"])
    assert len({len(column) for column in path.values()}) == 1
    assert path["score"][0] > path["score"][-1]


@pytest.mark.parametrize("n", [2.3, 2.7])
def test_features_at_counts_on_rows(selector, data, n):
    X = data[0]
    penalty = features_at(selector.fitted_, n, X)
    more, fewer = (selector.select(X, penalty=p).sum(1).mean() for p in (penalty / 1.001, penalty * 1.001))
    assert fewer <= n <= more


@pytest.mark.parametrize(("n", "expected"), [(12, 0.002), (9, 0.002), (4, 0.01)])
def test_the_penalty_of_fit_is_the_answer_where_it_comes_nearest(n, expected):
    """Of 12 features at the penalty of fit and 5 to 4 at others; `features_at(12)` used to give the 5."""

    class Fitted(SimpleNamespace):
        def at(self, penalty):
            n_features = 12 if np.isclose(penalty, self.penalty, rtol=1e-5, atol=0) else 5 if penalty < 0.002 else 4
            return SimpleNamespace(masks=lambda rows: np.arange(25) < np.full((len(rows), 1), n_features))

    path = {"penalty": [0.001, 0.01], "mean_features": [5.0, 4.0]}
    fitted = Fitted(penalty=0.002, path=path, priced=object(), read=np.asarray)
    assert features_at(fitted, n, np.zeros((3, 25))) == pytest.approx(expected)


def test_features_at_follows_the_path_without_rows(selector):
    path = selector.path_
    middle = (path["mean_features"][0] + path["mean_features"][-1]) / 2
    assert min(path["penalty"]) < features_at(selector.fitted_, middle) < max(path["penalty"])
    with pytest.warns(UserWarning, match="no price of this model gives 100 features per row"):
        assert features_at(selector.fitted_, 100) == pytest.approx(path["penalty"][0], rel=1e-6)
    assert features_at(selector.fitted_, path["mean_features"][-1] - 0.4) == pytest.approx(
        path["penalty"][-1], rel=1e-6
    )


def test_mistakes(selector, data):
    with pytest.raises(ValueError, match="number of features from 0"):
        features_at(selector.fitted_, -1)
    with pytest.raises(ValueError, match="number of features from 0; got 'few'"):
        features_at(selector.fitted_, "few")
    with pytest.raises(ValueError, match=r"penalty must be a number from .* got 'auto'"):
        selector.select(data[0], penalty="auto")
    given = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(*data)
    with pytest.raises(ValueError, match="knows one penalty"):
        given.features_at(2)
    without = CopulaSelectorRegressor(validation_fraction=0, max_epochs=2, random_state=0).fit(*data)
    with pytest.raises(ValueError, match="pass some as X"):
        without.features_at(2)
    low, high = min(without.path_["penalty"]), max(without.path_["penalty"])
    assert 0.999 * low <= without.features_at(2, data[0]) <= 1.001 * high


def test_a_number_of_features_that_no_price_gives_is_warned_about():
    path = {"penalty": [0.01, 0.1], "mean_features": [6.0, 3.0]}
    fitted = SimpleNamespace(priced=object(), path=path, penalty=0.01)
    assert features_at(fitted, 3.4) < 0.1
    with pytest.warns(UserWarning, match="no price of this model gives 1 features per row; the nearest gives 3"):
        assert features_at(fitted, 1) == pytest.approx(0.1)
    with pytest.warns(UserWarning, match="gives 9 features per row; the nearest gives 6"):
        assert features_at(fitted, 9) == pytest.approx(0.01)
