"""Accuracy of rankers that choose from what they have shown, from the first j features asked for: one fit, every j.

    python benchmarks/acquisition.py --data mnist --k 40 --device cuda
    python benchmarks/acquisition.py --data spambase digits phoneme segment votes --k 5 --seeds 3
    python benchmarks/acquisition.py --table              # Markdown, from the rows

The accuracy is that of the ranker's own predictor: its choice can tell it nothing beyond the values shown. "votes" are
60 features that each agree with the class with probability .6: any five of them support 68.3%.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from sklar import CopulaRankerClassifier
from sklar.datasets import load_table
from sklar.paper.data import load_images, load_isolet

OUT = Path("results/acquisition.jsonl")
PLACES = (1, 2, 3, 5, 8, 10, 20, 30, 40)
Rows = tuple[object, np.ndarray]


def rows_of(name: str, seed: int) -> tuple[Rows, Rows]:
    """Training and test rows."""
    if name in ("mnist", "fashion-mnist"):
        return load_images(name, "train"), load_images(name, "test")
    if name == "isolet":
        X, y, X_test, y_test = load_isolet(random_state=seed)
        return (X, y), (X_test, y_test)
    if name == "votes":
        return votes(2 * seed), votes(2 * seed + 1)
    table = load_table(name)
    X, X_test, y, y_test = train_test_split(table.X, table.y, test_size=0.3, stratify=table.y, random_state=seed)
    return (X, y), (X_test, y_test)


def votes(seed: int, n: int = 10_000) -> Rows:
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], n)
    return np.where(rng.random((n, 60)) < 0.6, 1.0, -1.0) * y[:, np.newaxis], y


def measure(name: str, k: int, seed: int, device: str, scaling: str) -> list[dict[str, object]]:
    (X, y), (X_test, y_test) = rows_of(name, seed)
    k = min(k, X.shape[1])
    start = time.perf_counter()
    words = {"chooses_from": "shown", "scaling": scaling, "device": device, "random_state": seed}
    ranker = CopulaRankerClassifier(k=k, **words).fit(X, y)
    row = {"data": name, "k": k, "seed": seed, "device": device, "scaling": scaling}
    row["seconds"] = round(time.perf_counter() - start, 1)
    fitted = ranker.fitted_.on(device)
    rows, codes, found = fitted.read(X_test), np.searchsorted(ranker.classes_, y_test), []
    right, sure = prefix_scores(fitted, rows, codes, k)
    for place in sorted({*(j for j in PLACES if j < k), k}):
        found.append({**row, "features": place, "accuracy": right[place], "confidence": sure[place]})
    return found


def prefix_scores(fitted, rows, codes, k):  # type: ignore[no-untyped-def]
    """Accuracy and mean confidence from the first j features of each row, in percent, by j."""
    right, sure = (dict.fromkeys(range(1, k + 1), 0.0) for _ in range(2))
    for part, network, x in fitted.blocks(rows):
        order = network.order(x)
        for j in right:
            mask = x.new_zeros(*x.shape[:2], network.architecture.n_features).scatter(-1, order[..., :j], 1.0)
            p = network.output(x, mask)[0].softmax(-1).cpu().numpy()
            right[j] += 100 * float((p.argmax(axis=1) == codes[part]).sum()) / len(codes)
            sure[j] += 100 * float(p.max(axis=1).sum()) / len(codes)
    return tuple({j: round(value, 2) for j, value in of.items()} for of in (right, sure))


def table(rows: list[dict[str, object]]) -> str:
    places = sorted({int(row["features"]) for row in rows})  # type: ignore[call-overload]
    lines = ["| | " + " | ".join(f"j = {j}" for j in places) + " |", "|---" * (1 + len(places)) + "|"]
    for name in dict.fromkeys((row["data"], row["scaling"], row["k"]) for row in rows):
        mine = [row for row in rows if (row["data"], row["scaling"], row["k"]) == name]
        cells = []
        for j in places:
            of_place = [float(row["accuracy"]) for row in mine if row["features"] == j]  # type: ignore[arg-type]
            cells.append(f"{np.mean(of_place):.1f}" if of_place else "-")
        lines.append(f"| {name[0]}, {name[1]} scaling, k = {name[2]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["votes"])
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scaling", default="column", choices=["column", "global"])
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true", help="print the rows as Markdown, and measure nothing")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.is_file() else []
    if not args.table:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        for name in args.data:
            for seed in range(args.first_seed, args.first_seed + args.seeds):
                found = measure(name, args.k, seed, args.device, args.scaling)
                rows += found
                with args.out.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in found)
    print(table(rows))


if __name__ == "__main__":
    main()
