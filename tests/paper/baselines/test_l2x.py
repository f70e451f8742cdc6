"""L2X: the relaxed subset, soft labels, and 100/0 on Syn1 and Syn2 (Table 1 of the INVASE paper)."""

import numpy as np
import pytest
import torch

from sklar.datasets import make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.baselines import REGISTRY, l2x
from sklar.paper.baselines.l2x import best_k, gumbel_subset
from sklar.paper.baselines.networks import adam
from tests.helpers import FALSE_ALARM, seeded


def test_one_cold_draw_is_categorical():
    """At a low temperature one draw is one-hot with chances softmax(logits). False alarm 1e-6, by Hoeffding."""
    logits = torch.tensor([0.0, 1.0, 2.0])
    n = 20_000
    draws = gumbel_subset(logits.expand(1, n, 3), 1, 1e-3, seeded())[0]
    shares = (draws > 0.5).float().mean(0)
    # P(|share - p| > e) <= 2 exp(-2 n e^2), for each of 3 shares.
    error = np.sqrt(np.log(2 * 3 / FALSE_ALARM) / (2 * n))
    assert (shares - torch.softmax(logits, 0)).abs().max() < error


def test_k_draws_show_at_most_k_features():
    mask = gumbel_subset(torch.zeros(1, 500, 8), 3, 1e-3, seeded())[0]
    assert (mask > 0.5).sum(-1).max() <= 3
    assert mask.max() <= 1


@pytest.mark.parametrize(("name", "k"), [("syn1", 2), ("syn2", 3)])
def test_syn1_and_syn2(name, k):
    """Source: the L2X row of Table 1 of the INVASE paper: 100/0 on Syn1 and Syn2, k given."""
    X, y, _ = make_synthetic(name, n_samples=4000, random_state=0)
    unseen, _, relevant = make_synthetic(name, n_samples=2000, random_state=1)
    params = {"iterations": 500, "batch_size": 500, "selector_hidden": 50, "predictor_hidden": 100}
    masks = REGISTRY["l2x"](k=k, random_state=0, **params).fit(X, y).select(unseen)
    assert true_positive_rate(relevant, masks) > 97
    assert false_discovery_rate(relevant, masks) < 3


def test_soft_labels_teach_more_than_their_argmax():
    """Labels that are noise, probabilities that follow x3: what is learned comes from the probabilities."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5))
    y = rng.integers(0, 2, len(X))
    chance = 1 / (1 + np.exp(-4 * X[:, 2]))
    soft = np.column_stack([1 - chance, chance])
    params = {"k": 1, "iterations": 200, "batch_size": 200, "selector_hidden": 20, "predictor_hidden": 20}
    baseline = REGISTRY["l2x"](random_state=0, **params).fit(X, y, soft_labels=soft)
    assert baseline.select(X)[:, 2].mean() > 0.95
    assert np.mean(baseline.predict(X) == (chance > 0.5)) > 0.9


def test_soft_labels_are_checked():
    X, y, _ = make_synthetic("syn1", n_samples=50, random_state=0)
    with pytest.raises(ValueError, match=r"soft_labels must have the shape \(50, 2\)"):
        REGISTRY["l2x"](iterations=1).fit(X, y, soft_labels=np.ones((50, 3)))
    with pytest.raises(ValueError, match="real numbers"):
        REGISTRY["l2x"](iterations=1).fit(X, X[:, 0], soft_labels=np.ones((50, 2)))


def test_the_logits_have_no_l2_term():
    """As in the authors' code: their weights follow the loss alone."""
    model = REGISTRY["l2x"]()._build(4, 2, 1, seeded())
    decayed, free = adam([model], 1e-3, 1e-3, free=("norm", "selector.scores")).param_groups
    assert any(weight is model.selector.scores.weight for weight in free["params"])
    assert any(weight is model.selector.second.weight for weight in decayed["params"])


def test_the_weights_kept_are_the_best_on_rows_kept_aside(monkeypatch):
    seen = []

    class Recorder(l2x.BestReplicas):
        def see(self, losses):
            seen.append(float(losses))
            super().see(losses)

        def restore(self):
            super().restore()
            assert float(self.losses) == min(seen)

    monkeypatch.setattr(l2x, "BestReplicas", Recorder)
    X, y, _ = make_synthetic("syn1", n_samples=200, random_state=0)
    REGISTRY["l2x"](k=2, iterations=10, check_every=4, batch_size=50, random_state=0).fit(X, y)
    assert len(seen) == 4  # before steps 0, 4 and 8, and at the end


def test_the_k_highest_logits_are_shown():
    assert best_k(torch.tensor([[[0.1, 3.0, -1.0, 2.0]]]), 2).tolist() == [[[0.0, 1.0, 0.0, 1.0]]]
