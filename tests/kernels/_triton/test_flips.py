"""The fused flips against plain torch at the same precision, both judged by float64; see `test_triton`."""

import pytest
import torch

from sklar import kernels
from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.honest import copula_flips, draws
from sklar.training.honest.draws import Trial
from sklar.training.tasks import Task
from tests.helpers import seeded

pytest.importorskip("triton", reason='needs Triton: pip install "sklar[triton-test]"')

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def trial(replicas, n, d, hidden, outputs, strength=0.7):
    judge = MaskedPredictor(d, hidden, outputs, replicas, seeded()).requires_grad_(False)
    x = torch.randn(replicas, n, d, generator=seeded(1))
    y = torch.randint(outputs, (replicas, n), generator=seeded(2))
    scores = torch.randn(replicas, n, d, generator=seeded(3))
    noise = draws.correlated_noise(strength * torch.randn(replicas, d, 3, generator=seeded(5)), n, seeded(4))
    draw = draws.draw_gates(scores, noise)
    return moved_to(Trial(judge, Task(outputs).row_loss, x, y, draw), DEVICE)


def moved_to(asked, kind):
    """The same on a device, or at a precision."""
    latents = draws.Latents(*(t.to(kind) for t in asked.draw.latents))
    y = asked.y.to(kind) if isinstance(kind, str) else asked.y
    return Trial(asked.judge.to(kind), asked.loss, asked.x.to(kind), y, draws.Draw(asked.draw.mask.to(kind), latents))


def features(asked, count):
    return draws.random_features(torch.ones(asked.draw.mask.shape, dtype=torch.bool), count, seeded(6)).to(DEVICE)


@pytest.mark.parametrize(
    ("replicas", "n", "d", "hidden", "outputs", "count"),
    [(1, 1, 2, 1, 2, 2), (2, 37, 5, 8, 3, 4), (3, 9, 35, 64, 2, 8), (1, 20, 70, 50, 20, 3)],
)
def test_fused_flips(replicas, n, d, hidden, outputs, count):
    asked = trial(replicas, n, d, hidden, outputs)
    index = features(asked, count)
    with kernels.using("triton"):
        fused = copula_flips.copula_flips(asked, asked.draw.latents, index)
    assert kernels.which_ran("copula_flips") == "triton"
    plain = copula_flips.by_masks(asked, asked.draw.latents, index)
    exact = moved_to(asked, torch.float64)
    exact = copula_flips.by_masks(exact, exact.draw.latents, index)
    for truth, torchs, ours in zip(*((flips.gain, flips.mixed) for flips in (exact, plain, fused)), strict=True):
        scale = truth.norm().clamp_min(1e-3)
        # of a few numbers no average can be taken: there, some units in the last place of losses of order 1
        least = 4e-7 * truth.numel() ** 0.5 / scale
        assert (ours - truth).norm() / scale <= torch.maximum(2 * (torchs - truth).norm() / scale, least)


@pytest.mark.parametrize("case", ["float64", "several inputs a gate", "wide"])
def test_what_the_kernel_does_not_cover_takes_another_way(case):
    asked = trial(1, 5, 4, 200 if case == "wide" else 8, 2)
    if case == "float64":
        asked = moved_to(asked, torch.float64)
    if case == "several inputs a gate":
        judge = MaskedPredictor(4, 8, 2, 1, seeded(), torch.tensor([0, 1, 1, 2, 3])).to(DEVICE).requires_grad_(False)
        asked = Trial(judge, asked.loss, torch.cat([asked.x, asked.x[..., :1]], -1), asked.y, asked.draw)
    index = features(asked, 3)
    with kernels.using("triton"):
        copula_flips.copula_flips(asked, asked.draw.latents, index)
    assert kernels.which_ran("copula_flips") == "reference"


def test_a_step_of_training_takes_the_fused_branch():
    from sklar.training.honest.folds import deal
    from sklar.training.honest.scoring import PenaltyRange
    from sklar.training.honest.selector import train_selector
    from sklar.training.honest.settings import PredictorSettings, SelectorSettings
    from tests.training.small import parts_of

    device = torch.device(DEVICE)
    losses = []
    for implementation in ("reference", "triton"):
        generator = torch.Generator(device).manual_seed(0)
        x = torch.randn(1, 60, 9, generator=seeded()).to(device)
        folds = deal(x, (x[..., 0] > 0).long(), 2, 0.2, generator)
        selector, predictors = parts_of(folds, SelectorSettings(hidden=8), PredictorSettings(), generator)
        with kernels.using(implementation):
            price = torch.full((1,), -4.0, device=device)
            trained = train_selector(selector, predictors, PenaltyRange(price, price), 2, folds.n_train)
        assert kernels.which_ran("copula_flips") == implementation
        losses.append([trained.correlation.loadings.detach(), trained.network.scores.weight.detach()])
    torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-5)
