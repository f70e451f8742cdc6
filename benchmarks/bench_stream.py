"""A table larger than memory: fit and select on a Parquet file, seconds and peak memory at several lengths.

    python benchmarks/bench_stream.py                                  # 0.5, 5 and 50 million rows x 50 features
    python benchmarks/bench_stream.py --rows 3000000 --features 20 --held 200000    # few are held, the others read on
    python benchmarks/bench_stream.py --rows 3000000 --features 20 --held 200000 --sample-alone    # and not read on
    python benchmarks/bench_stream.py --agreement adult                # masks against those of a fit in memory

The file is made by a generator (float64, the rule of Syn4), each length in a process of its own, and deleted. The rival
is a plain read of the file with nothing done to it. After its pass over the file, a fit that holds a sample reads on
beside its steps: `new rows` took the places of others, and `waited` is the share of the time after the pass in which a
step waited for them. CPU seconds do not depend on what else the machine does, seconds do.
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
from sklar.estimators.row_reader import RowReader
from sklar.table.sources import open_source
from sklar.training.engine.renewal import Renewal
path, epochs, out, held, alone = sys.argv[1:]
spent, read = {}, [0, 0.0]
if alone == "True":
    RowReader.beside = lambda self, data, *given: data
leave = Renewal.__exit__
def leaving(self, *given):
    read[:] = self.n_rows, self.waited
    leave(self, *given)
Renewal.__exit__ = leaving
def timed(name, work):
    def run(*given):
        start, cpu = time.perf_counter(), time.process_time()
        found = work(*given)
        spent[name] = time.perf_counter() - start, time.process_time() - cpu
        print(name, *spent[name], peak(), file=sys.stderr, flush=True)
        return found
    return run
base.read_rows = timed("pass", base.read_rows)
words = dict(random_state=0, device="cpu", max_epochs=None if epochs == "None" else int(epochs))
most = None if held == "None" else int(held)
model = timed("fit", lambda: CopulaSelectorClassifier(**words).fit(path, target="y", max_rows=most))()
def select():
    answers = model.select(path)
    with pq.ParquetWriter(out, answers.schema) as writer:
        for batch in answers:
            writer.write_batch(batch)
timed("select", select)()
highest = peak()
timed("read", lambda: sum(table.num_rows for table in open_source(path).batches()))()
share = read[1] / (spent["fit"][0] - spent["pass"][0])
print(*(number for name in ("fit", "pass", "select", "read") for number in spent[name]), read[0], share, highest)
"""

AGREEMENT = """
import sys
import pyarrow.parquet as pq
from sklar import CopulaSelectorClassifier
path, epochs = sys.argv[1:]
words = dict(random_state=0, device="cpu", max_epochs=None if epochs == "None" else int(epochs))
table = pq.read_table(path)
X, y = table.drop_columns("y"), table["y"].to_numpy(zero_copy_only=False)
first = CopulaSelectorClassifier(**words).fit(X, y).select(X).to_pandas().to_numpy()
found = []
for rows in (len(y), len(y) // 2):
    answers = CopulaSelectorClassifier(**words).fit(path, target="y", max_rows=rows).select(path)
    second = answers.read_all().to_pandas().to_numpy()
    found += [(first == second).all(axis=1).mean(), (first == second).mean()]
print(*found)
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
    parser.add_argument("--held", type=int, default=None, help="rows, at most; default: what 2 GiB hold")
    parser.add_argument("--sample-alone", action="store_true", help="read no other rows beside the steps")
    parser.add_argument("--epochs", type=int, default=None, help="of the fit; default: as many as it takes")
    parser.add_argument("--agreement", metavar="TABLE", help="of masks with a fit in memory, on a table of this name")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    if args.quick:
        args.rows, args.features, args.epochs, args.held = [2000], 12, 1, 1500
    with tempfile.TemporaryDirectory() as folder:
        if args.agreement:
            agreement(args.agreement, Path(folder) / "rows.parquet", args.epochs)
        else:
            stream(args, Path(folder) / "rows.parquet")


def stream(args: argparse.Namespace, path: Path) -> None:
    """Fit and select, for each length of the table."""
    names = ("rows", "GB", "fit, s", "CPU", "its pass, s", "CPU", "select, s", "CPU", "a plain read, s", "CPU")
    names = (*names, "new rows", "waited", "peak, GiB", "target")
    table(f"Larger than memory: Parquet, {args.features} features, float64, cpu", names)
    for n_rows in args.rows:
        write(path, n_rows, args.features)
        words = (args.epochs, path.with_name("masks.parquet"), args.held, args.sample_alone)
        *times, new, waited, peak = in_child(CODE, path, *words)
        cells = (f"{path.stat().st_size / 1e9:.1f}", *(f"{seconds:.1f}" for seconds in times), f"{new:,.0f}")
        line(f"{n_rows:,}", *cells, f"{waited:.2%}", f"{peak:.2f}", "at most 4 GiB")


def agreement(name: str, path: Path, epochs: int | None) -> None:
    """Masks of the fit of a file, of all its rows and of half of them drawn, against those of a fit in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from sklar.datasets import load_table

    known = load_table(name)
    pq.write_table(pa.Table.from_pandas(known.X.assign(y=known.y), preserve_index=False), path, row_group_size=10_000)
    table(f"Masks of a fit of a file against those of memory: {name}", ("rows trained on", "rows agree", "cells agree"))
    whole, half = len(known.y), len(known.y) // 2
    found = in_child(AGREEMENT, path, epochs)
    for rows, shares in ((whole, found[:2]), (half, found[2:])):
        line(f"{rows:,}", *(f"{share:.2%}" for share in shares))


if __name__ == "__main__":
    main()
