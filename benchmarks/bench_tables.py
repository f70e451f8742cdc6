"""Line 6: whole tables at once. 18 data sets x 10 seeds x 8 penalties x 4 folds as one training for each width.

    python benchmarks/bench_tables.py --device cuda

The data sets are Syn1-6 at d = 11, at d = 100, and at d = 100 with correlation .5. Seeds and data sets of one setting
train side by side; the folds are replicas, and the selector learns all penalties of the path in one training. The rival
is the same, one data set at a time, timed on one and multiplied up. --share runs a share of the steps.
"""

from __future__ import annotations

import argparse
import dataclasses
import time

import numpy as np
import torch
from measure import line, table, wait

from sklar import CopulaSelectorClassifier
from sklar.datasets import SYNTHETIC_NAMES, make_synthetic
from sklar.training.engine.runtime import resolve_device
from sklar.training.honest.fit import fit_honest
from sklar.training.honest.settings import HonestSettings
from sklar.training.tasks import Task

SETTINGS = {"d=11": (11, 0.0), "d=100": (100, 0.0), "d=100 correlated": (100, 0.5)}
PENALTIES, FOLDS = 8, 4


def data_of(names: list[str], seeds: int, rows: int, d: int, correlation: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Data sets as problems: (P, n, d), (P, n)."""
    made = [make_synthetic(name, rows, d, correlation, random_state=seed) for name in names for seed in range(seeds)]
    return torch.from_numpy(np.stack([X for X, _, _ in made])).float(), torch.from_numpy(
        np.stack([y for _, y, _ in made])
    )


def fit_seconds(x: torch.Tensor, y: torch.Tensor, device: torch.device, share: float) -> float:
    """Of one stacked fit with a path of 8 penalties."""
    settings = HonestSettings.from_params(
        CopulaSelectorClassifier(n_folds=FOLDS).get_params(deep=False), x.shape[1], None
    )
    path = tuple(float(p) for p in np.geomspace(0.001, 0.008, PENALTIES))
    schedule = dataclasses.replace(settings.schedule.scaled(share), penalties=path)
    settings = dataclasses.replace(settings, schedule=schedule)
    x, y = x.to(device), y.to(device)
    wait(device)
    start = time.perf_counter()
    fit_honest(x, y, Task(2), settings, seed=0)
    wait(device)
    return (time.perf_counter() - start) / share


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--share", type=float, default=1.0, help="of the steps that are run; the rest is multiplied up")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    device = resolve_device(args.device)
    settings, names = SETTINGS, list(SYNTHETIC_NAMES)
    if args.quick:
        settings, names, args.seeds, args.rows, args.share = {"d=11": (11, 0.0)}, ["syn1", "syn4"], 1, 200, 0.05
    columns = ("setting", "problems", "models", "seconds", "models per second", "one at a time, s", "ratio", "target")
    scaled = f", {args.share:g} of the steps run" if args.share < 1 else ""
    table(f"6. Tables at once, {device.type}, {args.rows} rows{scaled}", columns)
    total = models = 0.0
    for setting, (d, correlation) in settings.items():
        x, y = data_of(names, args.seeds, args.rows, d, correlation)
        together = fit_seconds(x, y, device, args.share)
        alone = fit_seconds(x[:1], y[:1], device, args.share if args.quick else args.share / 4) * len(x)
        count = len(x) * PENALTIES * FOLDS
        total, models = total + together, models + count
        cells = (f"{together:.1f}", f"{count / together:.1f}", f"{alone:.0f}", f"{alone / together:.1f}x")
        line(setting, len(x), count, *cells, "-")
    line("all", "", int(models), f"{total:.1f}", f"{models / total:.1f}", "", "", "600 s on one H200")


if __name__ == "__main__":
    main()
