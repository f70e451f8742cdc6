"""Training by 1, 2 and 4 processes together: seconds of a fit, and the messages between them.

    python benchmarks/bench_team.py                          # batches of 1,000 rows, the default
    python benchmarks/bench_team.py --batch 8000 --epochs 20 # larger batches: more to share between messages
    python benchmarks/bench_team.py --rows 5000 50000 500000 --workers 1 --epochs 2  # rows x 1, 10, 100

Each process has one thread and its rows of every batch (gloo on this machine). The rival of several is one of them.
Seconds of the clock need as many idle cores as there are processes; CPU seconds are of the first process alone, and say
what the clock would with cores for all, but for the time that messages travel. An update is of the predictors or of
the selector; a step of the selector is one of each. `on paper` is what such a step sums by the formula of
docs/guides/scale.md: four bytes for each weight.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from typing import Any

import torch
from measure import line, table

COLUMNS = ("rows", "workers", "fit, s", "to one", "CPU s", "to one", "waited, s", "updates", "CPU ms each")
MESSAGES = ("kB a step", "on paper", "MB in all")


class Meter:
    """What a team's messages take, by wrapping its sums."""

    def __init__(self, team: Any) -> None:
        self.waited, self.bytes, self.updates = 0.0, 0, []
        self.sum, self.gradients = team.sum, team.sum_gradients
        team.sum, team.sum_gradients = self.timed, self.counted

    def timed(self, values: torch.Tensor) -> torch.Tensor:
        start = time.perf_counter()
        found = self.sum(values)
        self.waited += time.perf_counter() - start
        self.bytes += values.numel() * values.element_size()
        return found

    def counted(self, parameters: Any) -> None:
        before = self.bytes
        self.gradients(parameters)
        self.updates.append(self.bytes - before)  # bytes of each

    @property
    def of_step(self) -> int:
        """Bytes of a step of the selector, which ends every fit: an update of the predictors and one of itself."""
        return sum(set(self.updates[-10:]))


def on_paper(u: int, folds: int = 4, h: int = 64, classes: int = 2, c: int = 100) -> int:
    """Bytes of a step of the selector with u features: predictors of values and mask, and a selector told its price."""
    predictors = folds * (2 * u * h + h + h * h + h + h * classes + classes)
    selector = (u + 1) * c + c + c * c + c + c * u + u
    return 4 * (predictors + selector)


def process(rank: int, size: int, port: int, given: dict[str, Any], results: Any) -> None:
    """One process of a team: it fits, and the first says what that took."""
    from sklar import CopulaSelectorClassifier
    from sklar.datasets import make_synthetic
    from sklar.training.engine.meeting import meet

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    X, y, _ = make_synthetic("syn4", given["rows"], n_features=given["features"], random_state=0)
    words = {"max_epochs": given["epochs"], "batch_size": given["batch"], "random_state": 0, "device": "cpu"}
    team = meet("127.0.0.1", port, rank, size, torch.device("cpu"))
    team.sum(torch.ones(1))  # all are there
    meter, start, cpu = Meter(team), time.perf_counter(), time.process_time()
    with team.as_current():
        model = CopulaSelectorClassifier(**words).fit(X, y)
    if rank == 0:
        took = time.perf_counter() - start, time.process_time() - cpu
        width = model.fitted_.network.architecture.n_features
        results.put((*took, meter.waited, len(meter.updates), meter.of_step, on_paper(width), meter.bytes))


def fit_by(size: int, given: dict[str, Any]) -> tuple[float, ...]:
    """Seconds, CPU seconds, seconds waited, updates, and bytes: of a step, of one on paper, of everything."""
    from sklar.training.engine.meeting import free_port

    context = multiprocessing.get_context("spawn")
    results, port = context.Queue(), free_port("127.0.0.1")
    team = [context.Process(target=process, args=(rank, size, port, given, results)) for rank in range(size)]
    for one in team:
        one.start()
    for one in team:
        one.join()
    return results.get(timeout=10)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000])
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=10, help="of the fit")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    if args.quick:
        args.rows, args.features, args.epochs, args.workers = [600], 12, 1, [1, 2]
    table(f"Training together: {args.features} features, batches of {args.batch:,}", (*COLUMNS, *MESSAGES))
    for rows in args.rows:
        given, first = {"rows": rows, **{key: getattr(args, key) for key in ("features", "batch", "epochs")}}, None
        for size in args.workers:
            clock, cpu, waited, updates, step, paper, everything = fit_by(size, given)
            first = first or (clock, cpu)
            ratios = f"{first[0] / clock:.2f}x", f"{first[1] / cpu:.2f}x"
            times = f"{clock:.1f}", ratios[0], f"{cpu:.1f}", ratios[1], f"{waited:.1f}"
            sizes = (f"{step / 1e3:.1f}", f"{paper / 1e3:.1f}", f"{everything / 1e6:.1f}")
            line(f"{rows:,}", size, *times, updates, f"{1e3 * cpu / updates:.1f}", *sizes)


if __name__ == "__main__":
    main()
