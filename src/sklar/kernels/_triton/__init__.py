"""The costly steps fused, in Triton: what plain torch makes in chunks is made here in registers.

Kernels compute in float32 whatever the tensors' type; matrix units take products of bfloat16's, and in the full-rank
draw of float32's that were cut into parts.
"""

from __future__ import annotations

from sklar.kernels._triton.flips import flips_at_thresholds
from sklar.kernels._triton.full_rank import full_draw
from sklar.kernels._triton.low_rank import low_rank_mask
from sklar.kernels._triton.topk import relaxed_topk

__all__ = ["flips_at_thresholds", "full_draw", "low_rank_mask", "relaxed_topk"]
