"""Line 1: a whole training step with the copula (low-rank, p = 8) against the same without (independent gates).

    python benchmarks/bench_step.py

Honest training is the default of the library: all rows share one L. "And rows' own" adds what a row's part of it takes,
where rows ask for one: its short training after the fit, spread over all steps of the fit. Joint training is the
paper's: every row has its own L, which a head of p times the width of the scores' must make. Both sides take turns; the
quickest counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import torch
from measure import line, quickest, table

from sklar.model.selection import Architecture, SelectionModel
from sklar.training.engine.graphs import BatchStep
from sklar.training.engine.optim import adam
from sklar.training.engine.runtime import resolve_device
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.row_part import RowPartSettings, learn_row_part
from sklar.training.honest.scoring import Decisions, PenaltyRange, Selector, new_selector
from sklar.training.honest.screening import Screened
from sklar.training.honest.selector import train_selector
from sklar.training.honest.settings import DecisionSettings, PredictorSettings, Schedule, SelectorSettings
from sklar.training.tasks import Task, joint_loss

TARGETS = {("cpu", 100): 1.25, ("cuda", 100): 1.10, ("cuda", 784): 1.15}
COVARIANCES = ("low-rank", "independent")


def honest_parts(
    covariance: str, d: int, n: int, device: torch.device, k: int | None = None
) -> tuple[FoldPredictors, Selector]:
    """Predictors and a selector, untrained, of rows whose first feature decides."""
    generator = torch.Generator(device).manual_seed(0)
    x = torch.randn(1, n, d, generator=generator, device=device)
    folds = deal(x, (x[..., 0] > 0).long(), 4, 0.2, generator)
    predictors = FoldPredictors(folds, Task(2), PredictorSettings(k=k), generator, 0)
    everything = Screened(predictors, torch.arange(d, device=device)[None])
    settings = SelectorSettings(covariance=covariance, k=k)
    return predictors, new_selector(folds.gates, everything, settings, torch.zeros(1, 1, device=device), 0)


def honest_steps(
    covariance: str, d: int, n: int, device: torch.device, count: int, k: int | None = None
) -> Callable[[], object]:
    """`count` steps of the selector's training, its predictors' steps included; on a GPU, replayed."""
    predictors, selector = honest_parts(covariance, d, n, device, k)
    price = torch.full((1,), -6.0, device=device)
    return lambda: train_selector(selector, predictors, PenaltyRange(price, price), count, predictors.folds.n_train)


def row_part_steps(covariance: str, d: int, n: int, device: torch.device, count: int) -> Callable[[], object]:
    """`count` steps of the training of a row's part of L, of two gates that exclude each other."""
    predictors, selector = honest_parts(covariance, d, n, device)
    assert selector.correlation is not None
    with torch.no_grad():
        selector.network.scores.bias.fill_(2.0)
        selector.correlation.loadings[:, :2, 0] = torch.tensor([3.0, -3.0], device=device)
    decisions, price = Decisions.none(selector.alive), torch.full((1,), -6.0, device=device)
    settings = RowPartSettings(steps=count)
    return lambda: learn_row_part(selector, predictors, price, decisions, DecisionSettings(), settings)


def joint_steps(
    covariance: str, d: int, n: int, device: torch.device, count: int, rounded: bool = False
) -> Callable[[], object]:
    """`count` steps of the paper's training on batches of 1000, with relaxed or rounded masks; on a GPU, replayed."""
    generator = torch.Generator(device).manual_seed(0)
    x = torch.randn(1, n, d, generator=generator, device=device)
    y = (x[0, :, 0] > 0).long()
    words = {"choice_hidden": 100, "predict_hidden": 200, "n_factors": 8}
    model = SelectionModel(Architecture(d, 2, covariance=covariance, **words), torch.Generator().manual_seed(0))
    model.to(device)
    optimiser = adam(list(model.parameters()), 1e-3)
    price = torch.full((1, 1), 0.01, device=device)

    def learn(rows: torch.Tensor) -> torch.Tensor:
        optimiser.zero_grad(set_to_none=True)
        loss = joint_loss(model, Task(2), x[:, rows], y[rows], price, generator, rounded=rounded)
        loss.backward()
        optimiser.step()
        return loss.detach()

    step, rows = BatchStep(learn, device, generator), torch.arange(min(1000, n), device=device)
    return lambda: [step(rows) for _ in range(count)]


def compare(make: Callable, d: int, n: int, device: torch.device, count: int, repeats: int) -> tuple[float, float]:
    """Seconds a step with and without the copula; what a call costs once (capturing a graph) cancels."""
    short, long = ([make(c, d, n, device, many) for c in COVARIANCES] for many in (count, 3 * count))
    times = quickest([*short, *long], device, repeats)
    return (times[2] - times[0]) / (2 * count), (times[3] - times[1]) / (2 * count)


def of_rows(d: int, n: int, device: torch.device, count: int, repeats: int) -> float:
    """Seconds of a row part's training for each step of a fit."""
    short, long = (row_part_steps("low-rank", d, n, device, many) for many in (count, 3 * count))
    times = quickest([short, long], device, repeats)
    return (times[1] - times[0]) / (2 * count) * RowPartSettings().steps / Schedule().total


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--widths", type=int, nargs="+", default=[100, 784])
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    device = resolve_device(args.device)
    widths, n, count, repeats = (args.widths, 8000, 100 if device.type == "cuda" else 40, 4)
    if args.quick:
        widths, n, count, repeats = [12], 200, 2, 1
    columns = ("training", "d", "with copula, ms", "without, ms", "ratio", "target")
    table(f"1. A training step with and without the copula, {device.type}, batch 1000, p = 8", columns)
    makers = {"honest": honest_steps, "honest, k = 5": partial(honest_steps, k=5), "joint": joint_steps}
    makers["joint, rounded mask"] = partial(joint_steps, rounded=True)
    for name, make in makers.items():
        for d in widths:
            ours, without = compare(make, d, n, device, count, repeats)
            compared = [(name, ours)]
            if name == "honest":
                compared.append((f"{name}, and rows' own", ours + of_rows(d, n, device, count, repeats)))
            target = TARGETS.get((device.type, d))
            for label, time in compared:
                cells = (f"{1e3 * time:.2f}", f"{1e3 * without:.2f}", f"{time / without:.2f}x")
                line(label, d, *cells, f"at most {target}x" if target else "-")


if __name__ == "__main__":
    main()
