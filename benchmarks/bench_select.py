"""Line 5: features of a row, `select` against LIME, KernelSHAP, L2X and INVASE; and ten million rows streamed.

LIME and KernelSHAP explain our PredictNet, trained on all features of Syn4: they ask it about thousands of perturbed
rows for every row they explain. `select`, L2X and INVASE are one pass of a network. Nothing that is made once for all
rows (fitting, the explainers) is timed, and everyone gets the same number of runs.

    python benchmarks/bench_select.py
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import torch
from measure import in_child, line, quickest, table
from torch.nn.functional import cross_entropy

from sklar import CopulaSelectorClassifier
from sklar.datasets import make_synthetic
from sklar.model.networks import PredictNet
from sklar.paper.baselines import REGISTRY

TARGETS = {"LIME": 1000, "KernelSHAP": 1000, "L2X": 1, "INVASE": 1}

STREAM = """
import sys, time
import numpy as np
from sklar import CopulaSelectorClassifier
rows, part, epochs = map(int, sys.argv[1:4])
rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 50), dtype=np.float32)
model = CopulaSelectorClassifier(random_state=0, max_epochs=epochs, device="cpu").fit(X, (X[:, 0] > 0).astype(int))
chosen, seconds = np.zeros(50, dtype=np.int64), 0.0
for first in range(0, rows, part):
    X = rng.standard_normal((min(part, rows - first), 50), dtype=np.float32)  # a part of a table on disk, say
    start = time.perf_counter()
    chosen += model.select(X).sum(axis=0)
    seconds += time.perf_counter() - start
print(seconds, peak(), chosen.sum() / rows)
"""


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


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows, hardly trained: does it run?")
    parser.add_argument("--rows", type=int, default=10, help="rows that LIME and KernelSHAP explain")
    parser.add_argument("--stream", type=int, default=10_000_000, help="rows of 50 features streamed")
    args = parser.parse_args(arguments)
    n, epochs, explained, repeats = (200, 1, 1, 1) if args.quick else (10_000, 30, args.rows, 3)
    X, y, _ = make_synthetic("syn4", n, random_state=0)
    rows, _, _ = make_synthetic("syn4", n, random_state=1)
    words = {"iterations": 20, "random_state": 0, "device": "cpu"}  # training does not change what an answer costs
    selector = CopulaSelectorClassifier(max_epochs=epochs, device="cpu", random_state=0).fit(X, y)
    networks = {"L2X": REGISTRY["l2x"](**words).fit(X, y), "INVASE": REGISTRY["invase"](**words).fit(X, y)}
    probabilities = train_network(X, y, epochs)
    explainers = {"LIME": lime_of(probabilities, X), "KernelSHAP": kernel_shap_of(probabilities, X)}

    fitted, some = selector.fitted_, [selector.fitted_.read(rows[i : i + 1]) for i in range(100)]
    answers = [
        lambda: selector.select(rows),
        lambda: [selector.select(rows[i : i + 1]) for i in range(100)],
        lambda: [fitted.masks(row) for row in some],
    ]
    fast, alone, checked = quickest([*answers], repeats=repeats)
    fast, alone, checked = fast / n, alone / 100, checked / 100
    columns = ("", "rows", "a row", "to select in one call", "to select a row a call", "target")
    table(
        f"5. Selecting features of a row, cpu, Syn4, {X.shape[1]} features, {torch.get_num_threads()} thread(s)",
        columns,
    )
    line("`select`, all rows in one call", n, f"{1e6 * fast:.1f} us", "1x", "", "")
    line("`select`, a call a row", 100, f"{1e6 * alone:.0f} us", f"{alone / fast:.0f}x", "1x", "")
    cells = (f"{1e6 * checked:.0f} us", f"{checked / fast:.0f}x", f"{checked / alone:.2f}x")
    line("`fitted_.masks`, a call a row", 100, *cells, "at most 60 us")
    for name, explain in explainers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            slow = quickest([lambda explain=explain: explain(rows[:explained])], repeats=repeats, warm=0)[0] / explained
        cells = (f"{1e3 * slow:.1f} ms", f"{slow / fast:,.0f}x", f"{slow / alone:,.0f}x")
        line(name, explained, *cells, f"at least {TARGETS[name]}x")
    for name, rival in networks.items():
        ours, theirs = quickest([answers[0], lambda rival=rival: rival.select(rows)], repeats=5 * repeats)
        line(name, n, f"{1e6 * theirs / n:.1f} us", f"{theirs / ours:.1f}x", "", f"at least {TARGETS[name]}x")
    stream(2000 if args.quick else args.stream, 500 if args.quick else 100_000, 1 if args.quick else 30)


def stream(rows: int, part: int, epochs: int) -> None:
    seconds, peak, features = in_child(STREAM, rows, part, epochs)
    columns = ("rows", "features", "rows per second", "peak, GiB", "target", "features per row")
    table(f"Rows streamed through `select` in parts of {part}", columns)
    line(rows, 50, f"{rows / seconds:,.0f}", f"{peak:.2f}", "under 2 GiB", f"{features:.2f}")


if __name__ == "__main__":
    main()
