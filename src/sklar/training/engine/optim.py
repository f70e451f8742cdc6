"""Optimisers and learning rates: every factory stands here, with the flags that a captured CUDA graph needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

SLICE, LARGEST_SLICED = 8192, 2**20  # entries of a tensor

Named = Iterable[tuple[str, nn.Parameter]]


def adamw(
    module: nn.Module, learning_rate: float, weight_decay: float, no_decay: str = "", beta2: float = 0.999
) -> torch.optim.AdamW:
    """AdamW without decay of biases and of the parameter `no_decay`; on a GPU one that a graph can capture."""
    groups = decay_groups(
        module.named_parameters(), weight_decay, lambda name: not name.endswith("bias") and name != no_decay
    )
    device = groups[0]["params"][0].device
    on_gpu = device.type == "cuda"
    return (SlicedAdamW if on_gpu else torch.optim.AdamW)(
        groups,
        betas=(0.9, beta2),
        lr=torch.tensor(learning_rate, device=device) if on_gpu else learning_rate,
        fused=True,
        capturable=on_gpu,
    )


def adam(
    params: list[nn.Parameter] | list[dict[str, Any]],
    learning_rate: float,
    weight_decay: float = 0.0,
    fused: bool | None = None,
) -> torch.optim.Adam:
    """Adam on parameters or groups of them; on a GPU fused, and one that a graph can capture."""
    first = next(p for part in params for p in (part["params"] if isinstance(part, dict) else [part]))
    return torch.optim.Adam(
        params,
        lr=learning_rate,
        weight_decay=weight_decay,
        fused=first.is_cuda or fused,
        capturable=first.is_cuda,
    )


def decay_groups(named: Named, weight_decay: float, decays: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Two parameter groups: those whose name `decays`, and the others, without weight decay."""
    pairs = list(named)
    return [
        {"params": [p for name, p in pairs if decays(name)], "weight_decay": weight_decay},
        {"params": [p for name, p in pairs if not decays(name)], "weight_decay": 0.0},
    ]


def slices(tensor: Tensor) -> list[Tensor]:
    """Views of a tensor, piece by piece, for torch's operations on many tensors; of a large one, the whole.

    These give 65,536 entries to a block of threads: a small network has few such blocks, and a GPU idles.
    """
    flat = tensor.reshape(-1)
    return list(flat.split(SLICE)) if len(flat) <= LARGEST_SLICED else [flat]


class SlicedAdamW(torch.optim.AdamW):
    """AdamW that updates weights slice by slice, to the same values."""

    def __init__(self, groups: list[dict[str, Any]], **params: Any) -> None:
        self.parts: list[tuple[nn.Parameter, list[nn.Parameter]]] = []
        for group in groups:
            own = [(weight, [nn.Parameter(part) for part in slices(weight.detach())]) for weight in group["params"]]
            group["params"] = [part for _, parts in own for part in parts]
            self.parts += own
        super().__init__(groups, **params)

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Step by the gradients of the whole weights."""
        for weight, parts in self.parts:
            gradients = [None] * len(parts) if weight.grad is None else slices(weight.grad)
            for part, gradient in zip(parts, gradients, strict=True):
                part.grad = gradient
        super().step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the whole weights."""
        for weight, parts in self.parts:
            for each in (weight, *parts):
                each.grad = None


def step_and_clear(optimiser: torch.optim.Optimizer) -> None:
    """Step by the gradients, and drop them."""
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


def set_learning_rate(optimiser: torch.optim.Optimizer, learning_rate: float) -> None:
    """Change the rate in place, so that a captured graph sees it."""
    for group in optimiser.param_groups:
        set_group_rate(group, learning_rate)


def set_group_rate(group: dict[str, Any], learning_rate: float) -> None:
    """The same for one group of parameters."""
    if isinstance(group["lr"], torch.Tensor):
        group["lr"].fill_(learning_rate)
    else:
        group["lr"] = learning_rate


@dataclass(frozen=True)
class RateSchedule:
    """A learning rate that rises linearly, and falls along a cosine to a share of itself.

    Examples
    --------
    >>> [round(RateSchedule(1.0, warm_up=2).at(k, 8), 2) for k in range(8)]
    [0.5, 0.96, 0.85, 0.69, 0.5, 0.31, 0.15, 0.04]
    """

    rate: float
    warm_up: int = 1  # steps of the rise, at most about a fifth of all
    floor: float = 0.0  # the share that the cosine ends at; 1 is a constant rate

    def at(self, k: int, n_steps: int) -> float:
        """The rate of step k = 0 .. n_steps - 1."""
        rise = min(self.warm_up, 1 + n_steps // 5)
        return self.rate * (self.floor + (1 - self.floor) * cosine(k, n_steps)) * min(1.0, (k + 1) / rise)


def cosine(k: int, n_steps: int) -> float:
    """From 1 to 0 over the steps."""
    return 0.5 * (1 + math.cos(math.pi * k / n_steps))
