"""What a checkpoint costs: the share of a fit's time that goes into writing it.

    python benchmarks/bench_checkpoint.py             # minutes: fits long enough for several writes
    python benchmarks/bench_checkpoint.py --every 10  # a write every 10 s instead of every minute
    python benchmarks/bench_checkpoint.py --quick

A write is timed within the fit, from taking the state to the file being on disk. Target: under 1% of the time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from measure import line, table

import sklar
from sklar.training.engine import checkpoint as checkpoints
from sklar.training.engine.checkpoint import Checkpoint

# name -> estimator, rows, columns
CASES = {
    "honest selector": (sklar.CopulaSelectorClassifier(), 10_000, 100),
    "honest selector, wide": (sklar.CopulaSelectorClassifier(), 2_000, 4_000),
    "honest ranker, k = 5": (sklar.CopulaRankerClassifier(k=5), 10_000, 100),
    "joint selector, path of 8": (sklar.CopulaSelectorClassifier(objective="joint", max_epochs=60), 10_000, 100),
}


def measured(estimator: sklar.CopulaSelectorClassifier, X: np.ndarray, y: np.ndarray) -> tuple[float, float, list[int]]:
    """Seconds of the fit, seconds of its writes, and the bytes of each file written."""
    writes: list[int] = []
    opened: list[Checkpoint] = []
    keep, write = Checkpoint.keep, checkpoints._write

    def watched(self: Checkpoint, *given: object) -> None:
        opened[:] = [self]
        keep(self, *given)

    def counted(path: Path, tensors: dict) -> None:
        write(path, tensors)
        writes.append(path.stat().st_size)

    with tempfile.TemporaryDirectory() as folder, patch.object(Checkpoint, "keep", watched):
        with patch.object(checkpoints, "_write", counted), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            estimator.fit(X, y, checkpoint=Path(folder) / "run")
        return time.perf_counter() - start, opened[0].writing, writes


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=float, default=checkpoints.SECONDS, help="seconds between writes, at least")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    args = parser.parse_args(arguments)
    checkpoints.SECONDS = 0.05 if args.quick else args.every
    title = f"Checkpoints, at least {checkpoints.SECONDS:g} s between writes (target: under 1% of the time)"
    table(title, ("fit", "rows x columns", "fit, s", "files written", "largest, MB", "writes, s", "share of the time"))
    for name, (estimator, n, d) in CASES.items():
        n, d = (200, 12) if args.quick else (n, d)
        X = np.random.default_rng(0).standard_normal((n, d))
        y = (np.where(X[:, 10] < 0, X[:, 0] * X[:, 1], X[:, 2]) > 0).astype(int)
        params = {"random_state": 0, "device": "cpu", **({"max_epochs": 3} if args.quick else {})}
        took, writing, sizes = measured(estimator.set_params(**params), X, y)
        largest = f"{max(sizes, default=0) / 1e6:.1f}"
        line(
            name, f"{n:,} x {d:,}", f"{took:.0f}", len(sizes), largest, f"{writing:.3f}", f"{100 * writing / took:.2f}%"
        )


if __name__ == "__main__":
    main()
