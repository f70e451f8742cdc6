"""What the network baselines share: the L2 term, batches, replicas."""

from functools import partial

import numpy as np
import pytest
import torch

from sklar.model import row_blocks
from sklar.model.networks import PredictNet
from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.networks import WIDEST_LAYER, adam, endless_batches, replica
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


def test_answers_do_not_depend_on_blocks(monkeypatch):
    X = np.random.default_rng(0).standard_normal((50, 3))
    stg = REGISTRY["stg"](iterations=2, batch_size=20, random_state=0).fit(X, X[:, 0] > 0)
    sizes = []

    def answer(rows):
        return stg._answer(rows, lambda model, x: sizes.append(x.shape[1]) or model.predictor(x))

    whole = answer(X)
    monkeypatch.setattr(row_blocks, "BLOCK_ENTRIES", 7 * WIDEST_LAYER)
    np.testing.assert_allclose(answer(X), whole, rtol=1e-12)
    assert sizes == [50, *[7] * 7, 1]


def test_predicting_from_a_given_mask():
    """The method's own masks give its own predictions; another mask gives others, and hidden features do not matter."""
    X, y = copies_of_one_signal([0, 1, 2], seed=0)
    params = {"k": 1, "iterations": 100, "selector_hidden": 8, "predictor_hidden": 8, "learning_rate": 1e-2}
    l2x = REGISTRY["l2x"](**params, batch_size=100, random_state=0).fit(X, y)
    np.testing.assert_array_equal(l2x.predict_masked(X, l2x.select(X)), l2x.predict(X))
    mask = np.zeros(X.shape, dtype=bool)
    mask[:, 3:] = True
    noise = X.copy()
    noise[:, :3] = 0
    np.testing.assert_array_equal(l2x.predict_masked(X, mask), l2x.predict_masked(noise, mask))
    assert np.mean(l2x.predict_masked(X, mask) == y) < np.mean(l2x.predict(X) == y) - 0.2


def test_seeds_side_by_side_do_not_mix():
    """A replica's weights get no gradient from another's loss: three alike targets, one stack, finite answers."""
    X = np.random.default_rng(0).standard_normal((100, 4))
    params = {"iterations": 150, "batch_size": 50, "learning_rate": 1e-2, "random_state": 0}
    alone = REGISTRY["stg"](**params).fit(X, X[:, 0])
    side_by_side = REGISTRY["stg"](**params).fit_seeds(X, X[:, 0], [0, 1, 2])
    for baseline in [alone, *side_by_side]:
        assert baseline.scores(X)[0].argmax() == 0
        assert baseline.score(X, X[:, 0]) > 0.8


LEARNERS = {  # parameters with which a fit of these small tables takes a fraction of a second
    "invase": {"actor_hidden": 20, "critic_hidden": 20, "learning_rate": 3e-3},
    "invase-minus": {"actor_hidden": 20, "critic_hidden": 20, "learning_rate": 3e-3},
    "l2x": {"k": 1, "selector_hidden": 20, "predictor_hidden": 20},
    "stg": {"predictor_hidden": 20},
    "cae": {"k": 1, "tries": 1, "decoder_hidden": 20, "predictor_hidden": 20},
    "realx": {"warmup": 50, "selector_hidden": 20, "predictor_hidden": 20},
    "gdfs": {"k": 1, "warmup": 200, "policy_hidden": 20, "predictor_hidden": 20, "learning_rate": 3e-3},
    "dime": {"k": 1, "warmup": 200, "hidden": 20, "learning_rate": 3e-3},
}


def copies_of_one_signal(columns, seed):
    """Rows of noise, but for `columns`, which all say the same: the side of 0 that y is on.

    So every method should take its features there: those that look at y, and CAE, which rebuilds the most columns
    from one of them.
    """
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal(600)
    X = rng.standard_normal((600, 6))
    X[:, columns] = signal[:, None] + 0.1 * X[:, columns]
    return X, (signal > 0).astype(int)


@pytest.mark.parametrize("name", LEARNERS)
def test_problems_side_by_side_are_as_good_as_alone(name):
    homes = [[0, 1, 2], [3, 4, 5]]
    problems = [copies_of_one_signal(home, seed) for seed, home in enumerate(homes)]
    make = partial(REGISTRY[name], iterations=200, batch_size=100, **{"learning_rate": 1e-2, **LEARNERS[name]})
    alone = [make(random_state=seed).fit(*problem) for seed, problem in enumerate(problems)]
    together = make().fit_problems(problems, [0, 1])
    for home, (X, y), one, other in zip(homes, problems, alone, together, strict=True):
        for baseline in (one, other):
            assert np.isin(baseline.scores(X).argmax(axis=1), home).mean() > 0.9
        assert other.score(X, y) > one.score(X, y) - 0.05
        assert other.score(X, y) > 0.9


def test_problems_of_one_stack_have_one_shape_and_as_many_classes():
    X = np.random.default_rng(0).standard_normal((60, 4))
    two, three = (np.arange(60) % classes for classes in (2, 3))
    baseline = REGISTRY["stg"](iterations=2, batch_size=20)
    with pytest.raises(ValueError, match="one shape"):
        baseline.fit_problems([(X, two), (X[:50], two[:50])], [0, 1])
    with pytest.raises(ValueError, match="same number of classes"):
        baseline.fit_problems([(X, two), (X, three)], [0, 1])
