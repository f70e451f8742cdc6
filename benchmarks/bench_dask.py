"""Dask workers on one machine: `select` on a Dask DataFrame, and the pass of a fit over it, with 1, 2 and 4 of them.

    python benchmarks/bench_dask.py

Each worker is a process of one thread, each partition a Parquet file of the same size. The rival of several workers is
one of them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from bench_stream import write
from measure import line, table


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    if args.quick:
        args.rows, args.features, args.files, args.workers = 2000, 12, 2, [1]
    import dask.dataframe
    from distributed import Client, LocalCluster

    from sklar import CopulaSelectorClassifier
    from sklar.estimators.streaming import Scan
    from sklar.table.sampling import Sampler
    from sklar.table.sources import open_source

    columns = ("workers", "select, s", "rows a second", "to one worker", "pass of a fit, s", "to one worker")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.files):
            write(Path(folder) / f"{number}.parquet", args.rows // args.files, args.features)
        words = {"penalty": 0.01, "max_epochs": 1, "random_state": 0, "device": "cpu"}
        model = CopulaSelectorClassifier(**words).fit(folder, target="y", max_rows=2000)
        table(f"{args.rows:,} rows x {args.features} features in {args.files} files", columns)
        first: tuple[float, float] | None = None
        for n_workers in args.workers:
            with (
                LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
                Client(cluster),
            ):
                frame = dask.dataframe.read_parquet(folder, split_row_groups=False)
                names = list(model.feature_names_in_)
                scan = Scan("rows", names, ["y"], Sampler(args.rows, args.rows // 10, 0), True)

                def select(frame=frame, names=names):
                    return model.select(frame[names]).sum().compute()

                def passed(frame=frame, scan=scan):
                    return scan.merged(open_source(frame).map(scan))

                select()  # what each worker loads once
                found = seconds(select), seconds(passed)
            first = first or found
            ratios = [f"{one / many:.2f}x" for one, many in zip(first, found, strict=True)]
            line(n_workers, f"{found[0]:.1f}", f"{args.rows / found[0]:,.0f}", ratios[0], f"{found[1]:.1f}", ratios[1])


if __name__ == "__main__":
    main()
