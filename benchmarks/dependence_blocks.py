"""The appendix's block covariance: quality and time against low-rank, full and independent gates.

    python benchmarks/dependence_blocks.py --seeds 3 --jobs 16              # 200 and 2,000 features
    python benchmarks/dependence_blocks.py --features 200 --objectives honest

Features come in blocks of ten: one of each block is drawn, the others are copies of it at correlation .8. The log-odds
are 3 x1 where x2, the first of the second block, is below 0, else 3 x3, the first of the third. TPR and FDR are by
blocks: a block is found where any of its features is selected, and what else is selected in it is counted as wasted.
The paper gives every row its own L ("joint"): d^2 entries a row with "full", the sum of squared block sizes with
"block", 8 d with "low-rank". With "honest" all rows share L, and up to 128 features remain after screening. Rows that
are in --out are not measured again; times of fits side by side are of one thread each on a busy machine.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
from rows import collect, known, missing
from scipy.special import expit

from sklar import CopulaSelectorClassifier
from sklar.metrics import false_discovery_rate, true_positive_rate

SIZE = 10  # features of a block
CORRELATION = 0.8
COVARIANCES = ("low-rank", "block", "full", "independent")
KEY = ("objective", "covariance", "features", "seed", "n")
# Of joint training, whose penalty is not chosen: one that selects on 200 features.
JOINT = {"penalty": 0.05, "max_epochs": 50, "mask": "rounded"}


def blocks(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (n, d), labels (n,), and the blocks that each row needs, bool (n, d / SIZE)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    first = X[:, ::SIZE]
    copies = CORRELATION * np.repeat(first, SIZE, axis=1) + (1 - CORRELATION**2) ** 0.5 * X
    copies[:, ::SIZE] = first
    low = first[:, 1] < 0
    y = (rng.random(n) < expit(3 * np.where(low, first[:, 0], first[:, 2]))).astype(int)
    needed = np.zeros((n, d // SIZE), dtype=bool)
    needed[:, 1], needed[low, 0], needed[~low, 2] = True, True, True
    return copies, y, needed


def measure(objective: str, covariance: str, d: int, seed: int, n: int, device: str, quick: bool) -> list[dict]:
    X, y, _ = blocks(n, d, 2 * seed)
    words = (JOINT if objective == "joint" else {}) | ({"max_epochs": 2} if quick else {})
    model = CopulaSelectorClassifier(
        objective=objective, covariance=covariance, random_state=seed, device=device, **words
    )
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    X, y, needed = blocks(n, d, 2 * seed + 1)
    selected = np.asarray(model.select(X)).reshape(len(X), -1, SIZE).sum(axis=2)
    row = {
        "tpr": true_positive_rate(needed, selected > 0),
        "fdr": false_discovery_rate(needed, selected > 0),
        "wasted": float(np.maximum(selected - 1, 0).sum(axis=1).mean()),
        "accuracy": float(100 * model.score(X, y)),
        "seconds": seconds,
    }
    return [dict(zip(KEY, (objective, covariance, d, seed, n), strict=True)) | row]


def table(rows: list[dict]) -> str:
    """Markdown: means over seeds."""
    lines = ["| training | features | covariance | TPR | FDR | wasted per row | accuracy | fit, s | to low-rank |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for objective, d in sorted({(row["objective"], row["features"]) for row in rows}):
        mine = [row for row in rows if (row["objective"], row["features"]) == (objective, d)]
        usual = np.mean([row["seconds"] for row in mine if row["covariance"] == COVARIANCES[0]] or [np.nan])
        for covariance in (one for one in COVARIANCES if any(row["covariance"] == one for row in mine)):
            of = [row for row in mine if row["covariance"] == covariance]
            mean = {key: np.mean([row[key] for row in of]) for key in ("tpr", "fdr", "wasted", "accuracy", "seconds")}
            lines.append(
                f"| {objective} | {d} | {covariance} | {mean['tpr']:.1f} | {mean['fdr']:.1f} | {mean['wasted']:.2f} | "
                f"{mean['accuracy']:.1f} | {mean['seconds']:.0f} | {mean['seconds'] / usual:.2f}x |"
            )
    return "\n".join(lines)


def main() -> None:
    args = parse()
    rows = known(args.out)
    asked = itertools.product(
        args.objectives, args.covariances, args.features, range(args.seeds), [args.rows], [args.device], [args.quick]
    )
    rows += collect(measure, missing(asked, rows, KEY), args.out, args.jobs)
    print(table([row for row in rows if row["n"] == args.rows]))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a thread each")
    parser.add_argument("--features", type=int, nargs="+", default=[200, 2_000])
    parser.add_argument("--objectives", nargs="+", default=["honest", "joint"], choices=["honest", "joint"])
    parser.add_argument("--covariances", nargs="+", default=list(COVARIANCES), choices=COVARIANCES)
    parser.add_argument("--out", type=Path, default=Path("results/dependence-blocks.jsonl"))
    parser.add_argument("--quick", action="store_true", help="a tiny table and few steps, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.seeds, args.rows, args.features = 1, 200, [40]
    return args


if __name__ == "__main__":
    main()
