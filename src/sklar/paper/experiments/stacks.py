"""What stacks of fits share: tables of one shape scaled and put side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.table.scaling import Scaling

Table = tuple[np.ndarray, np.ndarray]  # rows and labels 0, 1, ...
SCALINGS = ("column", "global", "unit")


@dataclass(frozen=True)
class Answers:
    """What one problem's model says about rows it was not trained on."""

    selected: np.ndarray  # bool (n, d)
    accuracy: float  # percent
    gate_correlation: np.ndarray | None = None  # (d, d), where all rows share one


def known_params(defaults: dict[str, Any], given: dict[str, Any], what: str) -> dict[str, Any]:
    """The defaults with the given parameters over them; one that is not among them is refused."""
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise ValueError(f"{what} has no parameter {unknown[0]!r}; it has {', '.join(sorted(defaults))}")
    return {**defaults, **given}


def stack_tables(data: list[Table], scaling: str, device: torch.device) -> tuple[list[Scaling], Tensor, Tensor]:
    """Scaled rows (P, n, d) and labels (P, n); a table that all problems share is scaled once."""
    first = data[0][0]
    shared = all(X is first for X, *_ in data)
    tables = [first] if shared else [X for X, *_ in data]
    scalings = [scaling_of(X, scaling) for X in tables]
    scaled = [torch.from_numpy(s.apply(X).astype(np.float32)) for s, X in zip(scalings, tables, strict=True)]
    x = torch.stack(scaled).to(device).expand(len(data), -1, -1)
    y = torch.from_numpy(np.stack([labels for _, labels, *_ in data])).to(device)
    return scalings * (len(data) if shared else 1), x, y


def scaling_of(X: np.ndarray, how: str) -> Scaling:
    """Columns to mean 0 and deviation 1 ("column"), all by one mean and deviation ("global"), or as they are ("unit").

    Examples
    --------
    >>> scaling_of(np.array([[0.0, 1.0], [0.0, 3.0]]), "global").centre
    array([1., 1.])
    """
    d = X.shape[1]
    if how == "column":
        return Scaling.of(X, [str(j) for j in range(d)])
    if how == "global":
        return Scaling(np.full(d, X.mean(dtype=np.float64)), np.full(d, X.std(dtype=np.float64) or 1.0))
    if how == "unit":
        return Scaling(np.zeros(d), np.ones(d))
    raise ValueError(f"scaling must be one of {SCALINGS}; got {how!r}")
