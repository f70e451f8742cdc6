"""Answers in blocks are the answers of all rows at once."""

import numpy as np
import pytest
import torch

from sklar.model import row_blocks as module
from sklar.model.row_blocks import map_rows, row_blocks

CPU = torch.device("cpu")
X = np.arange(70.0).reshape(35, 2)


@pytest.mark.parametrize("entries", [1, 20, 10_000])
def test_blocks_cover_every_row_once_in_order(monkeypatch, entries):
    monkeypatch.setattr(module, "BLOCK_ENTRIES", entries)
    seen = []
    for part, _, x in row_blocks(torch.nn.Identity(), 35, lambda part: X[part], CPU, width=4):
        assert x.shape[1] <= max(1, entries // 4)
        np.testing.assert_array_equal(x[0].numpy(), X[part])
        seen.extend(range(part.start, part.stop))
    assert seen == list(range(35))
    answer = map_rows(torch.nn.Identity(), 35, lambda part: X[part], lambda model, x: x > 30, CPU, width=4)
    assert answer.dtype == bool
    np.testing.assert_array_equal(answer, X > 30)
