"""Division by the standard deviation, Norm(Sigma): what gives a Gaussian draw standard marginals.

All plain torch code calls these two. The fused kernels, and their reference in `sklar.kernels`, make a draw and its
deviation in one pass and divide there.
"""

from __future__ import annotations

from torch import Tensor


def normalised(values: Tensor, deviation: Tensor) -> Tensor:
    """values / sqrt(Sigma_ii), for draws q, rows of L, or sigma; the deviation broadcasts."""
    return values / deviation


def normalised_loadings(loadings: Tensor) -> tuple[Tensor, Tensor]:
    """For Sigma = L L^T + I: L_i / sqrt(|L_i|^2 + 1) (..., d, p), and 1 / sqrt(|L_i|^2 + 1) (..., d, 1).

    With `root` for the first, R = root root^T off the diagonal; the second is each gate's own noise.
    """
    own = (loadings.square().sum(-1, keepdim=True) + 1).rsqrt()
    return loadings * own, own
