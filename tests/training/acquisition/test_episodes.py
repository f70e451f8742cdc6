"""Rows that are asked side by side."""

import torch

from sklar.model.gates import Gates
from sklar.training.acquisition.episodes import Episodes
from sklar.training.honest.folds import deal
from tests.helpers import seeded

D, K = 6, 3


def episodes(given=0.0, forced=(), rows=40):
    x = torch.randn(1, 2000, D, generator=seeded(1))
    folds = deal(x, (x[..., 0] > 0).long(), 2, 0.0, seeded(2), gates=Gates.of(D, forced=forced))
    return Episodes(folds, rows, K, given, seeded(3))


def first_hidden(mask):
    return (mask < 0.5).to(torch.long).argmax(-1, keepdim=True).flatten(0, 1)


def test_all_places_occur_at_first_and_no_row_is_at_the_end():
    shown = episodes().mask.sum(-1)
    assert set(shown.flatten().tolist()) == {0.0, 1.0, 2.0}


def test_a_row_is_replaced_when_it_has_shown_k():
    some = episodes()
    for _ in range(10):
        before, x = some.mask.clone(), some.x.clone()
        some.advance(first_hidden(some.mask))
        full = before.sum(-1) == K - 1
        assert (some.mask.sum(-1)[full] == 0).all()
        assert torch.equal(some.mask.sum(-1)[~full], before.sum(-1)[~full] + 1)
        assert torch.equal(some.x[~full], x[~full])
        assert (some.x[full] != x[full]).any()


def test_rows_keep_their_targets():
    some = episodes()
    for _ in range(5):
        some.advance(first_hidden(some.mask))
        assert torch.equal(some.y, (some.x[..., 0] > 0).long())


def test_some_begin_with_random_features():
    """Half of 2,000 rows may; of these a third draw the size 0."""
    some = episodes(given=0.5, rows=1000)
    begun = some._started(0.5).sum(-1)
    assert set(begun.flatten().tolist()) == {0.0, 1.0, 2.0}
    assert abs(float((begun > 0).float().mean()) - 1 / 3) < 0.1
    assert (some._started(0.0).sum(-1) == 0).all()


def test_forced_features_are_always_shown():
    some = episodes(given=0.5, forced=[4])
    for _ in range(5):
        assert (some.mask[..., 4] == 1).all()
        assert (some.mask.sum(-1) < K).all()
        some.advance(first_hidden(some.mask))
