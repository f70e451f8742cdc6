"""Work beside the rest of a step."""

import pytest
import torch

from sklar.training.steps import Beside, repeat


def test_on_a_cpu_work_is_done_at_once():
    beside = Beside(torch.device("cpu"))
    done = []
    assert beside.start(lambda *inputs: done.append(inputs) or 7, torch.ones(1)) == 7
    assert len(done) == 1
    beside.join()


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
    from sklar.training.folds import deal
    from sklar.training.objectives import Task
    from sklar.training.selector_training import train_selector
    from sklar.training.stage import SelectorSettings, Stage

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
