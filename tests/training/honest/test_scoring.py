"""How rows are scored, what a narrower selector keeps, and which masks follow."""

import pytest
import torch

from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import Decisions, new_correlation, new_selector
from sklar.training.honest.screening import Screened, columns_of
from sklar.training.honest.settings import SelectorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded
from tests.training.small import PREDICTOR, SETTINGS, small_parts, undecided, weighed_parts


def test_a_selector_of_the_union_scores_as_one_of_all_features_does_rows_without_the_others():
    whole, _ = small_parts()
    x = torch.randn(2, 7, 4, generator=seeded(3))
    keep = torch.tensor([[True, False, True, False], [False, True, True, True]])
    x = x * keep[:, None]
    penalty = torch.zeros(2, 1, 1)
    before = whole.scores(x, penalty).detach()
    columns, alive = columns_of(keep)
    assert columns.shape == (2, 3)
    rows = torch.randn(2, 100, 4, generator=seeded())
    folds = deal(rows, (rows[..., 0] > 0).long(), 4, 0.2, seeded())
    predictors = FoldPredictors(folds, Task(2), PREDICTOR, seeded(1), seed=0).only(columns, alive)
    narrow = new_selector(folds.gates, Screened(predictors, columns), SETTINGS, torch.zeros(2, 1), seed=0)
    after = narrow.scores(x.gather(2, columns[:, None].expand(2, 7, 3)) * alive[:, None], penalty).detach()
    for problem in range(2):
        inside = columns[problem][alive[problem]]
        torch.testing.assert_close(after[problem][:, alive[problem]], before[problem][:, inside])
        assert (after[problem][:, ~alive[problem]] < -20).all()


@pytest.mark.parametrize("min_features", [0, 2])
def test_a_threshold_leaves_forced_gates_and_the_least_number_of_features(min_features):
    selector, _, x = weighed_parts(min_features=min_features)
    high = undecided(selector)._replace(score_threshold=torch.full((1,), 100.0))
    masks = selector.masks(x, torch.zeros(1), high)
    assert masks.shape == (1, 100, 4)
    assert masks[..., 3].all()
    assert (masks.sum(-1) == max(1, min_features)).all()


def test_what_is_shut_no_row_gets_and_of_substitutes_a_row_gets_the_best():
    selector, _ = small_parts(problems=1)
    scores = torch.tensor([[[2.0, 1.0, 1.0, 3.0], [1.0, 2.0, -1.0, 3.0]]])
    shut, pairs = torch.tensor([[False, False, False, True]]), torch.zeros(1, 4, 4, dtype=torch.bool)
    pairs[0, 0, 1] = pairs[0, 1, 0] = True
    found = selector.decided(scores, Decisions(torch.zeros(1), shut, pairs))
    assert found[0].tolist() == [[True, False, True, False], [False, True, False, False]]


@pytest.mark.parametrize(
    ("params", "d", "n_factors"),
    [
        ({"covariance": "low-rank", "n_factors": 2}, 4, 2),
        ({"covariance": "low-rank", "n_factors": 9}, 4, 4),
        ({"covariance": "full"}, 4, 4),
        ({"covariance": "block"}, 4, 4),
        ({"covariance": "independent"}, 4, None),
        ({"covariance": "low-rank", "k": 2}, 4, 4),
        ({"covariance": "independent", "k": 2}, 4, None),
        ({"covariance": "low-rank", "k": 4}, 4, None),
        ({"covariance": "low-rank"}, 1, None),
    ],
)
def test_gates_are_correlated_where_that_can_matter(params, d, n_factors):
    x = torch.randn(2, 40, d, generator=seeded())
    folds = deal(x, (x[..., 0] > 0).long(), 4, 0.2, seeded())
    correlation = new_correlation(folds, SelectorSettings(**params), seed=0)
    assert (None if correlation is None else correlation.loadings.shape[-1]) == n_factors
