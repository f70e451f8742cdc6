"""What sequential methods share: sight, dropout, rows kept aside, the order of acquisition."""

import numpy as np
import torch

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.sequential import Trunk, add_feature, quick_products, see
from tests.helpers import seeded


def test_networks_see_nothing_behind_the_mask():
    x, other = torch.randn(2, 1, 4, 3, generator=seeded())
    mask = torch.tensor([1.0, 0.0, 1.0]).expand_as(x)
    hidden_changed = torch.where(mask > 0.5, x, other)
    assert torch.equal(see(x, mask), see(hidden_changed, mask))
    assert not torch.equal(see(x, mask), see(x, torch.ones_like(mask)))


def test_a_feature_is_asked_for_once():
    mask = torch.tensor([[[1.0, 0.0, 0.0]]])
    assert add_feature(mask, torch.tensor([[[9.0, 1.0, 2.0]]])).tolist() == [[[1.0, 0.0, 1.0]]]


def test_dropout_drops_its_share_and_keeps_the_mean():
    """50 x 2,000 units: the share dropped has a standard error of .0015 at most; five of them are allowed."""
    trunk = Trunk(1, 2000, 0.3, 1, seeded())
    torch.nn.init.zeros_(trunk.second.weight)
    torch.nn.init.ones_(trunk.second.bias)  # so that every unit is 1 before dropout
    seen = torch.zeros(1, 50, 2)
    assert (trunk(seen) == 1).all()
    dropped = trunk(seen, seeded())
    assert abs((dropped == 0).float().mean() - 0.3) < 0.0075
    torch.testing.assert_close(dropped.max(), torch.tensor(1 / 0.7))


def test_a_sixth_of_the_rows_is_kept_aside_where_there_are_enough():
    baseline = REGISTRY["gdfs"]()
    for n, n_held in ((60, 10), (49, 49)):
        rows = baseline._split(torch.zeros(1, n, 2), torch.zeros(n), seeded())
        assert len(rows.held) == n_held
        assert len(set(rows.kept.tolist()) & set(rows.held.tolist())) == (0 if n == 60 else 49)


def test_stages_hand_on_the_steps_that_they_leave():
    given = []
    baseline = REGISTRY["gdfs"](iterations=100)
    baseline._in_stages([1.0, 0.5, 0.1], lambda stage, steps: given.append((stage, steps)) or min(steps, 20))
    assert given == [(1.0, 33), (0.5, 40), (0.1, 60)]


def test_scores_are_the_order_of_acquisition():
    X = np.random.default_rng(0).standard_normal((80, 5))
    params = {"k": 3, "iterations": 10, "warmup": 5, "policy_hidden": 8, "predictor_hidden": 8}
    baseline = REGISTRY["gdfs"](random_state=0, **params).fit(X, X[:, 0] > 0)
    assert np.sort(baseline.scores(X), axis=1)[:, -3:].tolist() == [[1.0, 2.0, 3.0]] * 80
    assert len(np.unique(baseline.select(X, k=1), axis=0)) == 1  # nothing is seen before the first choice


def test_quick_products_are_put_back():
    settings = torch.backends.cuda.matmul
    before = settings.fp32_precision
    with quick_products():
        assert settings.fp32_precision == "tf32"
    assert settings.fp32_precision == before
