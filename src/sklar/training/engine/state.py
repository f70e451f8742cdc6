"""All that changes in a training, as named tensors, and back: what a checkpoint holds of it.

A state is a table of names and parts: modules, optimisers, generators, tensors, or such tables. What is put back goes
into the tensors that are there, because steps, averages and graphs hold on to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

State = Mapping[str, Any]  # of nn.Module, Optimizer, Generator, Tensor, State; None is nothing
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what Adam knows of a parameter


class StateError(ValueError):
    """Tensors that are not those of a state."""


def tensors_of(state: State) -> dict[str, Tensor]:
    """Copies of all tensors of a state, on the CPU.

    Examples
    --------
    >>> tensors_of({"a": torch.ones(2), "b": {"c": nn.Linear(1, 1, bias=False)}}).keys()
    dict_keys(['a', 'b.c.weight'])
    """
    parts = ((name, part) for name, part in _parts(state))
    return {key: value.detach().cpu().clone() for name, part in parts for key, value in _live(name, part).items()}


@torch.no_grad()
def put_back(state: State, tensors: Mapping[str, Tensor]) -> None:
    """Give a state the values that `tensors_of` took from one like it."""
    left = dict(tensors)
    for name, part in _parts(state):
        if isinstance(part, torch.optim.Optimizer):
            _put_back_moments(name, part, left)
        elif isinstance(part, torch.Generator):
            part.set_state(_taken(left, name, part.get_state()))
        else:
            for key, value in _live(name, part).items():
                value.copy_(_taken(left, key, value))
    if left:
        raise StateError(f"it has {min(left)!r}, which this training has not")


def _parts(state: State, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and parts, those of tables within the table too."""
    for name, part in state.items():
        if isinstance(part, Mapping):
            yield from _parts(part, f"{prefix}{name}.")
        elif part is not None:
            yield f"{prefix}{name}", part


def _live(name: str, part: Any) -> dict[str, Tensor]:
    """The tensors of a part as they are; of a generator a copy."""
    if isinstance(part, Tensor):
        return {name: part}
    if isinstance(part, torch.Generator):
        return {name: part.get_state()}
    if isinstance(part, nn.Module):
        return {f"{name}.{key}": value for key, value in part.state_dict().items()}
    known = ((i, part.state.get(weight, {})) for i, weight in enumerate(_weights(part)))
    return {f"{name}.{i}.{key}": moments[key] for i, moments in known for key in MOMENTS if moments}


def _weights(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    return [weight for group in optimiser.param_groups for weight in group["params"]]


def _put_back_moments(name: str, optimiser: torch.optim.Optimizer, left: dict[str, Tensor]) -> None:
    """A parameter that never had a gradient has none; rates are the schedule's, and not kept."""
    for i, weight in enumerate(_weights(optimiser)):
        if f"{name}.{i}.step" not in left:
            optimiser.state.pop(weight, None)
            continue
        like = {"step": torch.zeros(()), "exp_avg": weight, "exp_avg_sq": weight}
        moments = {key: _taken(left, f"{name}.{i}.{key}", like[key]) for key in MOMENTS}
        optimiser.state[weight] = {key: value.to(weight.device, copy=True) for key, value in moments.items()}


def _taken(left: dict[str, Tensor], key: str, like: Tensor) -> Tensor:
    value = left.pop(key, None)
    if value is None:
        raise StateError(f"{key!r} is missing")
    if value.shape != like.shape or value.dtype != like.dtype:
        found, wanted = (f"{tuple(t.shape)} {t.dtype}" for t in (value, like))
        raise StateError(f"{key!r} is {found} and should be {wanted}")
    return value
