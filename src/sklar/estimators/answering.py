"""Answering in blocks of rows, as a mixin: bounded memory for any number of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.model.selection import GateModel
from sklar.table.reading import TableReading
from sklar.table.sparse import dense, like
from sklar.training.engine.runtime import resolve_device

# Entries of the widest array that answering a block of rows may make (float64: 16 MiB).
BLOCK_ENTRIES = 2**21

COPULA_HEAD = "choice.copula.weight"

Answer = Callable[[GateModel, Tensor], Tensor]  # rows (1, b, w) -> (1, b, ...)


class BlockAnswers(TableReading):
    """What the model says of rows, at the table's full width."""

    device: str
    model_: GateModel
    union_gates_: np.ndarray  # the model's gate of each column of the union

    def _blocks(self, rows: np.ndarray, width: int) -> Iterator[tuple[slice, GateModel, Tensor]]:
        """Blocks of rows, scaled, on the device, with the model there: bounded memory for any number of rows."""
        device = resolve_device(self.device)
        model = self.model_ if device.type == "cpu" else copy.deepcopy(self.model_).to(device)
        a = self.model_.architecture
        size = max(1, BLOCK_ENTRIES // max(width, a.n_inputs, a.choice_hidden, 4 * a.predict_hidden))
        columns = self._read_columns()
        with torch.inference_mode():
            for start in range(0, rows.shape[0], size):
                part = slice(start, min(start + size, rows.shape[0]))
                x = self.encoding_.apply(dense(rows[part], columns), columns)
                yield part, model, torch.from_numpy(x).unsqueeze(0).to(device)

    def _map_rows(self, rows: np.ndarray, answer: Answer, width: int, dtype: type, draws: int = 1) -> np.ndarray:
        """`answer` for every row: (n, width)."""
        result: np.ndarray = np.empty((rows.shape[0], width), dtype=dtype)
        for part, model, x in self._blocks(rows, draws):
            result[part] = answer(model, x)[0].cpu().numpy()
        return result

    def _per_feature(self, rows: np.ndarray, answer: Answer, dtype: type, draws: int = 1) -> Any:
        """`answer` about every feature of every row, 0 for features that the model does not read: (n, d)."""
        inside = self._map_rows(rows, answer, self.model_.architecture.n_features, dtype, draws)
        if inside.shape[1] < len(self.union_):  # columns that share a gate
            inside = inside[:, self.union_gates_]
        return like(rows, inside, self.union_, self.n_features_in_)

    def _masks(self, rows: Any) -> Any:
        return self._per_feature(rows, _decide, bool)

    def _outputs(self, rows: np.ndarray) -> np.ndarray:
        """What is predicted from the selected features: logits or values, (n, out)."""
        n_outputs = self.model_.architecture.n_outputs
        return self._map_rows(rows, lambda model, x: model.output(x, _decide(model, x).to(x.dtype)), n_outputs, float)

    def _entries_of_loadings(self) -> int:
        """Entries of L and sigma for one row; none where all rows share L."""
        return sum(value.shape[-1] for name, value in self.model_.named_parameters() if name.endswith(COPULA_HEAD))


def _decide(model: GateModel, x: Tensor) -> Tensor:
    return model.decide(model.scores(x))
