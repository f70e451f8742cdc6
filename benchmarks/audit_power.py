"""How often the audit is right: selections whose answer is known, many draws of each.

    python benchmarks/audit_power.py                      # 50 draws of each case, some 10 minutes on 16 cores
    python benchmarks/audit_power.py --draws 5 --cases votes-agree constant
    python benchmarks/audit_power.py --table              # Markdown, from the rows

Masks are made, not learned, so that it is known what they say:

    constant, random      one set for all rows; a set for each row drawn at random                     must pass
    switch-shown          Syn4's relevant features, the switch among them                              must pass
    switch-hidden         the same without the switch, which the mask then tells                       must be caught
    code                  x8 for one class and x9 for the other, and neither says anything             must be caught
    votes-random          60 votes that are each right in 6 of 10: five at random                      must pass
    votes-agree           five that agree with most of the 60                                          must be caught
    values-constant       ten features that add up: three of them, the same for all                    must pass
    values-agree          the three that go furthest in the direction of the sum of all ten            must be caught
    counts-*, times-*     rates and hazards by a sign that 60 votes are each right about in 6 of 10: five at random, or
                          five that agree with most
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch

from sklar.audit import AuditReport
from sklar.datasets import make_synthetic
from sklar.outcomes import Outcome, outcome_of
from sklar.selection_scores import selection_scores

OUT = Path("results/audit-power.jsonl")
ROWS = 3_000
FIRST_SEED = 5_000
CAUGHT = {
    "constant": False,
    "random": False,
    "switch-shown": False,
    "switch-hidden": True,
    "code": True,
    "votes-random": False,
    "votes-agree": True,
    "values-constant": False,
    "values-agree": True,
    "counts-random": False,
    "counts-agree": True,
    "times-random": False,
    "times-agree": True,
}


def draw(case: str, number: int) -> tuple[np.ndarray, Outcome, np.ndarray]:
    """Rows, outcomes and masks of a case."""
    rng = np.random.default_rng(FIRST_SEED + number)
    kind, _, choice = case.partition("-")
    if kind in ("votes", "counts", "times"):
        return votes(rng, kind, choice)
    if kind == "values":
        return sums(rng, choice)
    X, y, relevant = make_synthetic("syn4", n_samples=ROWS, random_state=FIRST_SEED + number)
    masks = np.array(relevant, dtype=bool)
    if case == "switch-hidden":
        masks[:, 10] = False
    elif case == "constant":
        masks = np.tile(np.arange(X.shape[1]) < 4, (ROWS, 1))
    elif case == "random":
        masks = rng.random(X.shape).argsort(axis=1) < 4
    elif case == "code":
        masks = np.zeros_like(masks)
        masks[np.arange(ROWS), 8 + np.asarray(y, dtype=int)] = True
    return X, outcome_of(y, np.unique(y)), masks


def votes(rng: np.random.Generator, kind: str, choice: str) -> tuple[np.ndarray, Outcome, np.ndarray]:
    sign = rng.choice([-1.0, 1.0], ROWS)
    X = np.where(rng.random((ROWS, 60)) < 0.6, 1.0, -1.0) * sign[:, None]
    agreement = X * np.sign(X.sum(axis=1, keepdims=True) + 0.5) if choice == "agree" else np.zeros_like(X)
    masks = (-agreement + 0.01 * rng.random(X.shape)).argsort(axis=1).argsort(axis=1) < 5
    if kind == "votes":
        return X, outcome_of(sign, np.array([-1.0, 1.0])), masks
    if kind == "counts":
        return X, outcome_of(rng.poisson(np.exp(sign)), counts=True), masks
    time, end = rng.exponential(np.exp(-sign)), rng.exponential(3.0, ROWS)
    y = np.array(list(zip(time <= end, np.minimum(time, end), strict=True)), dtype=[("event", bool), ("time", float)])
    return X, outcome_of(y), masks


def sums(rng: np.random.Generator, choice: str) -> tuple[np.ndarray, Outcome, np.ndarray]:
    X = rng.standard_normal((ROWS, 10))
    total = 0.5 * X.sum(axis=1)
    masks = np.tile(np.arange(10) < 3, (ROWS, 1))
    if choice == "agree":
        masks = (-X * np.sign(total)[:, None]).argsort(axis=1).argsort(axis=1) < 3
    return X, outcome_of(total + 0.3 * rng.standard_normal(ROWS)), masks


def measure(case_and_number: tuple[str, int]) -> dict[str, object]:
    case, number = case_and_number
    torch.set_num_threads(1)
    X, outcome, masks = draw(case, number)
    # The own predictor is not asked about: a constant one is never ahead of EVAL-X, so that the masks alone decide.
    scores = selection_scores(X, outcome, masks, outcome.guess(), random_state=number)
    report = AuditReport(
        **scores,
        mean_features=float(masks.sum(axis=1).mean()),
        union_features=X.shape[1],
        noise_agreement=100.0,
        refit_agreement=None,
        n_rows=len(X),
    )
    numbers = ("evalx_score", "expected_score", "excess", "excess_error", "constant_excess", "mask_score")
    found = {name: round(float(getattr(report, name)), 4) for name in numbers}
    return {"case": case, "draw": number, **found, "encodes": report.encodes, "persuades": report.persuades}


def table(rows: list[dict[str, object]]) -> str:
    lines = ["| case | draws | caught | should be | excess, mean | its standard error |", "|---|---|---|---|---|---|"]
    for case, wanted in CAUGHT.items():
        mine = [row for row in rows if row["case"] == case]
        if mine:
            caught = sum(bool(row["encodes"] or row["persuades"]) for row in mine)
            means = [np.mean([float(row[name]) for row in mine]) for name in ("excess", "excess_error")]  # type: ignore[arg-type]
            should = len(mine) if wanted else 0
            lines.append(f"| {case} | {len(mine)} | {caught} | {should} | {means[0]:+.3f} | {means[1]:.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CAUGHT), choices=list(CAUGHT))
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true", help="print the rows as Markdown, and measure nothing")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.is_file() else []
    done = {(row["case"], row["draw"]) for row in rows}
    wanted = [(case, number) for case in args.cases for number in range(args.draws) if (case, number) not in done]
    if not args.table and wanted:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(args.jobs) as pool, args.out.open("a", encoding="utf-8") as file:
            for row in pool.map(measure, wanted):
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
    print(table(rows))


if __name__ == "__main__":
    main()
