"""Weights packed for the tensor cores, unpacked again."""

import pytest
import torch

pytest.importorskip("triton", reason='needs Triton: pip install "sklar[triton-test]"')

from sklar.kernels._triton.packing import pack_weights
from tests.helpers import seeded
from tests.kernels.fused import DEVICE


def test_one_part_is_the_weight_itself_and_two_hold_all_of_it():
    weight = torch.randn(2, 3, 25, generator=seeded()).to(DEVICE)
    packed, inverses = pack_weights(weight.bfloat16(), 5, 1)
    kept = packed.float().flatten()
    assert torch.isin(weight.bfloat16().float().flatten(), kept).all()
    packed, inverses = pack_weights(weight, 5, 2)
    assert packed.dtype == torch.float16
    assert torch.isfinite(packed.float()).all()
    assert (inverses > 0).all()
    total = packed.float().abs().max() * inverses.max()
    assert total >= weight.abs().max() * (1 - 2**-9)
