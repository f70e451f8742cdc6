"""An ensemble says what its members say, counted by hand."""

import numpy as np
import pytest
import torch

from sklar.model.ensemble import EnsembleModel
from sklar.model.honest_model import HonestArchitecture, HonestModel
from sklar.model.selection import Architecture, SelectionModel
from tests.helpers import seeded

UNIONS = [[4, 0, 7], [0, 2], [7, 4, 2]]  # of a table of 8 columns or more; the ensemble reads 0, 2, 4, 7
N = 50


def members(k=None, n_outputs=3, honest=True):
    words = {"n_outputs": n_outputs, "k": k, "choice_hidden": 6, "predict_hidden": 5}
    made = []
    for seed, union in enumerate(UNIONS):
        cls, architecture = (HonestModel, HonestArchitecture) if honest else (SelectionModel, Architecture)
        model = cls(architecture(n_features=len(union), n_factors=2, **words), seeded(seed))
        for value in model.parameters():
            value.data = torch.randn(value.shape, generator=seeded(seed))
        made.append(model.double().eval())
    return made


@pytest.fixture
def rows():
    return torch.randn(1, N, 4, dtype=torch.double, generator=seeded(9))


def inside(union):
    """A member's columns among those of the ensemble."""
    return [[0, 2, 4, 7].index(column) for column in union]


def by_hand(made, rows, answer, fill):
    """Each member's answer at the width of the ensemble: (M, n, 4)."""
    wide = np.full((len(made), N, 4), fill)
    for m, (model, union) in enumerate(zip(made, UNIONS, strict=True)):
        wide[m][:, inside(union)] = answer(model, rows[..., inside(union)])[0].detach().numpy()
    return wide


@pytest.mark.parametrize("honest", [True, False])
def test_most_members_decide(rows, honest):
    made = members(honest=honest)
    ensemble, union = EnsembleModel.of(made, UNIONS)
    ensemble.double().eval()
    assert union == [0, 2, 4, 7]
    votes = by_hand(made, rows, lambda model, x: model.decide(model.scores(x)), 0).mean(axis=0)
    np.testing.assert_allclose(ensemble.votes(rows)[0].numpy(), votes)
    np.testing.assert_array_equal(ensemble.decide(ensemble.scores(rows))[0].numpy(), votes > 0.5)
    assert 0 < (votes > 0.5).mean() < 1


def test_two_of_four_are_not_most(rows):
    made = members()
    ensemble, _ = EnsembleModel.of([made[0], made[0], made[1], made[1]], [UNIONS[0], UNIONS[0], UNIONS[1], UNIONS[1]])
    ensemble.double().eval()
    votes = ensemble.votes(rows)
    assert (votes == 0.5).any()
    assert torch.equal(ensemble.decide(ensemble.scores(rows)), votes > 0.5)


def test_a_rankers_score_is_minus_the_mean_place(rows):
    made = members(k=2)
    ensemble, _ = EnsembleModel.of(made, UNIONS)
    ensemble.double().eval()
    scores = by_hand(made, rows, lambda model, x: model.scores(x), -30.0)
    places = (-scores).argsort(axis=-1, kind="stable").argsort(axis=-1) + 1
    np.testing.assert_array_equal(ensemble.places(rows).numpy(), places)
    np.testing.assert_allclose(ensemble.scores(rows)[0].numpy(), -places.mean(axis=0))
    assert set(ensemble.decide(ensemble.scores(rows)).sum(-1).unique().tolist()) == {2}


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_predictions_are_means_over_the_members(rows, n_outputs):
    made = members(n_outputs=n_outputs)
    ensemble, _ = EnsembleModel.of(made, UNIONS)
    ensemble.double().eval()
    mask = (torch.rand(1, N, 4, generator=seeded(1)) > 0.5).double()
    outputs = [
        model.output(rows[..., inside(u)], mask[..., inside(u)])[0] for model, u in zip(made, UNIONS, strict=True)
    ]
    found = ensemble.output(rows, mask)[0]
    if n_outputs == 1:
        torch.testing.assert_close(found, torch.stack(outputs).mean(0))
    else:
        torch.testing.assert_close(found.softmax(-1), torch.stack([out.softmax(-1) for out in outputs]).mean(0))


def test_the_correlation_is_the_mean(rows):
    made = members()
    ensemble, _ = EnsembleModel.of(made, UNIONS)
    ensemble.double().eval()
    expected = np.zeros((4, 4))
    for model, union in zip(made, UNIONS, strict=True):
        wide = np.eye(4)
        part = model.covariance(model.gates(rows[..., inside(union)])).correlation()
        wide[np.ix_(inside(union), inside(union))] = part.detach().reshape(-1, len(union), len(union))[0].numpy()
        expected += wide / 3
    found = ensemble.covariance(ensemble.gates(rows)).correlation()
    np.testing.assert_allclose(found.detach().reshape(-1, 4, 4)[0].numpy(), expected)


def test_a_draw_is_of_one_member(rows):
    made = members()
    ensemble, _ = EnsembleModel.of(made, UNIONS)
    ensemble.double().eval()
    choice = ensemble.gates(rows)
    generator = seeded(3)
    draws = torch.stack([ensemble.sample(choice, (1, N), generator)[0] for _ in range(60)])  # (60, n, 4)
    silent = {tuple(sorted({0, 1, 2, 3} - set(inside(union)))) for union in UNIONS}
    seen = {tuple(np.flatnonzero(draw.sum(0) == 0)) for draw in draws.detach().numpy()}
    assert seen == silent  # what the drawn member does not read is never on


def test_members_may_read_features_of_several_inputs():
    """Feature 2 is three inputs, feature 7 two; 4 is forced: each member finds its own inputs among the ensemble's."""
    widths, made = {0: 1, 2: 3, 4: 1, 7: 2}, []
    for seed, union in enumerate(UNIONS):
        of_input = tuple(gate for gate, feature in enumerate(union) for _ in range(widths[feature]))
        forced = tuple(gate for gate, feature in enumerate(union) if feature == 4)
        words = {"gate_of_input": of_input, "forced": forced, "min_features": 1, "output_kind": "counts"}
        architecture = HonestArchitecture(n_features=len(union), n_outputs=1, n_factors=2, choice_hidden=6, **words)
        model = HonestModel(architecture, seeded(seed))
        for value in model.parameters():
            value.data = torch.randn(value.shape, generator=seeded(seed))
        made.append(model.double().eval())
    ensemble, _ = EnsembleModel.of(made, UNIONS)
    ensemble.double().eval()
    a = ensemble.architecture
    assert (a.gate_of_input, a.forced, a.min_features) == ((0, 1, 1, 1, 2, 3, 3), (2,), 1)
    x = torch.randn(1, N, 7, dtype=torch.double, generator=seeded(9))
    inputs = {0: [0], 2: [1, 2, 3], 4: [4], 7: [5, 6]}
    mask = (torch.rand(1, N, 4, generator=seeded(1)) > 0.5).double()
    scores, rates = np.full((3, N, 4), -30.0), []
    for m, (model, union) in enumerate(zip(made, UNIONS, strict=True)):
        own = x[..., [number for feature in union for number in inputs[feature]]]
        scores[m][:, inside(union)] = model.scores(own)[0].detach().numpy()
        rates.append(model.output(own, mask[..., inside(union)]).exp())
    np.testing.assert_array_equal(ensemble.scores(x)[0].detach().numpy(), np.median(scores, axis=0))
    torch.testing.assert_close(ensemble.output(x, mask).exp(), torch.stack(rates).mean(0))
    assert ensemble.decide(ensemble.scores(x))[..., 2].all()


def test_what_a_member_does_not_select_beside_a_substitute_is_a_vote_against_it(rows):
    made = members()
    made[0].substitutes.fill_(True).fill_diagonal_(False)
    ensemble = EnsembleModel.of(made, UNIONS)[0].double()
    votes = by_hand(made, rows, lambda model, x: model.decide(model.scores(x)), False)
    assert votes[0].sum(1).max() == 1  # the first member selects one feature at most
    np.testing.assert_array_equal(ensemble.decide(ensemble.scores(rows))[0].numpy(), votes.sum(0) >= 2)
    np.testing.assert_allclose(ensemble.votes(rows)[0].numpy(), votes.mean(0))


@pytest.mark.parametrize("honest", [True, False])
@pytest.mark.parametrize("k", [None, 2])
def test_what_is_withheld_is_withheld_from_every_member(rows, k, honest):
    ensemble, _ = EnsembleModel.of(members(k, honest=honest), UNIONS)
    ensemble = ensemble.double().eval()
    withheld = torch.zeros(1, N, 4, dtype=torch.bool)
    withheld[:, ::2, 1] = True
    other = ensemble.withholding(withheld)
    assert (other.scores(rows)[withheld] == -torch.inf).all()
    assert not other.votes(rows)[withheld].any()
    assert not other.mask(rows)[withheld].any()
    assert not other.draw(other.gates(rows), (1, N), seeded())[withheld].any()
    torch.testing.assert_close(other.votes(rows)[:, 1::2], ensemble.votes(rows)[:, 1::2])
    assert ensemble.withheld is None  # the ensemble itself is as it was
    assert all(member.withheld is None for member in ensemble.members)


def test_out_of_fold_is_the_mean_of_what_members_say_out_of_theirs(rows):
    made = members(n_outputs=1)
    ensemble, _ = EnsembleModel.of(made, UNIONS)
    ensemble = ensemble.double().eval()
    folds = torch.randint(4, (3, N), generator=seeded(3))
    mask = torch.ones_like(rows)
    each = []
    for i, (member, union) in enumerate(zip(made, UNIONS, strict=True)):
        own = rows[..., inside(union)]
        each.append(member.out_of_fold(own, torch.ones_like(own), folds[i : i + 1]))
    torch.testing.assert_close(ensemble.out_of_fold(rows, mask, folds), torch.cat(each).mean(0, keepdim=True))
