"""What the network rivals share: the L2 term, batches, replicas."""

import numpy as np
import pytest
import torch

from sklar.baselines import REGISTRY
from sklar.baselines.networks import adam, answer, endless_batches, replica
from sklar.model.networks import PredictNet
from tests.helpers import seeded


def test_adam_decays_matrices_by_the_gradient_of_the_l2_term_and_nothing_else():
    net = PredictNet(3, 4, 2, generator=seeded())
    groups = adam([net], 1e-3, weight_decay=0.01).param_groups
    decayed = {id(p) for g in groups if g["weight_decay"] for p in g["params"]}
    assert decayed == {id(layer.weight) for layer in (net.first, net.second, net.last)}
    # d/dw of c w^2 is 2 c w, and torch adds weight_decay * w to the gradient.
    assert {g["weight_decay"] for g in groups} == {0.02, 0.0}
    assert sum(len(g["params"]) for g in groups) == len(list(net.parameters()))


def test_batches_cover_the_rows_and_count_iterations():
    drawn = list(endless_batches(10, 7, 4, seeded(), "test", False))
    assert len(drawn) == 7
    assert sorted(torch.cat(drawn[:3]).tolist()) == list(range(10))


def test_a_replica_answers_like_its_slice_of_the_stack():
    stack = PredictNet(3, 4, 2, replicas=5, generator=seeded()).double().eval()
    x = torch.randn(1, 6, 3, generator=seeded(1), dtype=torch.float64)
    torch.testing.assert_close(replica(stack, 3)(x)[0], stack(x)[3])


def test_answers_do_not_depend_on_blocks():
    net = PredictNet(3, 4, 2, generator=seeded()).double().eval()
    rows = np.random.default_rng(0).standard_normal((50, 3))
    whole = answer(net, rows, lambda model, x: model(x), "cpu")
    in_blocks = answer(net, rows, lambda model, x: model(x), "cpu", width=2**21 // 7)
    np.testing.assert_allclose(whole, in_blocks, rtol=1e-12)


def test_seeds_side_by_side_do_not_mix():
    """A replica's weights get no gradient from another's loss: three alike targets, one stack, finite answers."""
    X = np.random.default_rng(0).standard_normal((100, 4))
    words = {"iterations": 150, "batch_size": 50, "learning_rate": 1e-2, "random_state": 0}
    alone = REGISTRY["stg"](**words).fit(X, X[:, 0])
    side_by_side = REGISTRY["stg"](**words).fit_seeds(X, X[:, 0], [0, 1, 2])
    for rival in [alone, *side_by_side]:
        assert rival.scores(X)[0].argmax() == 0
        assert rival.score(X, X[:, 0]) > 0.8


@pytest.mark.parametrize("name", ["invase", "l2x", "stg", "cae", "gdfs", "realx"])
def test_problems_side_by_side(name):
    """Each data set gets a rival of its own, scaled by its own columns, that knows its own target."""
    few = {"gdfs": {"warmup": 3}, "realx": {"warmup": 3}, "cae": {"tries": 1}}.get(name, {})
    rng = np.random.default_rng(0)
    problems = [(rng.standard_normal((80, 5)) + shift, rng.integers(0, 2, 80)) for shift in (0, 9)]
    fitted = REGISTRY[name](iterations=5, batch_size=40, **few).fit_problems(problems, [0, 1])
    assert [round(rival.scaling_.centre.mean()) for rival in fitted] == [0, 9]
    for rival, (X, y) in zip(fitted, problems, strict=True):
        assert rival.scores(X).shape == X.shape
        assert 0 <= rival.score(X, y) <= 1


def test_problems_learn_their_own_target():
    X = np.random.default_rng(0).standard_normal((400, 4))
    problems = [(X, (X[:, j] > 0).astype(int)) for j in (0, 3)]
    fitted = REGISTRY["stg"](iterations=150, batch_size=100, learning_rate=1e-2).fit_problems(problems, [0, 1])
    assert [int(rival.scores(X)[0].argmax()) for rival in fitted] == [0, 3]
