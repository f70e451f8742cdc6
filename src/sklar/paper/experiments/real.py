"""Methods on MNIST, Fashion-MNIST and ISOLET: accuracy from k features per row, twice.

"accuracy" is of the method's own predictor or, where it has none for k features, of a network refitted on what it
shows; the choice of features can leak the class to either. "evalx" is of a judge that learned from random masks alone,
to which it cannot.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.networks import PredictNet
from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.networks import adam, descend, endless_batches
from sklar.paper.data import load_images, load_isolet
from sklar.paper.experiments.honest_stack import fit_honest_stack
from sklar.paper.experiments.joint_stack import fit_joint_stack
from sklar.paper.experiments.judge_cache import cached_judge
from sklar.paper.experiments.methods import CPU_ROWS
from sklar.paper.experiments.stacks import scaling_of
from sklar.paper.experiments.units import STACKED_BASELINES, Cell, Measured, Unit
from sklar.training.engine.graphs import BatchStep
from sklar.training.engine.runtime import generator_on
from sklar.training.honest.judge import JudgeSettings, judged, train_judge
from sklar.training.tasks import Task

PREDICTS_FROM_K = ("l2x", "cae", "gdfs", "dime")
REFIT_HIDDEN, REFIT_STEPS, QUICK_REFIT_STEPS, REFIT_BATCH = 200, 3000, 60, 1000
SHARED_SPLIT = ("mnist", "fashion-mnist", "digits")  # one split for all seeds


class Split(NamedTuple):
    """Rows to train on and rows to test on."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def measure_real(unit: Unit, device: torch.device) -> list[Measured]:
    """Both accuracies of every cell of one data set."""
    by_engine = {"honest": _ours, "joint": _ours, "baseline": _baselines}
    return by_engine[unit.method.engine](unit, device)


def prepare_real(unit: Unit, device: torch.device) -> None:
    """Load the data and train the judge, so that neither counts as a method's time."""
    for cell in unit.cells:
        _judge_of(unit, cell, device)


def real_split(name: str, seed: int, held_out: bool = False) -> Split:
    """The data set `name`; only ISOLET's split depends on the seed. `held_out`: test on a sixth of training rows."""
    return (_held_out if held_out else _load)(name, 0 if name in SHARED_SPLIT else seed)


def _split_of(unit: Unit, cell: Cell) -> Split:
    return real_split(cell.dataset, cell.seed, unit.spec.held_out)


@lru_cache(maxsize=8)  # every data set and split of a figure: each method needs them again
def _load(name: str, seed: int) -> Split:
    if name == "isolet":
        return Split(*load_isolet("random", seed))
    if name == "digits":
        from sklearn.datasets import load_digits

        rows, labels = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(rows))
        rows, labels = (rows[order] / 16).astype(np.float32), labels[order].astype(np.int64)
        return Split(rows[450:], labels[450:], rows[:450], labels[:450])
    return Split(*load_images(name, "train"), *load_images(name, "test"))


@lru_cache(maxsize=8)
def _held_out(name: str, seed: int) -> Split:
    split = _load(name, seed)
    n = len(split.x) - len(split.x) // 6
    return Split(split.x[:n], split.y[:n], split.x[n:], split.y[n:])


@lru_cache(maxsize=8)
def _judge(name: str, seed: int, held_out: bool, settings: JudgeSettings, device_type: str) -> MaskedPredictor:
    split, device = real_split(name, seed, held_out), torch.device(device_type)

    def train() -> MaskedPredictor:
        x, y = _scaled(split, split.x).to(device), torch.from_numpy(split.y).to(device)
        return train_judge(x, y, Task(int(split.y.max()) + 1), settings, seed=0)

    return cached_judge(f"{name}-{seed}", (split.x, split.y), settings, train).to(device)


def _judge_of(unit: Unit, cell: Cell, device: torch.device) -> MaskedPredictor:
    seed = 0 if cell.dataset in SHARED_SPLIT else cell.seed
    return _judge(cell.dataset, seed, unit.spec.held_out, unit.spec.judge, device.type)


def evalx_accuracy(unit: Unit, cell: Cell, mask: np.ndarray, device: torch.device) -> float:
    """Accuracy, in percent, of the judge shown the test rows by `mask` (n, d)."""
    split = _split_of(unit, cell)
    x = _scaled(split, split.test_x).to(device)
    output = judged(_judge_of(unit, cell, device), x, torch.from_numpy(mask).to(device))
    return float(100 * (output.argmax(-1).cpu().numpy() == split.test_y).mean())


def _ours(unit: Unit, device: torch.device) -> list[Measured]:
    fit = fit_honest_stack if unit.method.engine == "honest" else fit_joint_stack
    splits = [_split_of(unit, cell) for cell in unit.cells]
    k = unit.cells[0].k
    stack: Any = fit([(split.x, split.y) for split in splits], unit.params, device, unit.cells[0].seed, k)
    results = []
    for p, (cell, split) in enumerate(zip(unit.cells, splits, strict=True)):
        answers = stack.answers(p, split.test_x, split.test_y)
        evalx = evalx_accuracy(unit, cell, answers.selected, device)
        results.append(Measured(cell, {"accuracy": answers.accuracy, "evalx": evalx}, (("accuracy_of", "own"),)))
    return results


def _baselines(unit: Unit, device: torch.device) -> list[Measured]:
    name = unit.method.name
    seeds, ks = (
        list(dict.fromkeys(values)) for values in zip(*((cell.seed, cell.k) for cell in unit.cells), strict=True)
    )
    splits = [real_split(unit.cells[0].dataset, seed, unit.spec.held_out) for seed in seeds]
    note = (("accuracy_of", "own" if name in PREDICTS_FROM_K else "refit"),)
    results = []
    for seed, split, fitted in zip(seeds, splits, _fitted(unit, splits, seeds, max(ks), device), strict=True):
        masks = masks_for(fitted, split.test_x, ks, device)
        accuracies = _accuracies(unit, fitted, split, masks, device, seed)
        for cell in unit.cells:
            if cell.seed == seed:
                k = cell.k or 0
                evalx = evalx_accuracy(unit, cell, masks[k], device)
                results.append(Measured(cell, {"accuracy": accuracies[k], "evalx": evalx}, note))
    return results


def _fitted(unit: Unit, splits: list[Split], seeds: list[int], most_features: int, device: torch.device) -> list[Any]:
    """One fitted baseline per seed."""
    name, params = unit.method.name, unit.params
    baseline, most_rows = REGISTRY[name], CPU_ROWS.get(name)
    if name in (*PREDICTS_FROM_K, "stg"):
        params["k"] = most_features
    if "device" in baseline().get_params(deep=False):
        params["device"] = device.type
    if name in STACKED_BASELINES and len(seeds) > 1:
        if all(split is splits[0] for split in splits):
            return baseline(**params).fit_seeds(splits[0].x, splits[0].y, seeds)
        return baseline(**params).fit_problems([(split.x, split.y) for split in splits], seeds)
    return [
        baseline(**params, random_state=seed).fit(split.x[:most_rows], split.y[:most_rows])
        for split, seed in zip(splits, seeds, strict=True)
    ]


def _accuracies(
    unit: Unit, fitted: Any, split: Split, masks: dict[int, np.ndarray], device: torch.device, seed: int
) -> dict[int, float]:
    """k -> accuracy on the test rows of the baseline's own predictor or, where it has none for k, of a refit."""
    if unit.method.name in PREDICTS_FROM_K:
        return {
            k: float(100 * (fitted.predict_masked(split.test_x, mask) == split.test_y).mean())
            for k, mask in masks.items()
        }
    train_masks = list(masks_for(fitted, split.x, list(masks), device).values())
    steps = QUICK_REFIT_STEPS if unit.spec.is_quick else REFIT_STEPS
    found = refit_accuracies(split, train_masks, list(masks.values()), device, seed, steps)
    return dict(zip(masks, found, strict=True))


def masks_for(baseline: Any, X: np.ndarray, ks: list[int], device: torch.device) -> dict[int, np.ndarray]:
    """Masks of the k best features of every row, for each k, from one ranking: k -> bool (n, d)."""
    if not baseline.is_instance_wise:
        return {k: np.repeat(baseline.select(X[:1], k=k), len(X), axis=0) for k in ks}
    order = torch.from_numpy(baseline.scores(X)).to(device).topk(max(ks), dim=1).indices.cpu().numpy()
    masks = {k: np.zeros(X.shape, dtype=bool) for k in ks}
    for k, mask in masks.items():
        np.put_along_axis(mask, order[:, :k], True, axis=1)
    return masks


def refit_accuracies(
    split: Split, masks: list[np.ndarray], test_masks: list[np.ndarray], device: torch.device, seed: int, steps: int
) -> list[float]:
    """Test accuracies of networks that learned from what the masks show, one replica for each list entry."""
    x, test_x = (_scaled(split, X).to(device) for X in (split.x, split.test_x))
    y, task = torch.from_numpy(split.y).to(device), Task(int(split.y.max()) + 1)
    shown, tests = (torch.stack([torch.from_numpy(one) for one in some]).to(device) for some in (masks, test_masks))
    weights, generator = torch.Generator().manual_seed(seed), generator_on(device, seed)
    model = PredictNet(x.shape[1], REFIT_HIDDEN, task.n_outputs, replicas=len(masks), generator=weights).to(device)
    optimiser = adam([model], 1e-3, 1e-4)
    model.train()

    def learn(rows: Tensor) -> Tensor:
        return descend(optimiser, task.row_loss(model(x[rows] * shown[:, rows]), y[rows]).mean(-1).sum())

    step = BatchStep(learn, device, generator)
    for rows in endless_batches(len(x), steps, REFIT_BATCH, generator, "refit", verbose=False):
        step(rows)
    model.eval()
    with torch.no_grad():
        predicted = model(test_x * tests).argmax(-1).cpu().numpy()
    return [float(100 * (answer == split.test_y).mean()) for answer in predicted]


def _scaled(split: Split, X: np.ndarray) -> Tensor:
    """Rows by the one mean and deviation of the training rows, float32 (n, d)."""
    return torch.from_numpy(scaling_of(split.x, "global").apply(X).astype(np.float32))
