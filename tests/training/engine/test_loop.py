import pytest
import torch
from torch import nn

from sklar.training.engine.loop import BestWeights, LoopSettings, batches, train
from tests.helpers import seeded


@pytest.mark.parametrize(("n", "size"), [(1, 5), (2, 5), (5, 5), (6, 5), (10, 5), (11, 5), (12, 5), (100, 7)])
def test_batches_hold_every_row_once_and_never_a_lone_one(n, size):
    parts = [part.tolist() for part in batches(n, size, seeded())]
    assert sorted(row for part in parts for row in part) == list(range(n))
    assert all(len(part) <= size + 1 for part in parts)
    assert min(len(part) for part in parts) >= min(2, n)


def test_batches_are_shuffled_by_their_generator(global_seeds_untouched):
    first, second, other = (next(batches(50, 50, seeded(seed))).tolist() for seed in (0, 0, 1))
    assert first == second
    assert first != other
    assert first != list(range(50))


def settings(**words):
    usual = {"max_epochs": 30, "batch_size": 4, "learning_rate": 0.1, "weight_decay": 0.0, "patience": 3}
    return LoopSettings(**{**usual, **words})


def fit_constant(losses, **words):
    """Train one number; the losses on rows kept aside are given."""
    model, seen, left = nn.Linear(1, 1), [], iter(losses)

    def validation_loss():
        seen.append(model.bias.item())
        return torch.tensor(next(left))

    def step_loss(rows):
        return (model.bias - 5).square().sum()

    history = train(model, step_loss, 8, settings(**words), seeded(), validation_loss if losses else None)
    return model, history, seen


def test_it_stops_after_patience_and_restores_the_best():
    model, history, seen = fit_constant([5.0, 3.0, 4.0, 3.0, 3.5, 0.0])
    assert [record["validation_loss"] for record in history] == [5.0, 3.0, 4.0, 3.0, 3.5]
    assert model.bias.item() == seen[1]
    assert not model.training


def test_it_runs_to_the_end_while_things_get_better():
    model, history, seen = fit_constant([float(-i) for i in range(30)])
    assert len(history) == 30
    assert model.bias.item() == seen[-1]


def test_without_rows_aside_the_last_weights_stay():
    model, history, _ = fit_constant([], max_epochs=200)
    assert [record["epoch"] for record in history] == list(range(200))
    assert model.bias.item() == pytest.approx(5, abs=0.1)


def test_best_weights_keep_a_copy_and_ignore_nan():
    model = nn.Linear(1, 1)
    keeper = BestWeights(model, patience=2)
    keeper.see(1.0)
    best = model.weight.item()
    model.weight.data += 1
    keeper.see(float("nan"))
    assert not keeper.exhausted
    keeper.see(2.0)
    assert keeper.exhausted
    keeper.restore()
    assert model.weight.item() == best


def losses_on_a_gpu():
    device = torch.device("cuda")
    x = torch.randn(250, 4, generator=seeded()).to(device)
    model = nn.Linear(4, 1).to(device)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.1)
    settings = LoopSettings(max_epochs=6, batch_size=60, learning_rate=1e-2, weight_decay=0.0, patience=10)
    history = train(
        model,
        lambda rows: (model(x[rows]) - x[rows, :1]).square().mean(),
        250,
        settings,
        torch.Generator(device).manual_seed(0),
    )
    return [record["loss"] for record in history]


@pytest.mark.gpu
def test_on_a_gpu_replayed_steps_learn_as_eager_ones(monkeypatch):
    """Ragged batches, so that replayed and eager steps alternate; without noise both see the same losses."""
    replayed = losses_on_a_gpu()
    monkeypatch.setattr("sklar.training.engine.graphs.EAGER_STEPS", 10**9)
    assert replayed == pytest.approx(losses_on_a_gpu(), rel=1e-4)
