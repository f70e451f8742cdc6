"""Dealing rows: every row once, held-out rows apart, no predictor near its own fold."""

import pytest
import torch

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
