"""CPU time of a default fit against INVASE's 10,000 iterations at its published settings, in one run.

    python benchmarks/bench_fit.py

INVASE's iterations are all alike, so it is timed on a share of them and the rest is multiplied up (--share 1 runs all).
Both run on one thread: threads that wait for each other burn CPU time on both sides.
"""

from __future__ import annotations

import argparse
import resource
import time

import torch

from sklar import CopulaSelectorClassifier
from sklar.baselines import REGISTRY
from sklar.datasets import make_synthetic

INVASE_ITERATIONS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.05, help="of INVASE's iterations that are run")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--widths", type=int, nargs="+", default=[11, 100])
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.share, args.rows, args.widths = 0.0005, 200, [11]
    torch.set_num_threads(1)
    print(f"{'features':>8} {'ours, CPU s':>12} {'INVASE, CPU s':>14} {'ratio':>6}")
    for width in args.widths:
        X, y, _ = make_synthetic("syn4", args.rows, width, random_state=0)
        ours = cpu_seconds(lambda X=X, y=y: CopulaSelectorClassifier(device="cpu", random_state=0).fit(X, y))
        iterations = max(2, round(args.share * INVASE_ITERATIONS))
        invase = REGISTRY["invase"](iterations=iterations, device="cpu", random_state=0)
        theirs = cpu_seconds(lambda X=X, y=y, invase=invase: invase.fit(X, y)) * INVASE_ITERATIONS / iterations
        print(f"{width:8d} {ours:12.1f} {theirs:14.1f} {ours / theirs:6.2f}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of the process: {peak:.2f} GiB")


def cpu_seconds(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
