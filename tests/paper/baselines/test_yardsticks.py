"""The constant union scores what arithmetic says; random masks have their size and no skill."""

import numpy as np
import pytest

from sklar.datasets import make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.baselines import REGISTRY
from tests.helpers import FALSE_ALARM


@pytest.mark.parametrize(("name", "fdr"), [("syn4", 100 * 3 / 7), ("syn5", 100 * 3 / 7), ("syn6", 100 * 4 / 9)])
def test_union_scores_what_it_must(name, fdr):
    """Syn4: of 7 features per row needs 3 or 5, each for half of the rows; Syn6: 5 of 9.

    False alarm 1e-6, by Hoeffding: a row's share lies between 2/7 and 4/7.
    """
    n = 20_000
    X, y, relevant = make_synthetic(name, n_samples=n, random_state=0)
    masks = REGISTRY["constant-union"]().fit(X, y, relevant=relevant).select(X)
    assert true_positive_rate(relevant, masks) == 100
    slack = 100 * (2 / 7) * np.sqrt(np.log(2 / FALSE_ALARM) / (2 * n))
    assert false_discovery_rate(relevant, masks) == pytest.approx(fdr, abs=slack)


def test_union_must_be_told():
    X, y, relevant = make_synthetic("syn1", n_samples=20, random_state=0)
    with pytest.raises(ValueError, match=r"the ground truth: fit\(X, y, relevant="):
        REGISTRY["constant-union"]().fit(X, y)
    with pytest.raises(ValueError, match="shape of X"):
        REGISTRY["constant-union"]().fit(X, y, relevant=relevant[:5])


def test_random_masks_have_no_skill():
    """A random mask of k features has TPR k / d whatever the truth. False alarm 1e-6, by Hoeffding."""
    n = 20_000
    X, y, relevant = make_synthetic("syn4", n_samples=n, random_state=0)
    masks = REGISTRY["random"](k=4, random_state=0).fit(X, y).select(X)
    assert true_positive_rate(relevant, masks) == pytest.approx(
        100 * 4 / 11, abs=100 * np.sqrt(np.log(2 / FALSE_ALARM) / (2 * n))
    )
    assert len(np.unique(masks, axis=0)) > 100


def test_random_takes_the_size_of_the_truth():
    X, y, relevant = make_synthetic("syn1", n_samples=50, random_state=0)
    assert REGISTRY["random"](random_state=0).fit(X, y, relevant=relevant).size_ == 2
    assert REGISTRY["random"](random_state=0).fit(X, y).size_ == 6
