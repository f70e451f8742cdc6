"""Processes that train together: real ones, that come to the same model whatever their number."""

import multiprocessing

import numpy as np
import pytest
import torch

from sklar.model.gates import Gates
from sklar.training.data import TrainingData
from sklar.training.engine.meeting import free_port, meet
from sklar.training.engine.team import ALONE, WHOLE, Share, Team
from sklar.training.honest.fit import train_honest
from sklar.training.tasks import Task

SIZES = (1, 2, 4)
PARAMS = {
    "n_models": 1,
    "verbose": False,
    "choice_hidden": 16,
    "predict_hidden": 8,
    "activation": "relu",
    "learning_rate": None,
    "weight_decay": None,
    "covariance": "low-rank",
    "n_factors": 4,
    "batch_size": 100,  # 25 rows of each fold: four processes have unequal shares
    "max_epochs": 4,
    "union_width": "auto",
    "selector_sparsity": "auto",
    "predictor_regularization": "auto",
    "quantile_bins": "auto",
    "penalty": "auto",
    "n_folds": 4,
    "validation_fraction": 0.2,
    "random_state": 0,
}


def cases():
    """Correlated gates after screening, for rows that count unequally; exactly k held down; several inputs a gate."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(601, 20, generator=generator)
    y = (torch.where(x[:, 3] > 0, x[:, 0], x[:, 1]) > 0).long()
    weight = torch.rand(601, generator=generator)
    of_input = torch.arange(20) // 2
    yield PARAMS, TrainingData(x, y, weight, Gates(20)), Task(2), None
    yield {**PARAMS, "max_excess": 0.01}, TrainingData(x[:, :6].clone(), y, None, Gates(6)), Task(2), 2
    narrow = TrainingData(x, x[:, 0] + x[:, 3], None, Gates(10, of_input=of_input))
    yield {**PARAMS, "covariance": "independent"}, narrow, Task(None), None


def trained_by(team):
    with team.as_current():
        return [train_honest(*case, 7) for case in cases()]


def weights_of(trained):
    """Those of each case, one after the other."""
    states = [one.model.state_dict().values() for one in trained]
    return [np.concatenate([value.detach().numpy().ravel() for value in state]) for state in states]


def process(rank, ports, results):
    """One of four processes: it joins a team of each size that it belongs to."""
    torch.set_num_threads(1)
    found = {}
    for size, port in zip(SIZES, ports, strict=True):
        if rank < size:
            trained = trained_by(meet("127.0.0.1", port, rank, size, torch.device("cpu")))
            found[size] = (weights_of(trained), [one.union for one in trained])
    results.put((rank, found))


@pytest.fixture(scope="module")
def found():
    """What each of four processes has trained in teams of each size: of a rank, of a size."""
    context = multiprocessing.get_context("spawn")
    results, ports = context.Queue(), [free_port("127.0.0.1") for _ in SIZES]
    started = [context.Process(target=process, args=(rank, ports, results), daemon=True) for rank in range(4)]
    for one in started:
        one.start()
    try:
        yield dict(results.get(timeout=600) for _ in started)
    finally:
        for one in started:
            one.join(timeout=10)


def test_one_two_and_four_processes_train_the_same_model(found):
    alone, unions = found[0][1]
    for size in SIZES[1:]:
        weights, same = found[0][size]
        assert same == unions
        differ = [np.abs(a - b).max() for a, b in zip(alone, weights, strict=True)]
        assert max(differ) < 1e-3, differ
        assert min(differ) > 0  # they did share the work: sums are of other parts


def test_all_processes_hold_the_same_weights_bit_for_bit(found):
    for size in SIZES[1:]:
        for rank in range(1, size):
            pairs = zip(found[0][size][0], found[rank][size][0], strict=True)
            assert all((a == b).all() for a, b in pairs)


def test_a_team_of_one_is_no_team(found):
    """Bit for bit."""
    pairs = zip(found[0][1][0], weights_of(trained_by(ALONE)), strict=True)
    assert all((a == b).all() for a, b in pairs)


class Told:
    """A group whose other processes are told what to answer."""

    def __init__(self, rank, size, others=lambda values: 0):
        self.place, self.others = (rank, size), others

    def rank(self):
        return self.place[0]

    def size(self):
        return self.place[1]

    def allreduce(self, tensors):
        tensors[0].add_(self.others(tensors[0]))
        return self

    def wait(self):
        return True


def test_parts_are_all_rows_once():
    for n, size in ((10, 4), (3, 4), (1000, 3)):
        parts = [Team(Told(rank, size)).part(n) for rank in range(size)]
        assert [row for part in parts for row in range(n)[part]] == list(range(n))


def test_random_numbers_are_those_of_one_process():
    whole = WHOLE.rand((2, 7, 3), 1, torch.Generator().manual_seed(0))
    parts = []
    for rank in range(3):
        generator = torch.Generator().manual_seed(0)
        share = Team(Told(rank, 3)).share(7)
        parts.append(share.rand((2, 99, 3), 1, generator))
        after = torch.rand(1, generator=generator)  # all are in step
        assert share.first == sum(part.shape[1] for part in parts[:-1])
    assert torch.equal(torch.cat(parts, 1), whole)
    generator = torch.Generator().manual_seed(0)
    WHOLE.rand((2, 7, 3), 1, generator)
    assert torch.equal(after, torch.rand(1, generator=generator))


def test_weights_of_shares_make_a_mean():
    values = torch.arange(7.0)
    shares = [Team(Told(rank, 3)).share(7) for rank in range(3)]
    assert sum(share.own(values, 0).mean() * share.weight for share in shares) == pytest.approx(3.0)
    assert WHOLE.weight == 1.0


def test_different_rows_are_an_error():
    team = Team(Told(0, 2, lambda values: torch.tensor([0, 5])))
    with pytest.raises(ValueError, match="were given different rows; give all the same table and random_state"):
        team.require_same(torch.ones(3), "rows")
    Team(Told(0, 1)).require_same(torch.ones(3), "rows")


def test_a_process_that_ends_is_said():
    def gone(values):
        raise RuntimeError("connection closed by peer")

    with pytest.raises(ConnectionError, match=r"another process of this fit has ended; fit again \(connection closed"):
        Team(Told(0, 2, gone)).sum(torch.ones(1))


def test_the_team_of_a_thread():
    team = Team(Told(1, 2))
    assert Team.current() is ALONE
    with team.as_current():
        assert Team.current() is team
    assert Team.current() is ALONE
    assert Share(ALONE, 3).rolled(torch.arange(3), 0).tolist() == [2, 0, 1]


def test_too_small_a_batch_for_so_many():
    team = Team(Told(0, 200, lambda values: torch.cat([values[:1] * 0, values[:1].repeat(199)])))  # all say the same
    with team.as_current(), pytest.raises(ValueError, match="too few for 200 processes; start fewer"):
        train_honest(*next(cases()), 0)
