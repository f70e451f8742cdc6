"""Dealing rows: every row once, held-out rows apart, no predictor near its own fold."""

import numpy as np
import pytest
import torch

from sklar.training.engine.renewal import NewRows
from sklar.training.honest.folds import deal, of_other_folds
from tests.helpers import seeded


def numbered(n, problems=2):
    x = torch.arange(n, dtype=torch.float32).expand(problems, n).unsqueeze(-1)
    return x, torch.arange(n).expand(problems, n)


@pytest.mark.parametrize(("n", "folds"), [(20, 4), (23, 4), (7, 3), (2, 4), (5, 5)])
def test_every_row_is_dealt_and_keeps_its_target(n, folds):
    dealt = deal(*numbered(n), folds, 0.2, seeded())
    for x, y in zip(dealt.x, dealt.y, strict=True):
        assert set(y.flatten().tolist()) == set(range(n))
        assert torch.equal(x.squeeze(-1).long(), y)


@pytest.mark.parametrize("n", [20, 23, 41])
def test_held_out_rows_train_nothing(n):
    dealt = deal(*numbered(n), 4, 0.2, seeded())
    for problem in range(2):
        held = set(dealt.held_out[1][problem].tolist())
        trained = set(dealt.training[1][problem].flatten().tolist())
        assert held
        assert not held & trained
        assert held | trained == set(range(n))


@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_rows_can_stand_alone(weighted):
    x, y = numbered(40)
    dealt = deal(x, y, 4, 0.2, seeded(), weight=y.float() + 1 if weighted else None)
    alone = dealt.kept_out()
    assert not alone.has_held_out
    assert torch.equal(alone.training[1].flatten(1), dealt.held_out[1])
    assert torch.equal(alone.training[0].flatten(1, 2), dealt.held_out[0])
    if weighted:
        assert torch.equal(alone.training_weight, alone.y.flatten(1) + 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_held_out_batch_is_of_held_out_rows(weighted):
    x, y = numbered(40)
    weight = torch.rand(2, 40, generator=seeded(1)) + 0.1 if weighted else None
    dealt = deal(x, y, 4, 0.2, seeded(), weight=weight)
    rows, targets = dealt.held_out_batch(50, seeded(2))
    assert torch.equal(rows.squeeze(-1).long(), targets)
    for problem in range(2):  # 50 draws of 2 rows miss one with probability 2 ** -49
        assert set(targets[problem].flatten().tolist()) == set(dealt.held_out[1][problem].tolist())


def test_a_predictor_gets_the_rows_of_the_other_folds():
    dealt = deal(*numbered(24), 4, 0.0, seeded())
    others = of_other_folds(dealt.y)
    for fold in range(4):
        own, other = set(dealt.y[0, fold].tolist()), set(others[0, fold].tolist())
        assert not own & other
        assert own | other == set(range(24))


def test_without_shuffling_row_i_goes_to_fold_i_mod_f():
    dealt = deal(*numbered(12), 3, 0.0, seeded(), shuffle=False)
    for fold in range(3):
        assert {i % 3 for i in dealt.y[0, fold].tolist()} == {fold}


def test_columns_keep_rows_and_blank_what_is_dead():
    x = torch.randn(1, 8, 3, generator=seeded())
    dealt = deal(x, torch.zeros(1, 8, dtype=torch.long), 2, 0.0, seeded())
    narrow = dealt.only(torch.tensor([[2, 0]]), torch.tensor([[True, False]]))
    assert torch.equal(narrow.x[..., 0], dealt.x[..., 2])
    assert (narrow.x[..., 1] == 0).all()


@pytest.mark.parametrize("n", [12, 23])
def test_every_row_knows_its_fold(n):
    dealt = deal(*numbered(n), 4, 0.2, seeded())
    for problem in range(2):
        folds = dealt.fold_of_row(problem)
        assert len(folds) == n
        for fold in range(4):
            assert set(dealt.y[problem, fold].tolist()) == set((folds == fold).nonzero().flatten().tolist())


def new_rows(numbers, d=1, shift=1000):
    """Rows that carry their number plus 1000, in the places of those numbers."""
    x = (np.asarray(numbers) + shift)[:, np.newaxis] + 10_000.0 * np.arange(d)
    return NewRows(np.asarray(numbers), x.astype(np.float32), np.asarray(numbers) + shift, 1)


@pytest.mark.parametrize("n", [20, 23])
def test_new_rows_are_of_the_fold_of_those_before_them(n):
    dealt = deal(*numbered(n), 4, 0.2, seeded())
    before = dealt.y.clone()
    dealt.put(new_rows(range(n)))
    new = dealt.y >= 1000
    assert torch.equal(dealt.y, torch.where(new, before + 1000, before))  # each where the one with its number was
    assert torch.equal(dealt.x.squeeze(-1).long(), dealt.y)
    n_filled = 4 * dealt.x.shape[2] - n  # which stand twice in their fold: one of both stays
    assert (new[:, :, : dealt.n_train].logical_not().sum((1, 2)) == n_filled).all()


@pytest.mark.parametrize("n", [20, 23])
def test_new_rows_never_take_the_places_of_rows_held_out(n):
    dealt = deal(*numbered(n), 4, 0.2, seeded())
    x, y = (part.clone() for part in dealt.held_out)
    dealt.put(new_rows(range(n)))
    assert torch.equal(dealt.held_out[0], x)
    assert torch.equal(dealt.held_out[1], y)


def test_new_rows_have_the_features_that_are_left():
    x, y = numbered(20)
    dealt = deal(x + 10_000 * torch.arange(4), y, 4, 0.2, seeded())
    keep, alive = torch.tensor([[3, 1], [2, 0]]), torch.tensor([[True, True], [True, False]])
    narrow = dealt.only(keep, alive)
    narrow.put(new_rows(range(20), d=4))
    for problem in range(2):
        number = narrow.y[problem].unsqueeze(-1)
        assert torch.equal(narrow.x[problem].long(), (number + 10_000 * keep[problem]) * alive[problem])
    twice = narrow.only(torch.tensor([[1], [1]]), torch.tensor([[True], [True]]))
    assert twice.inputs.tolist() == [[1], [0]]
    assert twice.alive.tolist() == [[True], [False]]
