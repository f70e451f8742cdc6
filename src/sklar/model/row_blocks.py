"""Answering in blocks of rows: bounded memory for any number of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

# Entries of the widest array that answering a block of rows may make (float64: 16 MiB).
BLOCK_ENTRIES = 2**21

Model = TypeVar("Model", bound=nn.Module)
Read = Callable[[slice], np.ndarray]  # the inputs of some rows: (b, D)


def row_blocks(
    model: Model, n_rows: int, read: Read, device: torch.device, width: int
) -> Iterator[tuple[slice, Model, Tensor]]:
    """Blocks of rows on the device, x (1, b, D), with the model there; an answer has about `width` entries a row."""
    model = model if device.type == "cpu" else copy.deepcopy(model).to(device)
    size = max(1, BLOCK_ENTRIES // max(1, width))
    with torch.inference_mode():
        for start in range(0, n_rows, size):
            part = slice(start, min(start + size, n_rows))
            yield part, model, torch.from_numpy(read(part)).unsqueeze(0).to(device)


def map_rows(
    model: Model,
    n_rows: int,
    read: Read,
    answer: Callable[[Model, Tensor], Tensor],
    device: torch.device,
    width: int,
) -> np.ndarray:
    """`answer(model, x)`, (1, b, D) -> (1, b, ...), for every row: (n, ...).

    Examples
    --------
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> map_rows(nn.Identity(), 3, lambda part: x[part], lambda model, x: x.sum(-1), torch.device("cpu"), width=2)
    array([1., 5., 9.])
    """
    answers = RowAnswers(n_rows)
    for part, where, x in row_blocks(model, n_rows, read, device, width):
        answers.put(part, answer(where, x))
    return answers.values


class RowAnswers:
    """Answers about blocks of rows (1, b, ...), put together: (n, ...)."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.values: np.ndarray = np.empty(0)

    def put(self, part: slice, answer: Tensor) -> None:
        """Keep the answer about some rows; the first says what all look like."""
        found = answer[0].cpu().numpy()
        if part.start == 0:
            self.values = np.empty((self.n_rows, *found.shape[1:]), dtype=found.dtype)
        self.values[part] = found
