"""The fused kernels against plain torch at the same precision, both judged by float64.

Without a GPU they run in Triton's interpreter (`conftest` asks for it); with one, compiled. A kernel's error may be
at most twice plain torch's.
"""

import torch

from sklar import kernels
from tests.helpers import seeded

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
