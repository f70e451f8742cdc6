"""The judge of wide tables: its masks know nothing of rows, and it reads what it is shown."""

import torch

from sklar.training.honest.judge import JudgeSettings, judged, sparse_masks, train_judge
from sklar.training.tasks import Task
from tests.helpers import seeded

SMALL = JudgeSettings(hidden=32, steps=400, batch_size=200, learning_rate=1e-2, weight_decay=0.0)


def test_few_features_are_shown_as_often_as_many():
    """log(number shown) is uniform: for d = 400 a third of the even masks show fewer than 400^(1/3) on average."""
    masks = sparse_masks(torch.zeros(40_000, 400), torch.ones(400), seeded())
    counts = masks[::2].sum(1)
    # 20,000 masks: a share's deviation is below 0.004; a Poisson count blurs the border at 20 of log-uniform 1..400
    assert abs((counts < 20).double().mean().item() - 0.5) < 0.03
    assert (counts < 5).double().mean() > 0.2
    assert (counts > 100).double().mean() > 0.2


def test_odd_masks_leave_out_what_never_varies():
    spread = torch.tensor([0.0, 1.0, 3.0])
    masks = sparse_masks(torch.zeros(30_000, 3), spread, seeded())
    assert masks[1::2, 0].sum() == 0
    assert masks[::2, 0].sum() > 0
    assert masks[1::2, 2].sum() > masks[1::2, 1].sum()


def test_masks_do_not_depend_on_the_rows():
    x = torch.randn(50, 6, generator=seeded(1))
    assert torch.equal(sparse_masks(x, torch.ones(6), seeded(2)), sparse_masks(-3 * x, torch.ones(6), seeded(2)))


def test_it_answers_from_what_is_shown():
    x = torch.randn(2000, 4, generator=seeded(3))
    y = (x[:, 1] > 0).long()
    judge = train_judge(x[:1500], y[:1500], Task(2), SMALL, seed=0)

    def accuracy(feature):
        mask = torch.zeros(500, 4).bool()
        mask[:, feature] = True
        return (judged(judge, x[1500:], mask).argmax(-1) == y[1500:]).double().mean().item()

    assert accuracy(1) > 0.95
    assert accuracy(0) < 0.65


def test_blocks_change_nothing(monkeypatch):
    x = torch.randn(30, 4, generator=seeded(3))
    judge = train_judge(x, (x[:, 0] > 0).long(), Task(2), JudgeSettings(hidden=8, steps=3, batch_size=10), seed=0)
    whole = judged(judge, x, x > 0)
    monkeypatch.setattr("sklar.model.row_blocks.BLOCK_ENTRIES", 7 * 8)
    torch.testing.assert_close(judged(judge, x, x > 0), whole)
