"""The fused kernels against plain torch at the same precision, both judged by float64.

Without a GPU they run in Triton's interpreter (`conftest` asks for it); with one, compiled. A kernel's error may be
at most twice plain torch's.
"""

import pytest
import torch

from sklar import kernels
from tests.helpers import seeded

pytest.importorskip("triton", reason='needs Triton: pip install "sklar[triton-test]"')

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = [torch.float32, torch.bfloat16]
# Of a few numbers no average can be taken: there, two units in the last place (the interpreter cuts where it should
# round to bfloat16).
LAST_PLACES = {torch.float32: 2 * 2**-23, torch.bfloat16: 2 * 2**-8}
FEW = 100


def draw(*shape, seed, dtype, learns=True):
    """Random numbers that the precision can hold, so that all three start from the same."""
    values = torch.randn(*shape, generator=seeded(seed)).to(dtype).double()
    return values.requires_grad_(learns)


def results(name, arguments, dtype, implementation):
    """Values and gradients of one implementation at one precision, as float64."""
    tensors = [
        argument.detach().to(DEVICE, dtype).requires_grad_(argument.requires_grad)
        if torch.is_tensor(argument)
        else argument
        for argument in arguments
    ]
    with kernels.using(implementation):
        outputs = getattr(kernels, name)(*tensors)
    assert kernels.which_ran(name) == implementation
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    push = [torch.randn(o.shape, generator=seeded(9)).to(o) for o in outputs]
    learning = [tensor for tensor in tensors if torch.is_tensor(tensor) and tensor.requires_grad]
    gradients = torch.autograd.grad(outputs, learning, push)
    return [value.detach().double().cpu() for value in (*outputs, *gradients)]


def assert_as_good_as_torch(name, arguments, dtype):
    exact = results(name, arguments, torch.float64, "reference")
    plain = results(name, arguments, dtype, "reference")
    fused = results(name, arguments, dtype, "triton")
    for index, (truth, torchs, ours) in enumerate(zip(exact, plain, fused, strict=True)):
        scale = truth.norm().clamp_min(1e-30)
        error, allowed = (ours - truth).norm() / scale, 2 * (torchs - truth).norm() / scale
        least = LAST_PLACES[dtype] if truth.numel() < FEW else 0.0
        assert error <= max(allowed.item(), least), (name, index, error.item(), allowed.item())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(("replicas", "n", "d", "r"), [(1, 1, 1, 1), (2, 70, 5, 17), (1, 3, 35, 2), (1, 600, 4, 16)])
def test_full_draw(replicas, n, d, r, activation, dtype):
    assert_as_good_as_torch("full_draw", full_draw_arguments(replicas, n, d, r, activation, dtype), dtype)


@pytest.mark.parametrize(("scale_of_h", "scale_of_w"), [(1e6, 1e-7), (1e-8, 1e3), (1.0, 1e-4)])
def test_full_draw_at_any_scale(scale_of_h, scale_of_w):
    """float32 is cut into float16's, whose range is small."""
    hidden, weight, bias, zeta, activation = full_draw_arguments(1, 30, 9, 12, "tanh", torch.float32)
    scaled = [
        (hidden * scale_of_h).float().double().detach().requires_grad_(),
        (weight * scale_of_w).float().double().detach().requires_grad_(),
        (bias * scale_of_h * scale_of_w).float().double().detach().requires_grad_(),
    ]
    assert_as_good_as_torch("full_draw", [*scaled, zeta, activation], torch.float32)


def test_full_draw_of_many_units():
    """In float32 more than 16 units have other tiles; of more than 128 the reference takes care."""
    assert_as_good_as_torch("full_draw", full_draw_arguments(1, 40, 6, 100, "tanh", torch.float32), torch.float32)
    for units, which in ((128, "triton"), (129, "reference")):
        *tensors, activation = full_draw_arguments(1, 2, 3, units, "relu", torch.float32)
        with kernels.using("triton"):
            kernels.full_draw(*(tensor.float().to(DEVICE) for tensor in tensors), activation)
        assert kernels.which_ran("full_draw") == which


def full_draw_arguments(replicas, n, d, r, activation, dtype):
    return [
        draw(replicas, n, r, seed=0, dtype=dtype),
        draw(replicas, r, d * d, seed=1, dtype=dtype),
        draw(replicas, 1, d * d, seed=2, dtype=dtype),
        draw(replicas, n, d, seed=3, dtype=dtype, learns=False),
        activation,
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("temperature", [0.3, 1.0])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(("shape", "p"), [((200, 1), 1), ((2, 11, 19), 5), ((60, 7), 8), ((3, 5), 33), ((130,), 2)])
def test_low_rank_mask(shape, p, activation, temperature, dtype):
    rows, d = shape[:-1], shape[-1]
    head = draw(*rows, p + 1, d, seed=1, dtype=dtype).detach()
    # away from the kinks of the activations, whose sides rounding chooses, and from sigmas so small that it shows
    head = torch.where(head < 0, -1, 1) * head.abs().clamp_min(0.125)
    head[..., p, :] = head[..., p, :].abs()
    arguments = [
        draw(*shape, seed=0, dtype=dtype),
        head.flatten(-2).requires_grad_(),
        draw(*rows, p, seed=3, dtype=dtype, learns=False),
        draw(*shape, seed=4, dtype=dtype, learns=False),
        temperature,
        activation,
    ]
    exact, fused = (
        results("low_rank_mask", arguments, kind, which)
        for kind, which in ((torch.float64, "reference"), (dtype, "triton"))
    )
    # A gate whose sum is 0 but for rounding may fall on either side; the others are the same gates.
    assert (exact[0] != fused[0]).double().mean() <= (0.0 if dtype is torch.float32 else 0.02)
    assert set(fused[0].unique().tolist()) <= {0.0, 1.0}
    assert_as_good_as_torch("low_rank_mask", arguments, dtype)


def test_low_rank_mask_at_the_floor_of_sigma():
    """A sigma at the floor has no gradient, nor a relu below 0; of a tanh below 0 the size counts."""
    raw = torch.tensor([-2.0, -0.5, -5e-4, 0.0, 5e-4, 2e-3, 0.5], dtype=torch.float64)
    loadings, zeros = torch.full_like(raw, 0.25), torch.zeros_like(raw)
    for activation in ("tanh", "relu"):
        head = torch.cat([loadings, raw]).requires_grad_()
        arguments = [zeros.clone().requires_grad_(), head, zeros[:1] + 0.5, zeros + 0.25, 1.0, activation]
        assert_as_good_as_torch("low_rank_mask", arguments, torch.float32)
        of_sigma = results("low_rank_mask", arguments, torch.float32, "triton")[2][7:]
        shut = [True, True, True, True, True, False, False] if activation == "tanh" else [False] * 2 + [True] * 3
        assert (of_sigma == 0).tolist()[: len(shut)] == shut


def test_independent_gates():
    arguments = [draw(7, 200, seed=0, dtype=torch.float32), None, None]
    arguments += [draw(7, 200, seed=1, dtype=torch.float32, learns=False), 0.5]
    assert_as_good_as_torch("low_rank_mask", arguments, torch.float32)


def test_logistic_noise_in_the_tails():
    """Gates whose noise is 0 to 13 deviations out: the fused noise is finite and as exact as torch's."""
    eps = torch.linspace(-13, 13, 1001, dtype=torch.float64)
    zeros = torch.zeros_like(eps)
    arguments = [zeros.clone().requires_grad_(), torch.cat([zeros, zeros + 1]), zeros[:1], eps, 20.0]
    assert_as_good_as_torch("low_rank_mask", arguments, torch.float32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n", "d", "k", "temperature"), [(1, 1, 1, 1.0), (5, 7, 7, 1.0), (6, 33, 3, 0.3), (2, 130, 2, 3.0)]
)
def test_relaxed_topk(n, d, k, temperature, dtype):
    keys = draw(n, d, seed=0, dtype=dtype)
    assert_as_good_as_torch("relaxed_topk", [keys, k, temperature, temperature**0.5], dtype)


def test_relaxed_topk_at_the_furthest_keys():
    """Keys of 1e7 beside keys of 0: finite, and the k largest."""
    keys = torch.tensor([[-7.5e7, 0.0, -1e-3, -7.5e7, -10.0]], device=DEVICE, requires_grad=True)
    with kernels.using("triton"):
        relaxed = kernels.relaxed_topk(keys, 3, 1e-2, 1.0)
    relaxed.square().sum().backward()
    assert torch.isfinite(keys.grad).all()
    torch.testing.assert_close(relaxed.sum().item(), 3.0, rtol=1e-4, atol=0)


def test_the_whole_forward_of_joint_training_takes_the_fused_branch():
    from sklar.model.selection import Architecture, SelectionModel

    ran = {}
    for covariance, k, name in (
        ("full", None, "full_draw"),
        ("low-rank", None, "low_rank_mask"),
        ("full", 2, "relaxed_topk"),
    ):
        words = {"n_features": 5, "n_outputs": 2, "choice_hidden": 4, "predict_hidden": 4, "n_factors": 2}
        model = SelectionModel(Architecture(covariance=covariance, k=k, **words), seeded()).to(DEVICE)
        x = torch.randn(1, 9, 5, generator=seeded()).to(DEVICE)
        gradients = []
        for implementation in ("reference", "triton"):
            with kernels.using(implementation):
                forward = model(x, torch.Generator(DEVICE).manual_seed(0))
            ran[name, implementation] = kernels.which_ran(name)
            model.zero_grad()
            forward.output.square().sum().backward()
            gradients.append(model.choice.copula.weight.grad.clone())
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)
    assert all(which == implementation for (_, implementation), which in ran.items())
