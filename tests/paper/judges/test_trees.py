"""The judge of trees: what values say is scored, what a choice says is excess, and hiding is not missing.

The thresholds lie at least 6 standard errors from what a correct judge gives on these rows, a false alarm in less
than one of a million fresh seeds.
"""

import sys

import numpy as np
import pytest

from sklar.paper.judges import TreeJudge
from sklar.paper.judges.trees import _held_out
from sklar.predictor.masks import few_or_many

N_TRAIN, N_TEST = 1500, 1500
QUICK = {"wanted_rows": 8000}


@pytest.fixture(params=["lightgbm", "scikit-learn"])
def engine(request, monkeypatch):
    if request.param == "lightgbm":
        pytest.importorskip("lightgbm")
    else:
        monkeypatch.setitem(sys.modules, "lightgbm", None)
    return request.param


def votes(seed=0, d=30):
    """Features of -1 and 1 that each agree with y for 65% of the rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=N_TRAIN + N_TEST)
    agree = rng.random((len(y), d)) < 0.65
    return np.where(agree, 2 * y[:, None] - 1, 1 - 2 * y[:, None]).astype(float), y


def test_a_persuasive_choice_is_excess_and_a_random_one_is_not(engine):
    X, y = votes()
    judge = TreeJudge("classification", **QUICK).fit(X[:N_TRAIN], y[:N_TRAIN])
    X, y = X[N_TRAIN:], y[N_TRAIN:]
    rng = np.random.default_rng(1)
    side = np.where(X.sum(axis=1, keepdims=True) >= 0, 1, -1)  # what the row says as a whole
    order = np.argsort((side != X) + 0.5 * rng.random(X.shape), axis=1)  # those that agree with it, in any order
    persuasive = np.zeros(X.shape, dtype=bool)
    np.put_along_axis(persuasive, order[:, :3], True, axis=1)
    told = judge.judge(X, y, persuasive)
    assert told.excess > 6 * told.excess_error
    assert told.excess > 0.05
    dealt = judge.judge(X, y, persuasive[rng.permutation(len(X))])
    assert abs(dealt.excess) < 6 * dealt.excess_error + 0.02
    assert dealt.score < told.score - 5


def test_values(engine):
    """The residual's variance depends on what is shown, and the judge knows it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_TRAIN + N_TEST, 4))
    y = 10 + 3 * X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(len(X))
    judge = TreeJudge("regression", **QUICK).fit(X[:N_TRAIN], y[:N_TRAIN])
    X, y = X[N_TRAIN:], y[N_TRAIN:]
    scores = []
    for shown in ([0, 1], [0], [1], [2]):
        judgement = judge.judge(X, y, np.tile(np.isin(np.arange(4), shown), (len(X), 1)))
        scores.append(judgement.score)
        assert abs(judgement.excess) < 6 * judgement.excess_error + 0.05
        assert judgement.expected_score == pytest.approx(judgement.score, abs=25)
    assert scores[0] > 90
    assert scores[0] > scores[1] > scores[2] > scores[3] - 5
    assert abs(scores[3]) < 10


def test_shown_and_missing_is_not_hidden(engine):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    y = rng.integers(2, size=2000)
    X[y == 1, 2] = np.nan
    judge = TreeJudge("classification", **QUICK).fit(X[:1000], y[:1000])
    shown = np.tile([False, False, True], (1000, 1))
    assert judge.judge(X[1000:], y[1000:], shown).score > 99
    assert judge.judge(X[1000:], y[1000:], ~shown).score < 65


def test_text_labels_several_classes_and_no_feature_at_all(engine):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    judge = TreeJudge("classification", **QUICK).fit(X[:600], y[:600])
    assert judge.judge(X[600:], y[600:], np.ones((300, 3), dtype=bool)).score > 90
    blind = judge.judge(X[600:], y[600:], np.zeros((300, 3), dtype=bool))
    assert blind.score < 50
    assert blind.loss == pytest.approx(np.log(3), abs=0.1)


def test_the_seed_fixes_it():
    X, y = votes()
    masks = np.tile(np.arange(30) < 3, (N_TEST, 1))
    one, two = (TreeJudge("classification", **QUICK).fit(X[:N_TRAIN], y[:N_TRAIN]) for _ in range(2))
    assert one.judge(X[N_TRAIN:], y[N_TRAIN:], masks) == two.judge(X[N_TRAIN:], y[N_TRAIN:], masks)


def test_every_class_is_learned_from():
    target = np.array([0] * 40 + [1] * 3 + [2] * 2)
    held = _held_out(target, "classification", np.random.default_rng(0))
    assert set(target[~held]) == {0, 1, 2}
    assert held.sum() == 9


def test_one_feature_can_be_all():
    assert set(few_or_many(100, 1, np.random.default_rng(0))) == {1}
