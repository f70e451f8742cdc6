"""Eight fits side by side, as separate processes, against the same eight one after the other.

    python benchmarks/bench_many.py
    python benchmarks/bench_many.py --fits 8 --rows 2000

A fit uses as many threads as torch finds; side by side they get in each other's way. Target: at most 1.3 times.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

FIT = """
import sys
from sklar import CopulaSelectorClassifier
from sklar.datasets import make_synthetic
X, y, _ = make_synthetic("syn4", n_samples=int(sys.argv[1]), random_state=int(sys.argv[2]))
CopulaSelectorClassifier(random_state=0, max_epochs=int(sys.argv[3])).fit(X, y)
"""


def seconds(fits: int, rows: int, epochs: int, together: bool) -> float:
    """The time from the first start to the last end."""
    start, running = time.perf_counter(), []
    for number in range(fits):
        command = [sys.executable, "-W", "ignore", "-c", FIT, str(rows), str(number), str(epochs)]
        running.append(subprocess.Popen(command))
        if not together:
            running[-1].wait()
    failed = [process.returncode for process in running if process.wait()]
    if failed:
        raise RuntimeError(f"a fit ended with exit code {failed[0]}")
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=8)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--epochs", type=int, default=1_000)
    parser.add_argument("--quick", action="store_true", help="two tiny fits, to see that it runs")
    args = parser.parse_args()
    sizes = (2, 60, 1) if args.quick else (args.fits, args.rows, args.epochs)
    serial, together = (seconds(*sizes, together) for together in (False, True))
    print(f"{sizes[0]} fits: {serial:.1f} s one after the other, {together:.1f} s together: {together / serial:.2f}x")


if __name__ == "__main__":
    main()
