import pytest
import torch

from sklar.model.selection import Architecture, SelectionModel
from tests.helpers import COVARIANCES, seeded

BLOCKS = ((0, 2), (1, 3, 4))


def architecture(covariance="low-rank", k=None, **words):
    blocks = BLOCKS if covariance == "block" else ()
    return Architecture(
        n_features=5,
        n_outputs=3,
        k=k,
        covariance=covariance,
        n_factors=2,
        blocks=blocks,
        **{"choice_hidden": 8, "predict_hidden": 9, **words},
    )


def model_of(*args, **words):
    return SelectionModel(architecture(*args, **words), seeded())


def rows(n=12, replicas=1):
    return torch.randn(replicas, n, 5, generator=seeded(1))


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("k", [None, 1, 5])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_forward_gives_outputs_and_zero_one_masks_where_they_are_rounded(covariance, k, replicas):
    forward = model_of(covariance, k, replicas=replicas)(rows(), seeded(), rounded=True)
    assert forward.output.shape == (replicas, 12, 3)
    assert forward.mask.shape == (replicas, 12, 5)
    assert set(forward.mask.detach().round(decimals=6).unique().tolist()) <= {0.0, 1.0}
    if k is not None:
        torch.testing.assert_close(forward.mask.sum(-1), torch.full((replicas, 12), float(k)))


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_relaxed_mask_is_not_rounded_and_has_the_rounded_ones_gradient(covariance, k):
    model = model_of(covariance, k)
    relaxed, rounded = (model(rows(), seeded(), rounded).mask for rounded in (False, True))
    assert relaxed.shape == rounded.shape
    assert ((relaxed > 0) & (relaxed < 1)).float().mean() > 0.9
    if covariance in ("block", "full"):  # drawn in the same order: one draw, rounded or not
        gradients = [torch.autograd.grad(mask.sum(), model.choice.first.weight)[0] for mask in (relaxed, rounded)]
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)
        assert k is not None or torch.equal(relaxed > 0.5, rounded > 0.5)


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_every_parameter_learns(covariance, k):
    """Also those of the copula: the noise is differentiable."""
    model = model_of(covariance, k)
    model(rows(200), seeded()).output.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize(
    ("covariance", "k", "entries"),
    [
        ("low-rank", None, 10 + 5),
        ("low-rank", 2, 10),
        ("full", None, 25),
        ("block", 2, 4 + 9),
        ("independent", None, 0),
    ],
)
def test_the_head_has_as_many_entries_as_the_covariance_needs(covariance, k, entries):
    head = model_of(covariance, k).choice.copula
    assert (0 if head is None else head.bias.shape[-1]) == entries


def test_rank_is_cut_to_the_number_of_features():
    model = SelectionModel(Architecture(n_features=3, n_outputs=2, n_factors=50, k=1))
    assert model.choice.copula.bias.shape[-1] == 9


@pytest.mark.parametrize("strength", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("covariance", ["low-rank", "full", "block"])
def test_a_rankers_correlation_is_norm_of_identity_plus_tau_l_lt(covariance, strength):
    model = model_of(covariance, k=2, correlation_strength=strength).double()
    choice = model.choice(rows(4).double())
    built = model.covariance(choice)
    loadings = torch.zeros(1, 4, 5, 5, dtype=torch.float64)
    if covariance == "block":
        pairs = [(i, j) for block in BLOCKS for i in block for j in block]
        for entry, (i, j) in enumerate(pairs):
            loadings[..., i, j] = choice.loadings[..., entry]
    else:
        loadings = choice.loadings.unflatten(-1, (5, -1) if covariance == "full" else (-1, 5))
        loadings = loadings if covariance == "full" else loadings.mT
    sigma = torch.eye(5, dtype=torch.float64) + strength * loadings @ loadings.mT
    deviation = sigma.diagonal(dim1=-2, dim2=-1).sqrt()
    expected = sigma / deviation.unsqueeze(-1) / deviation.unsqueeze(-2)
    torch.testing.assert_close(built.correlation(), expected)


def test_a_selectors_low_rank_covariance_is_l_lt_plus_sigma_squared():
    model = model_of("low-rank").double()
    choice = model.choice(rows(4).double())
    loadings, sigma = choice.loadings.unflatten(-1, (2, 5)).mT, choice.sigma.clamp_min(1e-3)
    torch.testing.assert_close(
        model.covariance(choice).dense(), loadings @ loadings.mT + torch.diag_embed(sigma.square())
    )


def test_decide_is_the_mask_without_noise():
    scores = torch.tensor([[[-1.0, 2.0, 0.5, -3.0, 0.0]]])
    assert model_of().decide(scores).tolist() == [[[False, True, True, False, False]]]
    assert model_of(k=1).decide(scores).tolist() == [[[False, True, False, False, False]]]


def test_output_reads_nothing_but_the_selected_features():
    model, x = model_of().eval(), rows()
    mask = torch.zeros(1, 12, 5)
    mask[..., 1] = 1
    changed = x.clone()
    changed[..., [0, 2, 3, 4]] += 50
    assert torch.equal(model.output(x, mask), model.output(changed, mask))


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_replica_is_a_model_of_its_own(covariance, k, global_seeds_untouched):
    stack, x = model_of(covariance, k, replicas=3).eval(), rows()
    together = stack.choice(x)
    for index in range(3):
        alone = stack.replica(index).eval()
        assert alone.architecture.replicas == 1
        torch.testing.assert_close(alone.scores(x)[0], together.scores[index])
        mask = torch.ones_like(x)
        torch.testing.assert_close(alone.output(x, mask)[0], stack.output(x, mask)[index])


def test_the_generators_fix_weights_and_draws(global_seeds_untouched):
    first, second = (model_of()(rows(), seeded(5)) for _ in range(2))
    assert torch.equal(first.mask, second.mask)
    assert torch.equal(first.output, second.output)


@pytest.mark.parametrize("k", [None, 2])
def test_a_full_draw_by_its_factors_is_the_draw_with_L_stored(k):
    model = model_of("full", k).double()
    x = rows(6).double()
    masks = [model.sample(model.choice(x, factored=factored), (1, 6), seeded(2)) for factored in (True, False)]
    torch.testing.assert_close(*masks)
    shared = [model.sample(model.choice(x, factored=factored), (1, 1), seeded(2)) for factored in (True, False)]
    torch.testing.assert_close(*shared)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_low_rank_draw_in_one_pass_is_the_draw_with_L_stored(activation):
    model = model_of("low-rank", loadings_activation=activation).double()
    x = rows(50).double()
    masks = [model.sample(model.choice(x, factored=factored), (1, 50), seeded(2)) for factored in (True, False)]
    torch.testing.assert_close(*masks)
    gradients = [torch.autograd.grad(mask.square().sum(), model.choice.parameters()) for mask in masks]
    for mine, written in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, written)
    covariances = [model.covariance(model.choice(x, factored=factored)).dense() for factored in (True, False)]
    torch.testing.assert_close(*covariances)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_rounded_factors_of_a_full_rank_l_change_little(device):
    """On a GPU 8 bits of L's factors are left; on a CPU they are as they were."""
    words = {"n_features": 40, "n_outputs": 2, "covariance": "full", "k": 4, "choice_hidden": 16}
    draws = []
    for precision in ("float32", "bfloat16"):
        model = SelectionModel(Architecture(**words, loadings_precision=precision), seeded()).to(device)
        x = torch.randn(1, 64, 40, generator=seeded(1)).to(device)
        choice = model.choice(x, factored=True)
        noise = torch.Generator(device=device).manual_seed(2)
        draws.append(model.covariance(choice).standard_draw((1, 64), noise))
    off = (draws[0] - draws[1]).abs().max()
    assert off < 0.05
    assert (off == 0) == (device == "cpu")
