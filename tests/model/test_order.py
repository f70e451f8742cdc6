"""The order of a ranker's features."""

import math

import torch

from sklar.model.honest_model import HonestArchitecture, HonestModel
from sklar.model.order import PENALTY_SCALE, dealt, nested, told_counts
from sklar.model.topk_mask import ranking
from tests.helpers import seeded


def model_with(k, **words):
    architecture = HonestArchitecture(n_features=5, n_outputs=1, n_factors=2, n_folds=2, k=k, order_k=k, **words)
    model = HonestModel(architecture, seeded()).double()
    with torch.no_grad():
        model.order.told.normal_(generator=seeded(1))
    return model, torch.randn(1, 40, 5, dtype=torch.float64, generator=seeded(2))


def test_few_numbers_are_told():
    assert told_counts(1, 1) == []
    assert told_counts(1, 4) == [1, 2, 3]
    assert told_counts(4, 5) == []
    assert len(told_counts(1, 784)) == 14


def test_the_first_is_what_is_best_alone_and_the_next_the_best_of_the_rest():
    chosen = torch.tensor([[3, 0, 1]])
    alone, two, three = (torch.tensor([scores]) for scores in ([1.0, 2, 9, 0], [8.0, 9, 9, 1], [5.0, 5, 9, 7]))
    assert nested(chosen, [(1, alone), (2, two), (3, three)]).tolist() == [[1, 0, 3]]
    assert nested(chosen, [(1, alone), (3, three)]).tolist() == [[1, 3, 0]]  # places between two are of the larger


def test_what_has_nothing_to_show_is_last():
    low = torch.tensor([[-torch.inf, 1.0, -torch.inf, 2.0]])
    assert nested(torch.tensor([[0, 1, 2, 3]]), [(1, low), (4, low)])[0, :2].tolist() == [3, 1]


def test_scores_are_dealt_within_the_chosen_alone():
    scores = torch.tensor([[4.0, 3.0, 2.0, 1.0]])
    assert dealt(scores, torch.tensor([[2, 0]])).tolist() == [[2.0, 3.0, 4.0, 1.0]]


def test_a_ranker_orders_its_features_as_one_told_each_number_would():
    model, x = model_with(3)
    ranked = ranking(model.ordered(x), 3)[0]
    assert torch.equal(ranked.sort(-1).values, ranking(model.scores(x), 3)[0].sort(-1).values)  # the same features
    left, own = ranked.clone(), model.order.choice
    for place in (1, 2):
        moved = own.first(x) + PENALTY_SCALE * math.log(place / 3) * model.order.told
        told = own.scores(own.second(moved.relu()).relu())[0].gather(-1, left)
        best = left.gather(-1, told.argmax(-1, keepdim=True)).squeeze(-1)
        assert torch.equal(best, ranked[:, place - 1])
        left = ranked[:, place:]


def test_fewer_features_are_the_beginning_or_those_of_a_ranker_told_so():
    model, x = model_with(4, any_penalty=True)
    model.penalty_weight.normal_(generator=seeded(3))
    whole, few = ranking(model.ordered(x), 4), model.with_k(2)
    assert torch.equal(ranking(few.ordered(x), 2), whole[..., :2])
    assert torch.equal(few.mask(x), torch.zeros(1, 40, 5).scatter(-1, whole[..., :2], 1.0).bool())
    told = model.with_k(2, told=True)
    assert not told.is_prefix
    assert torch.equal(told.scores(x), model.at_penalty(math.log(2 / 4)).scores(x))
    ranked = ranking(told.ordered(x), 2)
    assert torch.equal(told.mask(x), torch.zeros(1, 40, 5).scatter(-1, ranked, 1.0).bool())
    (alone,) = (scores for count, scores in told.order(x, 2) if count == 1)
    worth = alone.gather(-1, ranked)
    assert (worth[..., 0] >= worth[..., 1]).all()


def test_forced_features_are_first_and_withheld_ones_last():
    model, x = model_with(3, forced=(4,))
    withheld = torch.zeros(1, 40, 5, dtype=torch.bool)
    withheld[..., :3] = True
    ranked = ranking(model.withholding(withheld).ordered(x), 3)[0]
    assert (ranked[:, 0] == 4).all()
    assert (ranked[:, 1] == 3).all()
