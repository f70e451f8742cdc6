"""Which features decide a row: `select` against LIME and KernelSHAP, which explain the same network.

The network is our PredictNet, trained on all features of Syn4. LIME and KernelSHAP ask it about thousands of
perturbed rows for every row they explain; `select` is one pass of ChoiceNet. Nothing that is made once for all rows
(fitting, the explainers) is timed, and everyone gets the same number of runs.

    python benchmarks/bench_select.py
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from sklar import CopulaSelectorClassifier
from sklar.datasets import make_synthetic
from sklar.model.networks import PredictNet

TARGET = 1000


def train_network(X: np.ndarray, y: np.ndarray, epochs: int) -> Callable[[np.ndarray], np.ndarray]:
    """PredictNet on all features; returns its class probabilities, row by row."""
    generator = torch.Generator().manual_seed(0)
    network = PredictNet(X.shape[1], 200, 2, generator=generator)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    x, target = torch.from_numpy(X).float(), torch.from_numpy(y)
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=generator).split(1000):
            optimiser.zero_grad()
            cross_entropy(network(x[rows].unsqueeze(0))[0], target[rows]).backward()
            optimiser.step()
    network.eval()

    def probabilities(rows: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return network(torch.from_numpy(np.asarray(rows)).float().unsqueeze(0))[0].softmax(-1).double().numpy()

    return probabilities


def lime_of(probabilities: Callable, X: np.ndarray) -> Callable[[np.ndarray], object]:
    from lime.lime_tabular import LimeTabularExplainer

    explainer = LimeTabularExplainer(X, mode="classification", random_state=0)
    return lambda rows: [explainer.explain_instance(row, probabilities, num_features=X.shape[1]) for row in rows]


def kernel_shap_of(probabilities: Callable, X: np.ndarray) -> Callable[[np.ndarray], object]:
    import shap

    explainer = shap.KernelExplainer(lambda values: probabilities(values)[:, 1], X[:100])
    return lambda rows: explainer.shap_values(rows, silent=True)


def seconds_a_row(answer: Callable[[], object], n_rows: int, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        answer()
        best = min(best, time.perf_counter() - start)
    return best / n_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows, hardly trained: does it run?")
    parser.add_argument("--rows", type=int, default=10, help="rows that LIME and KernelSHAP explain")
    arguments = parser.parse_args()
    n, epochs, explained = (200, 1, 1) if arguments.quick else (10_000, 30, arguments.rows)
    X, y, _ = make_synthetic("syn4", n, random_state=0)
    rows, _, _ = make_synthetic("syn4", n, random_state=1)
    selector = CopulaSelectorClassifier(objective="joint", penalty=0.01, max_epochs=epochs, random_state=0).fit(X, y)
    probabilities = train_network(X, y, epochs)

    repeats = 1 if arguments.quick else 3
    fast = seconds_a_row(lambda: selector.select(rows), n, repeats)
    alone = seconds_a_row(lambda: [selector.select(rows[i : i + 1]) for i in range(100)], 100, repeats)
    print(f"Syn4, {X.shape[1]} features, {torch.get_num_threads()} thread(s)\n")
    print("| | rows | a row | to select in one call | to select a row a call | target |")
    print("|---|---|---|---|---|---|")
    print(f"| `select`, all rows in one call | {n} | {1e6 * fast:.1f} us | 1x | | |")
    print(f"| `select`, a call a row | 100 | {1e6 * alone:.0f} us | {alone / fast:.0f}x | 1x | |")
    for name, make, target in (("LIME", lime_of, f"at least {TARGET}x"), ("KernelSHAP", kernel_shap_of, "-")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            explain = make(probabilities, X)
            slow = seconds_a_row(lambda explain=explain: explain(rows[:explained]), explained, repeats)
        ratios = f"{slow / fast:,.0f}x | {slow / alone:,.0f}x"
        print(f"| {name} | {explained} | {1e3 * slow:.1f} ms | {ratios} | {target} |", flush=True)


if __name__ == "__main__":
    main()
