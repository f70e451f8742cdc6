"""What a fit found, in a few lines: rows and columns, the penalty, how many features rows get and which most often."""

from __future__ import annotations

from typing import Any

from numpy import argsort

from sklar.fitted import FittedModel

FEW_ROWS = 50  # with fewer a selection is chance more than anything else
MOST_NAMED = 8


def fit_summary(fitted: FittedModel, X: Any, n_rows: int) -> dict[str, Any]:
    """What a fit to `n_rows` found, as plain values; shares are of the rows of X, in percent."""
    selected, names = fitted.masks(fitted.read(X)), fitted.schema.names
    shares = 100 * selected.mean(axis=0)
    return {
        "model": fitted.name,
        "n_rows": n_rows,
        "n_features": len(names),
        "penalty": float(fitted.penalty),
        "path": fitted.path,
        "mean_features": float(selected.sum(axis=1).mean()),
        "selected": {names[j]: float(shares[j]) for j in argsort(-shares) if shares[j] > 0},
    }


def summary_lines(fitted: FittedModel, summary: dict[str, Any]) -> list[str]:
    """The same for a person."""
    rows, selected = summary["n_rows"], summary["selected"]
    lines = [f"fitted {summary['model']} on {rows} rows x {summary['n_features']} features"]
    if rows < FEW_ROWS:
        lines.append(f"{rows} rows are too few to trust any selection: other rows would give another one")
    penalties = summary["path"].get("penalty", [])
    if penalties:
        others = f"; others, from {min(penalties):.2g} to {max(penalties):.2g}, can be asked for (--penalty)"
        lines.append(f"penalty {summary['penalty']:.3g}, chosen on held-out rows{others if fitted.priced else ''}")
    top = ", ".join(f"{name} {share:.0f}%" for name, share in list(selected.items())[:MOST_NAMED])
    more = f" and {len(selected) - MOST_NAMED} more" if len(selected) > MOST_NAMED else ""
    return [*lines, f"{summary['mean_features']:.1f} features per row; most often {top or 'none'}{more}"]
