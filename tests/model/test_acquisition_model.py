"""A ranking that follows from the values it shows, and from nothing else."""

import pytest
import torch

from sklar.model.acquisition_model import AcquisitionArchitecture, AcquisitionModel
from sklar.model.topk_mask import ranking
from tests.helpers import seeded

D, K = 7, 4


def model_with(k=K, **words):
    a = AcquisitionArchitecture(n_features=D, n_outputs=3, k=k, n_factors=0, covariance="independent", **words)
    return AcquisitionModel(a, seeded()).double()


def rows(n=50):
    return torch.randn(1, n, D, generator=seeded(1), dtype=torch.float64)


@pytest.mark.parametrize("forced", [(), (2, 5)])
def test_values_not_yet_shown_change_nothing(forced):
    """Whatever the features after place j hold, the first j + 1 are the same."""
    model, x = model_with(forced=forced), rows()
    order = model.order(x)
    for place in range(K):
        shown = torch.zeros_like(x).scatter(-1, order[..., :place], 1.0)
        other = torch.where(shown > 0, x, x + torch.randn(x.shape, generator=seeded(2), dtype=x.dtype))
        assert torch.equal(model.order(other)[..., : place + 1], order[..., : place + 1])


def test_values_that_are_shown_do():
    model, x = model_with(), rows()
    assert len(model.order(x)[0, :, 0].unique()) == 1  # nothing is shown before the first
    assert len(model.order(x)[0, :, -1].unique()) > 1


def test_a_shorter_ranking_is_the_beginning_of_a_longer_one():
    long, short = model_with(), model_with(k=2)
    short.load_state_dict({**long.state_dict(), "unit": long.unit[:3]})
    assert torch.equal(short.order(rows()), long.order(rows())[..., :2])


def test_no_feature_twice_and_forced_ones_first():
    order = model_with(forced=(2, 5)).order(rows())[0]
    assert order[:, :2].sort().values.tolist() == [[2, 5]] * 50
    assert all(len(set(row)) == K for row in order.tolist())


def test_scores_masks_and_draws_say_the_same():
    model, x = model_with(), rows()
    order = model.order(x)
    assert torch.equal(ranking(model.scores(x), K), order)
    mask = torch.zeros_like(x).scatter(-1, order, 1.0)
    assert torch.equal(model.mask(x), mask > 0)
    assert torch.equal(model.sample(model.gates(x), (1, 50), None), mask)


def test_worth_is_in_units_of_the_loss():
    model, x = model_with(), rows()
    plain = model.next_worth(x, model.start(x))
    model.unit[0] = 0.5
    torch.testing.assert_close(model.next_worth(x, model.start(x)), plain / 2)


@pytest.mark.parametrize("forced", [(), (2, 5)])
def test_what_has_nothing_to_show_is_asked_for_last(forced):
    model, x = model_with(forced=forced), rows(6)
    withheld = torch.zeros(1, 6, D, dtype=torch.bool)
    withheld[0, 0, 5] = withheld[0, 1, :5] = withheld[0, 2] = True
    other = model.withholding(withheld)
    masks = other.mask(x)
    assert not masks[withheld].any()
    assert masks.sum(-1).tolist() == [[K if not forced else K - 1, 2, 0, K, K, K]]
    assert torch.equal(masks[:, 3:], model.mask(x)[:, 3:])
    assert all(len(set(row)) == K for row in other.order(x)[0].tolist())  # nothing is asked for twice
    unseen = torch.where(withheld, torch.randn(x.shape, generator=seeded(3), dtype=x.dtype), x)
    assert torch.equal(other.mask(unseen), masks)
