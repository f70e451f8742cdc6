"""The costly steps of the mathematics, fused where there is a GPU with Triton, in plain torch elsewhere.

One function a step, each with two implementations of the same name: in `reference` and in `_triton`. Which one runs is
chosen by the tensors; `which_ran` says what it was, and `using` forces it (for tests and benchmarks). The flips of
honest training (`_triton.flips`) have their plain versions in `training.honest.copula_flips`, which asks `pick`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from sklar.kernels import reference

__all__ = ["full_draw", "low_rank_mask", "pick", "relaxed_topk", "using", "which_ran"]

FUSED_TYPES = (torch.float32, torch.bfloat16)
WIDEST_ROW = 16384  # of the fused top-k recursion: a row must fit into one program's registers
MOST_UNITS = (
    256  # hidden, of the fused full-rank draw, half of it in float32: their weights must fit into shared memory
)

_forced: list[str] = []
_ran: dict[str, str] = {}


def full_draw(hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """q = L zeta and the squared lengths of L's rows, for L = act(h W + b) that is never stored.

    hidden (R, n, r), weight (R, r, d d), bias (R, 1, d d), zeta (R, n, d); activation "tanh" or "relu". The first three
    may be bfloat16 where zeta is float32, on a GPU: L is then made from these, and summed in float32.

    Examples
    --------
    >>> h, w, b, zeta = torch.ones(1, 1, 1), torch.zeros(1, 1, 4), torch.ones(1, 1, 4), torch.ones(1, 1, 2)
    >>> [t.tolist() for t in full_draw(h, w, b, zeta, "relu")]
    [[[[2.0, 2.0]]], [[[2.0, 2.0]]]]
    """
    units = hidden.shape[-1] * (2 if hidden.dtype == torch.float32 else 1)
    fused = not zeta.requires_grad and hidden.dtype in FUSED_TYPES and units <= MOST_UNITS
    return _implementation("full_draw", zeta, fused).full_draw(hidden, weight, bias, zeta, activation)


def low_rank_mask(
    scores: Tensor,
    head: Tensor | None,
    xi: Tensor | None,
    eps: Tensor,
    temperature: float,
    activation: str = "tanh",
) -> Tensor:
    """Scores -> correlated noise -> mask, hard forward and relaxed backward.

    scores, eps (..., d), xi (..., p), head (..., (p + 1) d): a row's loadings L^T (p, d) and sigma (d,) before their
    activations. L's is "tanh" or "relu"; sigma is the size of the other, at least 1e-3. Without a head gates are
    independent.

    Examples
    --------
    >>> scores, head = torch.tensor([3.0, -3.0]), torch.tensor([0.5, 0.5, 1.0, 1.0])
    >>> low_rank_mask(scores, head, torch.zeros(1), torch.zeros(2), 1.0).tolist()
    [1.0, 0.0]
    """
    scores, eps = torch.broadcast_tensors(scores, eps)
    implementation = _implementation("low_rank_mask", scores, scores.numel() > 0)
    return implementation.low_rank_mask(scores, head, xi, eps, temperature, activation)


def relaxed_topk(keys: Tensor, k: int, temperature: float, step: float) -> Tensor:
    """z~ = sum_s p^s, with p^s = softmax(v^s / t) and v^(s+1) = v^s + step log(1 - p^s): like keys, (..., d).

    Examples
    --------
    >>> relaxed_topk(torch.tensor([9.0, 0.0, 8.0]), 2, 0.1, 1.0).round().tolist()
    [1.0, 0.0, 1.0]
    """
    implementation = _implementation("relaxed_topk", keys, keys.shape[-1] <= WIDEST_ROW)
    return implementation.relaxed_topk(keys, k, temperature, step)


def which_ran(name: str) -> str | None:
    """The implementation that the last call of a kernel took: "triton", "reference", or None before the first.

    Examples
    --------
    >>> with using("reference"):
    ...     _ = relaxed_topk(torch.zeros(3), 1, 1.0, 1.0)
    >>> which_ran("relaxed_topk")
    'reference'
    """
    return _ran.get(name)


@contextmanager
def using(implementation: str) -> Iterator[None]:
    """Inside, every kernel takes this implementation where it can: "reference", or "triton".

    Without a GPU the latter needs Triton's interpreter (TRITON_INTERPRET=1, set before Triton is imported).
    """
    if implementation not in ("reference", "triton"):
        raise ValueError(f"implementation must be 'reference' or 'triton'; got {implementation!r}")
    if implementation == "triton" and not _has_triton():
        raise ImportError("the package 'triton' is not installed")
    _forced.append(implementation)
    try:
        yield
    finally:
        _forced.pop()


def pick(name: str, tensor: Tensor, fused: bool) -> str:
    """The implementation that a kernel is to take, "triton" or "reference": `fused` says whether Triton's covers it.

    Examples
    --------
    >>> pick("copula_flips", torch.zeros(3), fused=False)
    'reference'
    """
    wanted = _forced[-1] if _forced else "triton" if tensor.is_cuda and _has_triton() else "reference"
    _ran[name] = "triton" if wanted == "triton" and fused and tensor.dtype in FUSED_TYPES else "reference"
    return _ran[name]


def _implementation(name: str, tensor: Tensor, fused: bool) -> ModuleType:
    """Triton for what it can do, on a GPU or where it is forced."""
    if pick(name, tensor, fused) == "reference":
        return reference
    from sklar.kernels import _triton

    return _triton


@cache
def _has_triton() -> bool:
    """With NVIDIA's GPUs: the kernels speak their assembler here and there."""
    return importlib.util.find_spec("triton") is not None and torch.version.hip is None
