"""Line 2: the full-rank draw with its gradient, L never stored, against eager torch that stores L.

    python benchmarks/bench_full_rank.py
    python benchmarks/bench_full_rank.py --bfloat16-factors    # ours alone; training does not use it

Both compute q = L zeta and the squared lengths of L's rows, L = tanh(h W + b), and run backward to h, W and b. The
count: four products of n d^2 r (one forward, three backward), 2 n d^2 tanh, and the bytes of h, W, b, zeta and
their gradients once; the floor is the largest of the times these take.
"""

from __future__ import annotations

import argparse

import torch
from measure import extra_memory, in_child, line, quickest, replayed, seconds, table
from torch import Tensor

from sklar import kernels
from sklar.training.engine.runtime import resolve_device


def stored(hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor) -> tuple[Tensor, Tensor]:
    """The rival: L as eager torch makes it."""
    loadings = torch.tanh(torch.baddbmm(bias, hidden, weight)).unflatten(-1, (zeta.shape[-1], -1))
    return (loadings @ zeta.unsqueeze(-1)).squeeze(-1), loadings.square().sum(-1)


def fused(hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor) -> tuple[Tensor, Tensor]:
    """Exactly: float32 throughout, or bfloat16."""
    return kernels.full_draw(hidden, weight, bias, zeta, "tanh")


def rounded(hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor) -> tuple[Tensor, Tensor]:
    """L from bfloat16 factors, summed in float32; the casts count. Not the rival's precision, nor training's."""
    return fused(hidden.bfloat16(), weight.bfloat16(), bias.bfloat16(), zeta)


def parameters(n: int, d: int, r: int, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator(device).manual_seed(0)
    shapes = ((1, n, r), (1, r, d * d), (1, 1, d * d), (1, n, d))
    tensors = [torch.randn(s, generator=generator, device=device).mul_(0.5).to(dtype) for s in shapes]
    return [tensor.requires_grad_(index < 3) for index, tensor in enumerate(tensors)]


def step(draw, tensors: list[Tensor]):
    push = torch.randn_like(tensors[3])

    def work() -> None:
        for tensor in tensors:
            tensor.grad = None
        torch.autograd.backward(draw(*tensors), (push, push))

    return work


# Special functions (an exponential, a reciprocal) that a multiprocessor of a Hopper GPU starts a clock, and its clock.
SPECIAL_A_CLOCK, CLOCK = 16, 1.98e9


def floor(n: int, d: int, r: int, device: torch.device, dtype: torch.dtype) -> tuple[float, str]:
    """Seconds that operations and bytes allow, and which binds; rates are measured now, but for a GPU's tanh."""
    side = 8192 if device.type == "cuda" else 1024
    a = torch.randn(side, side, device=device, dtype=dtype)
    product = 2 * side**3 / seconds(lambda: a @ a, device)
    b = a.repeat(8, 1)
    copy = 2 * b.numel() * b.element_size() / seconds(lambda: b.clone(), device)
    if device.type == "cuda":  # alone, a tanh waits for memory: two special functions, or one that is approximate
        each = 2 if dtype == torch.float32 else 1
        tanh = torch.cuda.get_device_properties(device).multi_processor_count * SPECIAL_A_CLOCK * CLOCK / each
    else:
        small = torch.randn(2**16)
        tanh = 20 * small.numel() / seconds(lambda: [torch.tanh(small) for _ in range(20)])
    size = torch.finfo(dtype).bits // 8
    times = {
        f"{8 * n * d * d * r / 1e9:.0f} GFLOP at {product / 1e12:.2f} TFLOP/s": 8 * n * d * d * r / product,
        f"{2 * n * d * d / 1e9:.2f} G tanh at {tanh / 1e9:.1f} G/s": 2 * n * d * d / tanh,
        f"bytes at {copy / 1e9:.0f} GB/s": size * (3 * (r + 1) * d * d + 4 * n * (d + r)) / copy,
    }
    which = max(times, key=times.__getitem__)
    return times[which], which


MEMORY = """
import sys, torch
sys.path.insert(0, sys.argv[1])
from bench_full_rank import fused, parameters, step, stored
which, n, d, r = sys.argv[2], *map(int, sys.argv[3:6])
work = step({"fused": fused, "stored": stored}[which], parameters(n, d, r, torch.device("cpu"), torch.float32))
before = peak()
work()
print(peak() - before)
"""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--shape", type=int, nargs=3, metavar=("BATCH", "D", "H"), help="1000 784 16, on a CPU 100 784 16"
    )
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--bfloat16-factors", action="store_true", help="ours from factors rounded to bfloat16")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    device = resolve_device(args.device)
    on_gpu = device.type == "cuda"
    n, d, r = args.shape or ((1000, 784, 16) if on_gpu else (100, 784, 16))
    if args.quick:
        n, d, r = 10, 30, 4
    tensors = parameters(n, d, r, device, getattr(torch, args.dtype))
    ours, theirs = (step(draw, tensors) for draw in (rounded if args.bfloat16_factors else fused, stored))
    timed = [replayed(work) for work in (ours, theirs)] if on_gpu else [ours, theirs]  # as training does
    fast, slow = quickest(timed, device, 10 if on_gpu else 3, warm=2)
    ran = kernels.which_ran("full_draw")
    if on_gpu:
        small, large = (extra_memory(work, device) / 2**30 for work in (ours, theirs))
    else:
        from pathlib import Path

        small, large = (in_child(MEMORY, Path(__file__).parent, w, n, d, r)[0] for w in ("fused", "stored"))
    kind = "bfloat16 factors, float32 sums" if args.bfloat16_factors else args.dtype
    least, which = floor(n, d, r, device, torch.bfloat16 if args.bfloat16_factors else getattr(torch, args.dtype))
    columns = ("", "L never stored", "L stored", "ratio", "target")
    table(f"2. Full-rank draw and gradient, {device.type}, batch {n}, d = {d}, h = {r}, {kind}, {ran}", columns)
    line(
        "time", f"{1e3 * fast:.2f} ms", f"{1e3 * slow:.2f} ms", f"{slow / fast:.1f}x", "at least 8x" if on_gpu else "-"
    )
    memory = f"{large / max(small, 1e-9):.0f}x"
    line("extra memory", f"{small:.3f} GiB", f"{large:.3f} GiB", memory, "at least 20x" if on_gpu else "-")
    line(
        "time to the floor",
        f"{1e3 * fast:.2f} ms",
        f"{1e3 * least:.2f} ms ({which})",
        f"{fast / least:.1f}x",
        "at most 3x",
    )


if __name__ == "__main__":
    main()
