"""A fit of a sample of a table: would training on ever new rows of the rest be better than on the sample again?

    python benchmarks/bench_refresh.py                        # samples of 5,000 and 50,000 of 200,000 rows
    python benchmarks/bench_refresh.py --features 20 --seeds 3
    python benchmarks/bench_refresh.py --file --held 5000     # what `fit` does with a file

`sample` is a fit of the sample alone. `refreshed` is the most that reading on during training could give: every batch
is of rows that are drawn from the whole table, and no row of the sample is trained on more often than any other; the
sample still decides (screening, strength, penalty, threshold). With `--file` the rows are those of a Parquet file:
`file, sample` trains on a sample of them alone, `file, read on` is `fit(path, target="y", max_rows=n)`. The rival is a
fit of all rows in memory, and a second one from another seed says how far two such fits agree. Losses are of 20,000
other rows.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from measure import line, table
from sklearn.metrics import log_loss

from sklar import CopulaSelectorClassifier
from sklar.datasets import make_synthetic
from sklar.estimators.row_reader import RowReader
from sklar.training.honest import beginning, folds

NAMES = ("fit", "rows held", "seed", "log loss", "masks as of all rows, rows", "cells", "true masks, cells")


@dataclass(frozen=True)
class Refreshed(folds.Folds):
    """Folds whose batches to train on come from the whole table."""

    whole: folds.Folds | None = None

    def _drawn(self, size: int, first_row: int, end: int, *more: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if first_row or self.whole is None:  # rows that are held out
            return super()._drawn(size, first_row, end, *more)
        return self.whole._drawn(size, 0, self.whole.n_train, *more)

    def only(self, keep: torch.Tensor, alive: torch.Tensor) -> folds.Folds:
        assert self.whole is not None
        return replace(super().only(keep, alive), whole=self.whole.only(keep, alive))


def dealing(X: np.ndarray, y: np.ndarray, held: np.ndarray) -> Any:
    """`deal`, with the rows of the table beside the sample, scaled as the sample is."""
    mean, deviation = held.mean(axis=0), held.std(axis=0)
    x, label = torch.from_numpy((X - mean) / deviation).float(), torch.from_numpy(y)

    def deal(given: torch.Tensor, target: torch.Tensor, n_folds: int, *more: Any, **words: Any) -> folds.Folds:
        dealt = folds.deal(given, target, n_folds, *more, **words)
        problems = len(given)
        generator = torch.Generator().manual_seed(0)
        whole = folds.deal(x.expand(problems, *x.shape), label.expand(problems, -1), dealt.n_folds, 0.0, generator)
        return Refreshed(**vars(dealt), whole=replace(whole, gates=dealt.gates))

    return deal


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--held", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--features", type=int, default=11)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=None, help="of the fit; default: as many as it takes")
    parser.add_argument("--file", action="store_true", help="fit a Parquet file")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    if args.quick:
        args.rows, args.held, args.seeds, args.epochs = 2000, [600], 1, 1
    torch.set_num_threads(1)
    X, y, _ = make_synthetic("syn4", args.rows, n_features=args.features, random_state=0)
    others = make_synthetic("syn4", 20_000, n_features=args.features, random_state=1)
    table(f"Rows read again or new rows: Syn4, {args.rows:,} rows x {args.features}", NAMES)
    measured = Measured(others, args.epochs)
    measured.fit("all rows", X, y, 0)
    measured.fit("all rows", X, y, args.seeds)
    if args.file:
        from_file(measured, X, y, args)
        return
    for n_held in args.held:
        for seed in range(args.seeds):
            rows = np.sort(np.random.default_rng(seed).permutation(args.rows)[:n_held])
            measured.fit("sample", X[rows], y[rows], seed)
            beside = np.setdiff1d(np.arange(args.rows), rows)
            with patch.object(beginning, "deal", dealing(X[beside], y[beside], X[rows])):
                measured.fit("refreshed", X[rows], y[rows], seed)


def from_file(measured: Measured, X: np.ndarray, y: np.ndarray, args: argparse.Namespace) -> None:
    """Fits of a file, with and without its other rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        pq.write_table(pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y}), path)
        for n_held in args.held:
            for seed in range(args.seeds):
                given = {"X": path, "target": "y", "max_rows": n_held}
                with patch.object(RowReader, "beside", lambda self, data, *given: data):
                    measured.add("file, sample", seed, n_held, **given)
                measured.add("file, read on", seed, n_held, **given)


@dataclass
class Measured:
    """Fits, each compared on rows that none has seen with the first of them."""

    others: tuple[np.ndarray, np.ndarray, np.ndarray]
    epochs: int | None
    first: np.ndarray | None = None

    def fit(self, name: str, X: np.ndarray, y: np.ndarray, seed: int) -> None:
        self.add(name, seed, len(y), X=X, y=y)

    def add(self, name: str, seed: int, n_held: int, **given: Any) -> None:
        model = CopulaSelectorClassifier(random_state=seed, device="cpu", max_epochs=self.epochs).fit(**given)
        X_other, y_other, relevant = self.others
        named = X_other if "y" in given else dict(zip(model.feature_names_in_, X_other.T, strict=True))
        masks, loss = np.asarray(model.select(named)), log_loss(y_other, model.predict_proba(named))
        self.first = masks if self.first is None else self.first
        same = masks == self.first
        shares = (same.all(axis=1).mean(), same.mean(), (masks == relevant).mean())
        line(name, f"{n_held:,}", seed, f"{loss:.4f}", *(f"{share:.1%}" for share in shares))


if __name__ == "__main__":
    main()
