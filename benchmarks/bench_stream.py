"""A table larger than memory: fit and select on a Parquet file, seconds and peak memory at several lengths.

    python benchmarks/bench_stream.py                                  # 0.5, 5 and 50 million rows x 50 features
    python benchmarks/bench_stream.py --rows 1000000 --agreement       # and the masks against those of a fit in memory

The file is made by a generator (float64, the rule of Syn4), each length in a process of its own, and deleted. The rival
is a plain read of the file with nothing done to it: "reading" is the share of a fit that the pass over the file takes.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from measure import in_child, line, table

BLOCK = 250_000  # rows made, and of a row group

CODE = """
import sys, time
import pyarrow as pa, pyarrow.parquet as pq
from sklar import CopulaSelectorClassifier
from sklar.estimators import base
from sklar.table.sources import open_source
path, epochs, out = sys.argv[1], sys.argv[2], sys.argv[3]
spent = {}
def timed(name, work):
    def run(*given):
        start = time.perf_counter()
        found = work(*given)
        spent[name] = time.perf_counter() - start
        return found
    return run
base.read_rows = timed("pass", base.read_rows)
words = dict(random_state=0, device="cpu", max_epochs=None if epochs == "None" else int(epochs))
model = timed("fit", lambda: CopulaSelectorClassifier(**words).fit(path, target="y"))()
def select():
    answers = model.select(path)
    with pq.ParquetWriter(out, answers.schema) as writer:
        for batch in answers:
            writer.write_batch(batch)
timed("select", select)()
most = peak()
timed("read", lambda: sum(table.num_rows for table in open_source(path).batches()))()
print(spent["fit"], spent["pass"], spent["select"], spent["read"], most)
"""

AGREEMENT = """
import sys
from sklar import CopulaSelectorClassifier
from sklar.table.sources import open_source
path, rows, epochs = sys.argv[1], int(sys.argv[2]), sys.argv[3]
words = dict(random_state=0, device="cpu", max_epochs=None if epochs == "None" else int(epochs))
models = [CopulaSelectorClassifier(**words).fit(path, target="y", max_rows=most) for most in (10**9, rows)]
sample = open_source(path).sample(100_000, 1, models[0].fitted_.schema.names)
first, second = (model.select(sample).to_pandas().to_numpy() for model in models)
print((first == second).all(axis=1).mean(), (first == second).mean())
"""


def write(path: Path, n_rows: int, d: int) -> None:
    """A table of normal features whose label x11 switches: x1 x2 where it is negative, else x3 to x6."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for start in range(0, n_rows, BLOCK):
        x = rng.standard_normal((d, min(BLOCK, n_rows - start)))
        log_odds = np.where(x[10] < 0, x[0] * x[1], (x[2:6] ** 2).sum(axis=0) - 4)
        y = (rng.random(len(log_odds)) < 1 / (1 + np.exp(log_odds))).astype(np.int8)
        block = pa.table({**{f"x{j + 1}": x[j] for j in range(d)}, "y": y})
        writer = writer or pq.ParquetWriter(path, block.schema, compression="none", use_dictionary=False)
        writer.write_table(block)
    assert writer is not None
    writer.close()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000, 5_000_000, 50_000_000])
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=None, help="of the fit; default: as many as it takes")
    parser.add_argument("--agreement", action="store_true", help="of masks with a fit of all rows in memory")
    parser.add_argument("--sample", type=int, default=200_000, help="rows of the fit that is compared")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    if args.quick:
        args.rows, args.features, args.epochs, args.sample = [2000], 12, 1, 1000
    columns = (
        "rows",
        "GB",
        "fit, s",
        "reading",
        "select, s",
        "rows a second",
        "to a plain read",
        "peak, GiB",
        "target",
    )
    table(f"Larger than memory: Parquet, {args.features} features, float64, cpu", columns)
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "rows.parquet", Path(folder) / "masks.parquet"
        for n_rows in args.rows:
            write(path, n_rows, args.features)
            fit, passed, select, read, peak = in_child(CODE, path, args.epochs, out)
            share, rate = f"{passed / fit:.0%}", f"{n_rows / select:,.0f}"
            cells = (f"{path.stat().st_size / 1e9:.1f}", f"{fit:.0f}", share, f"{select:.1f}", rate)
            line(f"{n_rows:,}", *cells, f"{select / read:.1f}x", f"{peak:.2f}", "at most 4 GiB")
        if args.agreement:
            rows, cells = in_child(AGREEMENT, path, args.sample, args.epochs)
            sizes = f"{args.sample:,} rows and of all {n_rows:,}"
            print(f"\nmasks of a fit of {sizes}: {rows:.2%} of rows, {cells:.2%} of cells")


if __name__ == "__main__":
    main()
