"""Real tables: what a judge predicts from the few features that each method shows.

    python benchmarks/real_tables.py                                        # 5 splits of every table, the quick methods
    python benchmarks/real_tables.py --tables spambase digits --splits 1 --methods sklar-ranker treeshap --k 1 3
    python benchmarks/real_tables.py --methods all --jobs 8                 # and INVASE, REAL-X, STG, L2X and GDFS
    python benchmarks/real_tables.py --table                                # Markdown, from the rows
    python benchmarks/real_tables.py --picture results/real-tables.png

A row of --out is of one table, split, method, k and judge. Rows that are there are not measured again, so that a run
goes on where it stopped; a method whose rows lack one judge is fitted again. --again forgets the rows of the tables and
methods that are asked for first: after a change of a method. Splits are 70 to 30 with the split's
number as seed (of each class alike); Adult has its official split alone. docs/real_tables.md explains the protocol,
`real_table_methods.py` how columns are encoded.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))  # also when it is not run as a script
from r_tables import NAMES
from real_table_methods import HAS_OWN_RULE, METHODS, ONLY_OWN_RULE, SLOW, Selection, Split, all_features_score
from real_table_views import draw, tables

from sklar.atomic import replace_file
from sklar.datasets import table_names
from sklar.datasets.store import DataError
from sklar.paper.experiments.environment import commit
from sklar.paper.judges import EvalxJudge, Judgement, TreeJudge

OFFICIAL_SPLIT = ("adult",)  # one split, whatever is asked for
JUDGES = ("trees", "evalx")
KEY = ("table", "split", "method", "k", "judge", "quick")
OUT = Path("results/real-tables.jsonl")
QUICK_TABLES, QUICK_METHODS = ["wine", "diabetes"], ["sklar-selector", "sklar-ranker", "treeshap", "forest"]


class Plan(NamedTuple):
    """One split of one table, and what to measure there."""

    table: str
    split: int
    methods: tuple[str, ...]
    ks: tuple[int, ...]
    judges: tuple[str, ...]
    quick: bool
    device: str
    out: Path
    command: str


def measure(plan: Plan) -> int:
    """Fit, judge and write; returns how many rows were added. A table that is not there is reported."""
    torch.set_num_threads(1)
    try:
        return measure_split(plan)
    except DataError as error:
        print(f"{plan.table}: {error}", file=sys.stderr)
        return 0


def measure_split(plan: Plan) -> int:
    split = Split.of(plan.table, plan.split, quick=plan.quick, device=plan.device)
    ks = [k for k in plan.ks if k < split.n_features]
    done = keys(plan.out)
    wanted = [method for method in plan.methods if missing(plan, method, ks, done)]
    if not wanted:
        return 0
    about = {
        **{"table": plan.table, "split": plan.split, "quick": plan.quick, "task": split.task},
        **{"train_rows": len(split.train), "test_rows": len(split.test), "n_features": split.n_features},
        "all_features_score": all_features_score(split),
    }
    judge = fitted_tree_judge(split) if "trees" in plan.judges else None
    added, kept = 0, []
    for method in wanted:
        for selection in selections(method, split, missing(plan, method, ks, done)):
            row = about | described(method, selection) | {"commit": commit(), "command": plan.command}
            kept.append((row, selection.masks))
            if judge is not None:
                judgement = judge.judge(split.codes[split.test], split.y_test, selection.masks)
                added += append(plan.out, [judged(row, "trees", judgement)])
    if "evalx" in plan.judges and kept:
        judgements = evalx(split, [masks for _, masks in kept])
        rows = [judged(row, "evalx", judgement) for (row, _), judgement in zip(kept, judgements, strict=True)]
        added += append(plan.out, rows)
    return added


def missing(plan: Plan, method: str, ks: list[int], done: set[str]) -> list[int | None]:
    """The k of a method that a judge has not seen; None is the method's own rule."""
    asked: list[int | None] = [None] if method in HAS_OWN_RULE else []
    asked += [] if method in ONLY_OWN_RULE else ks
    about = {"table": plan.table, "split": plan.split, "method": method, "quick": plan.quick}
    return [k for k in asked if any(key_of(about | {"k": k, "judge": judge}) not in done for judge in plan.judges)]


def selections(method: str, split: Split, wanted: list[int | None]) -> Iterator[Selection]:
    """Those of a method's selections that are wanted; a method that fails is reported, and the others go on."""
    try:
        for selection in METHODS[method](split, [k for k in wanted if k is not None]):
            if selection.k in wanted:
                yield selection
    except Exception:
        print(f"{split.table}, split {split.number}: {method} failed\n{traceback.format_exc()}", file=sys.stderr)


def described(method: str, selection: Selection) -> dict[str, Any]:
    return {
        "method": method,
        "k": selection.k,
        "features": float(selection.masks.sum(axis=1).mean()),
        "distinct_masks": len(np.unique(np.packbits(selection.masks, axis=1), axis=0)),
        "own_score": selection.own_score,
        "seconds": round(selection.seconds, 3),
    }


def judged(row: dict[str, Any], judge: str, judgement: Judgement) -> dict[str, Any]:
    return row | {"judge": judge, **judgement._asdict()}


def fitted_tree_judge(split: Split) -> TreeJudge:
    words = {"wanted_rows": 2000} if split.quick else {}
    judge = TreeJudge(split.task, random_state=split.number, **words)  # type: ignore[arg-type]
    return judge.fit(split.codes[split.train], split.y_train)


def evalx(split: Split, masks: list[np.ndarray]) -> list[Judgement]:
    words = {"steps": 100} if split.quick else {}
    judge = EvalxJudge(split.task, random_state=split.number, **words)  # type: ignore[arg-type]
    inputs, column_of_input = split.inputs
    train, test = ((inputs[rows], split.y[rows]) for rows in (split.train, split.test))
    return judge.judge_all(train, test, masks, column_of_input)


# Rows.


def key_of(row: dict[str, Any]) -> str:
    return json.dumps([row.get(name) for name in KEY])


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The whole rows of a file, each once; a line that a killed run left incomplete is none."""
    content = path.read_bytes() if path.is_file() else b""
    rows = [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]
    return list({key_of(row): row for row in reversed(rows)}.values())[::-1]


def keys(path: Path) -> set[str]:
    return {key_of(row) for row in rows_of(path)}


def append(path: Path, rows: list[dict[str, Any]]) -> int:
    """Add rows that are not there yet, whole, also while other processes do; returns how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)
        there = keys(path)
        new = [row for row in rows if key_of(row) not in there]
        file.write("".join(json.dumps(row) + "\n" for row in new).encode())
        file.flush()
        os.fsync(file.fileno())
    return len(new)


def forget(path: Path, tables: list[str], methods: list[str]) -> None:
    """Leave out the rows of these tables and methods, to measure them again."""
    kept = [row for row in rows_of(path) if row["table"] not in tables or row["method"] not in methods]
    if path.is_file():
        replace_file(path, "".join(json.dumps(row) + "\n" for row in kept))


# The command line.


def plans(args: argparse.Namespace, command: str) -> list[Plan]:
    methods = tuple(args.methods)
    return [
        Plan(table, split, methods, tuple(args.k), tuple(args.judges), args.quick, args.device, args.out, command)
        for table in args.tables
        for split in range(1 if table in OFFICIAL_SPLIT else args.splits)
    ]


def main(arguments: list[str] | None = None) -> None:
    words = sys.argv[1:] if arguments is None else arguments
    args = parse(words)
    if args.table or args.picture:
        rows = [row for row in rows_of(args.out) if row["quick"] == args.quick and row["table"] in args.tables]
        if args.table:
            print(tables(rows))
        if args.picture:
            draw(rows, args.picture)
        return
    if args.again:
        forget(args.out, args.tables, args.methods)
    todo = plans(args, " ".join(["python benchmarks/real_tables.py", *words]))
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes
    if args.jobs == 1:
        for plan in todo:
            report(plan, measure(plan))
        return
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        for plan, added in zip(todo, pool.map(measure, todo), strict=True):
            report(plan, added)


def report(plan: Plan, added: int) -> None:
    print(f"{plan.table}, split {plan.split}: {added} rows", flush=True)


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tables", nargs="+", default=list(table_names()), choices=[*table_names(), *NAMES], metavar="TABLE"
    )
    parser.add_argument("--splits", type=int, default=5)
    quick_ones = [method for method in METHODS if method not in SLOW]
    parser.add_argument("--methods", nargs="+", default=quick_ones, choices=[*METHODS, "all"], metavar="METHOD")
    parser.add_argument("--k", type=int, nargs="+", default=[1, 2, 3, 5, 8])
    parser.add_argument("--judges", nargs="+", default=list(JUDGES), choices=JUDGES)
    parser.add_argument("--again", action="store_true", help="measure also what there are rows of")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--device", default="cpu", help="of sklar and the baselines that are networks")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", action="store_true", help="print the rows as Markdown, and measure nothing")
    parser.add_argument("--picture", type=Path, help="draw the rows into this file, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="two tiny tables and fits, to see that it runs")
    args = parser.parse_args(words)
    if "all" in args.methods:
        args.methods = list(METHODS)
    if args.quick:
        given = {word for word in words if word.startswith("--")}
        args.tables = args.tables if "--tables" in given else QUICK_TABLES
        args.methods = args.methods if "--methods" in given else QUICK_METHODS
        args.splits, args.k = 1, [1, 2]
        args.out = args.out or Path(tempfile.mkdtemp()) / "rows.jsonl"
    args.out = args.out or OUT
    return args


if __name__ == "__main__":
    main()
