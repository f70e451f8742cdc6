"""What trying a few swaps in full is worth where features are hundreds: rankers of MNIST with small networks.

    SKLAR_DATA=... python benchmarks/near_the_edge.py            # three ways, 10 and 40 pixels: 15 minutes on one core
    python benchmarks/near_the_edge.py --table                   # Markdown, from the rows

Of eight swaps a row, `all` picks from all pixels, `near` from those near the edge of a draw (the default), `none` has
the slopes alone. 12,000 training rows; the accuracy of the ranker's own predictor is that of 5,000 other training rows.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from unittest.mock import patch

import torch
from torch import Tensor

from sklar.paper.data import load_images
from sklar.paper.experiments.environment import commit
from sklar.paper.experiments.honest_stack import fit_honest_stack
from sklar.training.honest import swaps
from sklar.training.honest.draws import Edge, Trial

ROWS, JUDGED = 12_000, 5_000
DIFFERENCES = swaps.differences


def slopes_alone(trial: Trial, edge: Edge, free: Tensor, *_: object) -> Tensor:
    """What the slopes say showing each gate changes."""
    return swaps.differences_by_slope(trial, edge) * free


WAYS = {"all": (10**6, DIFFERENCES), "near": (swaps.NEAR, DIFFERENCES), "none": (swaps.NEAR, slopes_alone)}
SETTINGS = {
    **{"covariance": "independent", "choice_hidden": 128, "predict_hidden": 128, "n_folds": 2, "batch_size": 500},
    **{"scaling": "global", "selector_sparsity": 1.0, "max_excess": None},
    **{"settings.sparsity": 0.0, "predictor.sparsity": 0.0, "schedule.most_width": 784},
    **{"schedule.warm_steps": 500, "schedule.settle_steps": 100, "schedule.trial_steps": 400},
    **{"schedule.path_steps": 400, "schedule.final_steps": 800},
}


def measure(way: str, k: int, seed: int) -> dict[str, object]:
    """One fit, judged on rows that it did not see."""
    X, y = load_images("mnist", "train")
    near, differences = WAYS[way]
    start = time.perf_counter()
    with patch.object(swaps, "NEAR", near), patch.object(swaps, "differences", differences):
        stack = fit_honest_stack([(X[:ROWS], y[:ROWS])], SETTINGS, torch.device("cpu"), seed, k)
    unseen = slice(ROWS, ROWS + JUDGED)
    answers = stack.answers(0, X[unseen], y[unseen])
    row = {"way": way, "k": k, "seed": seed, "accuracy": round(answers.accuracy, 2), "commit": commit()}
    return {**row, "seconds": round(time.perf_counter() - start)}


def table(rows: list[dict]) -> str:
    """The rows as Markdown."""
    ks = sorted({row["k"] for row in rows})
    lines = ["| tried in full | " + " | ".join(f"k = {k}" for k in ks) + " |", "|---|" + "---|" * len(ks)]
    for way in WAYS:
        of_way = [[row["accuracy"] for row in rows if (row["way"], row["k"]) == (way, k)] for k in ks]
        if all(of_way):
            lines.append(f"| {way} | " + " | ".join(f"{sum(found) / len(found):.1f}" for found in of_way) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--k", type=int, nargs="+", default=[10, 40])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/near-the-edge.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the rows, and measure nothing")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    if args.table:
        print(table(rows))
        return
    torch.set_num_threads(1)
    done = {(row["way"], row["k"], row["seed"]) for row in rows}
    for cell in ((way, k, seed) for seed in range(args.seeds) for k in args.k for way in args.ways):
        if cell not in done:
            row = measure(*cell)
            print(row, flush=True)
            with args.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
