"""How far a ranker persuades where every answer is known: votes that are each right with probability .6.

    python benchmarks/persuasion.py --jobs 2
    python benchmarks/persuasion.py --max-excess none        # without a price on it

Any k votes support the same accuracy, and the exact p(y | votes shown) is known, so the excess of a ranker's choice is
measured without a judge, on 10,000 new rows. `accuracy` is what that p makes of the votes shown, `supported` what any k
of them support. Beside it stands what the audit of 1,000 other new rows says of the excess. Rows go to --out; those
that are there are not measured again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rows import collect, known, missing
from scipy.stats import binom

from sklar import CopulaRankerClassifier

RIGHT = 0.6
CASES = ((10_000, 60, 5, 0), (10_000, 60, 5, 1), (3_000, 60, 5, 2), (1_500, 20, 3, 0))  # rows, votes, k, seed
AUDITED = 1_000
KEY = ("rows", "votes", "k", "seed", "max_excess")


def votes(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return np.where(rng.random((n, d)) < RIGHT, 1.0, -1.0) * (2 * y[:, None] - 1), y


def measure(n: int, d: int, k: int, seed: int, max_excess: float | None, max_epochs: int | None) -> list[dict]:
    words = {"max_excess": max_excess, "max_epochs": max_epochs, "random_state": seed}
    ranker = CopulaRankerClassifier(k=k, **words).fit(*votes(10 + seed, n, d))
    X, y = votes(20 + seed, 10_000, d)
    log_odds = (X * ranker.select(X)).sum(1) * np.log(RIGHT / (1 - RIGHT)) * (2 * y - 1)
    p = 1 / (1 + np.exp(-log_odds))
    entropy = -(p * np.log(p) + (1 - p) * np.log1p(-p))
    accuracy = np.mean(log_odds > 0) + np.mean(log_odds == 0) / 2
    found = {"excess": round(float(np.mean(entropy + np.log(p))), 3), "accuracy": round(float(accuracy), 3)}
    audit = ranker.audit(*votes(30 + seed, AUDITED, d), n_refits=0)
    told = {"audit_excess": round(audit.excess, 3), "audit_error": round(audit.excess_error, 3)}
    return [dict(zip(KEY, (n, d, k, seed, max_excess), strict=True)) | found | told | {"persuades": audit.persuades}]


def table(rows: list[dict]) -> str:
    lines = [
        "| rows | votes | k | `max_excess` | excess, nats | by the audit | accuracy | supported |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        supported = 1 - binom.cdf(row["k"] / 2, row["k"], RIGHT)  # k is odd
        told = (
            f"{row['audit_excess']:+.3f} +- {row['audit_error']:.3f}, {'persuades' if row['persuades'] else 'passes'}"
        )
        cells = (f"{row['rows']:,}", row["votes"], row["k"], row["max_excess"], f"{row['excess']:+.3f}", told)
        lines.append("| " + " | ".join(map(str, cells)) + f" | {100 * row['accuracy']:.1f} | {100 * supported:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-excess", default="0.01", help='a number, or "none"')
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--out", type=Path, default=Path("results/persuasion.jsonl"))
    parser.add_argument("--quick", action="store_true", help="one tiny fit, to see that it runs")
    args = parser.parse_args()
    most = None if args.max_excess == "none" else float(args.max_excess)
    cases, max_epochs = (((300, 6, 3, 0),), 2) if args.quick else (CASES, None)
    rows = known(args.out)
    plans = [(*case, most, max_epochs) for case in cases]
    print(table(rows + collect(measure, missing(plans, rows, KEY), args.out, args.jobs)))


if __name__ == "__main__":
    main()
