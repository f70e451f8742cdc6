"""Rows of a benchmark in a file: plans whose rows are there are not measured again, the others side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch
from joblib import Parallel, delayed

from sklar.paper.experiments.environment import commit

Row = dict


def known(path: Path) -> list[Row]:
    """The rows of a file; none where it is not there."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def missing(plans: Iterable[tuple], rows: Iterable[Row], key: Sequence[str]) -> list[tuple]:
    """The plans without a row; a plan begins with what its row says of the `key`."""
    done = {tuple(row.get(name) for name in key) for row in rows}
    return [plan for plan in plans if plan[: len(key)] not in done]


def collect(measure: Callable[..., list[Row]], plans: Sequence[tuple], path: Path, jobs: int = 1) -> list[Row]:
    """The rows of `measure(*plan)` for all plans, so many side by side, kept in the file as they come."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found, version = [], commit()
    with path.open("a", encoding="utf-8") as file:
        for rows in Parallel(jobs, return_as="generator_unordered")(delayed(_alone)(measure, plan) for plan in plans):
            for row in rows:
                found.append(row)
                file.write(json.dumps(row | {"commit": version}) + "\n")
            file.flush()
    return found


def _alone(measure: Callable[..., list[Row]], plan: tuple) -> list[Row]:
    torch.set_num_threads(1)
    return measure(*plan)
