"""Work beside the rest of a step, and the optimiser."""

import threading

import pytest
import torch
from torch import nn

from sklar.training.engine.runtime import threads_for
from sklar.training.engine.steps import LARGEST_SLICED, SLICE, Beside, Meanwhile, SlicedAdamW, move, repeat, slices
from tests.helpers import seeded, threads


def test_on_a_cpu_work_is_done_at_once():
    beside = Beside(torch.device("cpu"))
    done = []
    assert beside.start(lambda *inputs: done.append(inputs) or 7, torch.ones(1)) == 7
    assert len(done) == 1
    beside.join()


def test_a_cpu_uses_a_second_thread_where_products_use_one():
    ran = []

    def work(x):
        ran.append((threading.get_ident(), torch.get_num_threads(), x.item(), torch.is_grad_enabled()))

    with threads(2):
        meanwhile = Meanwhile(torch.device("cpu"))
        meanwhile.start(work, torch.ones(()))
        meanwhile.join()
        with threads_for(16), torch.no_grad():
            meanwhile.start(work, torch.zeros(()))
            meanwhile.join()
        assert torch.get_num_threads() == 2
    (here, *of_here), (there, *of_there) = ran
    assert here == threading.get_ident() != there
    assert of_here == [2, 1.0, True]
    assert of_there == [1, 0.0, True]


def test_one_thread_stays_alone():
    with threads(1):
        assert Meanwhile(torch.device("cpu")).pool is None


def test_an_error_beside_is_not_lost():
    with threads(2):
        meanwhile = Meanwhile(torch.device("cpu"))
        with threads_for(16):
            meanwhile.start(lambda: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                meanwhile.join()
            meanwhile.join()  # and is told once


@pytest.mark.gpu
def test_a_replayed_step_waits_for_work_beside_it():
    """Also where nothing was started: a join then waits for nothing."""
    device = torch.device("cuda")
    beside, total = Beside(device), torch.zeros(1, device=device)
    generator = torch.Generator(device)

    def step():
        big = torch.full((2048, 2048), 1 / 2048, device=device)
        result = beside.start(lambda square: square @ square @ square, big)
        del big
        torch.full((2048, 2048), 7.0, device=device)  # must not overwrite what the work reads
        beside.join()
        total.add_(result.mean() * 2048)
        beside.join()

    repeat(step, 20, lambda _: None, device, generator)
    torch.cuda.synchronize()
    assert total.item() == pytest.approx(20.0, rel=1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize("covariance", ["low-rank", "independent"])
def test_honest_training_is_captured_and_replayed(covariance):
    from sklar.training.honest.folds import deal
    from sklar.training.honest.selector import train_selector
    from sklar.training.honest.stage import SelectorSettings, Stage
    from sklar.training.tasks import Task

    device = torch.device("cuda")
    generator = torch.Generator(device).manual_seed(0)
    x = torch.randn(1, 2000, 12, generator=generator, device=device)
    folds = deal(x, (x[..., 0] > 0).long(), 4, 0.2, generator)
    stage = Stage(folds, Task(2), SelectorSettings(covariance=covariance), generator, 0)
    if covariance != "independent":
        stage.correlate()
    price = torch.full((1,), -4.0, device=device)
    train_selector(stage, 300, price, price, folds.n_train)
    shown = stage.masks(x, price).mean(1)[0]
    assert torch.isfinite(stage.selector.scores.weight).all()
    assert shown[0] > 0.9
    assert shown[1:].mean() < 0.3


def test_slices_are_views_of_all_entries_and_a_large_tensor_is_left_whole():
    tensor = torch.zeros(2, SLICE)
    for part in slices(tensor):
        part += 1
    assert (tensor == 1).all()
    assert [len(part) for part in slices(torch.zeros(2 * SLICE + 3))] == [SLICE, SLICE, 3]
    assert [len(part) for part in slices(torch.zeros(LARGEST_SLICED + 1))] == [LARGEST_SLICED + 1]


def test_an_optimiser_of_slices_moves_weights_as_one_of_the_whole(monkeypatch):
    """But for rounding (a CPU rounds the last few of a slice otherwise); a weight without a gradient stays."""
    monkeypatch.setattr("sklar.training.engine.steps.SLICE", 7)
    ends = []
    for kind in (torch.optim.AdamW, SlicedAdamW):
        weights = [nn.Parameter(torch.randn(*shape, generator=seeded(1))) for shape in ((3, 5, 2), (4,), (2, 7))]
        groups = [{"params": weights[:1], "weight_decay": 0.1}, {"params": weights[1:], "weight_decay": 0.0}]
        optimiser = kind(groups, lr=0.1, fused=True)
        for step in range(4):
            push = torch.randn(30, generator=seeded(step)).view(3, 5, 2)
            loss = (weights[0] * push).sum() + (weights[1] ** 2).sum()
            loss.backward()
            move(optimiser)
            assert all(weight.grad is None for weight in weights)
        ends.append([weight.detach() for weight in weights])
    assert len(optimiser.param_groups[0]["params"]) == 5
    for whole, sliced in zip(*ends, strict=True):
        torch.testing.assert_close(whole, sliced, rtol=1e-6, atol=1e-7)
    assert torch.equal(ends[1][2], torch.randn(2, 7, generator=seeded(1)))  # it had no gradient
