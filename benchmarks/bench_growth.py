"""Line 4: how a default fit's time a step and peak memory grow with the number of features, at fixed rows.

    python benchmarks/bench_growth.py
    python benchmarks/bench_growth.py --finish    # and a whole fit of 100,000 features x 2,000 rows

Each width runs in a process of its own. A step is the CPU time of a whole fit (reading, screening, training) over its
steps. The rival of a width is the smallest.
"""

from __future__ import annotations

import argparse
import math

from measure import in_child, line, table

CODE = """
import sys, time
import numpy as np, torch
from sklar import CopulaSelectorClassifier
from sklar.training.honest.settings import Schedule
d, n, share = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(0)
X = np.empty((n, d), dtype=np.float32)
for first in range(0, d, 1000):
    X[:, first : first + 1000] = rng.standard_normal((n, min(1000, d - first)), dtype=np.float32)
y = (X[:, 0] + X[:, 1] * X[:, 2] + X[:, d - 1] > 0).astype(int)
def fit(epochs, X=X):
    start = time.process_time()
    model = CopulaSelectorClassifier(device="cpu", random_state=0, max_epochs=epochs).fit(X, y)
    return time.process_time() - start, model
fit(1, X[:, :20])  # what is loaded once
epochs = None if share == "whole" else int(share)
start = time.perf_counter()
seconds, model = fit(epochs)
wall = time.perf_counter() - start
steps = Schedule().for_rows(n, 1000, epochs).total
print(seconds, seconds / steps, peak(), wall, len(model.union_), *(float(j in model.union_) for j in (0, 1, 2, d - 1)))
"""


def slope(a: tuple[int, float], b: tuple[int, float]) -> float:
    """Of a straight line through two points, both axes logarithmic."""
    return math.log(b[1] / a[1]) / math.log(b[0] / a[0])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", type=int, nargs="+", default=[1000, 4000, 16_000, 64_000])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=30, help="of each fit")
    parser.add_argument("--finish", action="store_true", help="a whole fit of 100,000 features too")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    if args.quick:
        args.widths, args.rows, args.epochs = [20, 40], 100, 2
    columns = ("d", "fit, CPU s", "a step, CPU ms", "peak, GiB", "slope of a step", "slope of memory", "target")
    table(f"4. Growth with the width, cpu, {args.rows} rows, default fits of {args.epochs} epochs", columns)
    points: list[tuple[int, float, float]] = []
    for d in args.widths:
        seconds, step, peak, *_ = in_child(CODE, d, args.rows, args.epochs)
        points.append((d, step, peak))
        slopes = (
            [f"{slope((points[0][0], points[0][i]), (d, points[-1][i])):.2f}" for i in (1, 2)]
            if len(points) > 1
            else ["-", "-"]
        )
        line(d, f"{seconds:.1f}", f"{1e3 * step:.1f}", f"{peak:.2f}", *slopes, "at most 1.05")
    if args.finish:
        seconds, _, peak, wall, width, *found = in_child(CODE, 100_000, 2000, "whole")
        columns = ("CPU s", "wall s", "peak, GiB", "target", "union", "kept")
        table("100,000 features x 2,000 rows, a whole default fit", columns)
        names = ("x1", "x2 (acts with x3)", "x3 (acts with x2)", "the last")
        kept = ", ".join(name for name, there in zip(names, found, strict=True) if there)
        line(f"{seconds:.0f}", f"{wall:.0f}", f"{peak:.2f}", "at most 16 GiB", int(width), kept)


if __name__ == "__main__":
    main()
