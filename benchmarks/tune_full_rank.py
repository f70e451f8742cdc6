"""Which tiles are the quickest for the kernels of the full-rank draw, on this GPU.

    python benchmarks/tune_full_rank.py

Shapes are those of line 2. Tiles are compiled side by side in processes of their own, then timed one after the other.
The best are for `FORWARD` and `BACKWARD` in `sklar/kernels/_triton/full_rank.py`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress

import torch
from bench_full_rank import parameters
from measure import quickest, replayed

SHAPE = 1000, 784, 16
TILES = {  # rows, columns, warps
    "FORWARD": [(64, 64, 4), (128, 32, 4), (64, 32, 2), (32, 64, 2)],
    "BACKWARD": [(32, 64, 2), (64, 64, 4), (64, 32, 2)],
}
MORE: dict[str, list[dict[str, int]]] = {
    "FORWARD": [{"num_stages": stages, "BI": rows} for stages in (1, 2, 3) for rows in (8, 16)],
    "BACKWARD": [{"AHEAD": ahead, "programs": programs} for ahead in (2, 3) for programs in (264, 396, 528, 660)],
}
MOST_REGISTERS = {"float32": 168, "bfloat16": 128}


def candidates() -> list[tuple[str, str, dict[str, int]]]:
    """Kernel, precision, tile."""
    return [
        (kernel, dtype, {"BN": n, "BJ": j, "num_warps": warps, **more, **most})
        for dtype, registers in MOST_REGISTERS.items()
        for kernel, tiles in TILES.items()
        for n, j, warps in tiles
        for more in MORE[kernel]
        for most in ({}, {"maxnreg": registers})
    ]


def timed(kernel: str, dtype: torch.dtype, blocks: dict[str, int], repeats: int) -> float:
    """Milliseconds of forward and backward with these tiles for one of the kernels, the others as they are."""
    from sklar.kernels._triton import full_rank

    before = getattr(full_rank, kernel)
    tensors = parameters(*SHAPE, torch.device("cuda"), dtype)
    push = torch.randn_like(tensors[3])

    def work() -> None:
        torch.autograd.grad(full_rank.full_draw(*tensors, "tanh"), tensors[:3], (push, push))

    try:
        setattr(full_rank, kernel, blocks)
        if not repeats:  # to compile
            work()
            return 0.0
        return 1e3 * quickest([replayed(work)], "cuda", repeats)[0]
    finally:
        setattr(full_rank, kernel, before)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=14, help="that compile")
    parser.add_argument("--compile", type=int, help="every so-manieth candidate from this one on, then stop")
    args = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        parser.error("needs a GPU")
    if args.compile is not None:
        for kernel, dtype, blocks in candidates()[args.compile :: args.processes]:
            with suppress(Exception):  # what cannot be compiled fails again when it is timed
                timed(kernel, getattr(torch, dtype), blocks, 0)
        return
    command = [sys.executable, __file__, "--processes", str(args.processes), "--compile"]
    for process in [subprocess.Popen([*command, str(index)]) for index in range(args.processes)]:
        process.wait()
    times: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for kernel, dtype, blocks in candidates():
        try:
            times[dtype, kernel].append((timed(kernel, getattr(torch, dtype), blocks, 5), str(blocks)))
        except Exception as error:
            print(dtype, kernel, blocks, type(error).__name__)
    for (dtype, kernel), tried in times.items():
        for milliseconds, blocks in sorted(tried)[:4]:
            print(f"{dtype} {kernel} {milliseconds:.3f} ms {blocks}", flush=True)


if __name__ == "__main__":
    main()
