"""Masks of images, drawn over them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.report.plots.style import axes_or_new
from sklar.table.adapter import adapt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIGHT, DARK = np.array([1.0, 0.71, 0.40]), np.array([0.55, 0.16, 0.0])  # a selected pixel, empty and full
OUTLINE = "#3b1000"


def plot_image_masks(
    images: Any,
    masks: Any,
    titles: Sequence[str] | None = None,
    ax: Axes | None = None,
    *,
    shape: tuple[int, int] | None = None,
    columns: int = 8,
) -> Axes:
    """Draw images with their selected pixels in colour and outlined, side by side on one Axes.

    Parameters
    ----------
    images : (n, pixels) or (n, height, width), one brightness a pixel, any range
    masks : bool, like the images
    titles : n short lines, say "7 → 9"
    ax : where to draw; None makes a figure
    shape : (height, width) of flat images; None takes them to be square
    columns : images side by side

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = plot_image_masks(np.random.default_rng(0).random((3, 16)), np.eye(3, 16, dtype=bool), columns=2)
    >>> ax.images[0].get_array().shape
    (12, 12, 3)
    """
    pixels, chosen = adapt(images).dense().astype(float), adapt(masks).dense().astype(bool)
    if pixels.shape != chosen.shape:
        raise ValueError(f"images and masks must have one shape; got {pixels.shape} and {chosen.shape}")
    if titles is not None and len(titles) != len(pixels):
        raise ValueError(f"{len(pixels)} images need as many titles; got {len(titles)}")
    height, width = pixels.shape[1:] if pixels.ndim == 3 else shape or _square(pixels.shape[1])
    pixels, chosen = pixels.reshape(-1, height, width), chosen.reshape(-1, height, width)
    low, high = pixels.min(initial=0), pixels.max(initial=1)
    ink = (pixels - low) / ((high - low) or 1.0)
    columns = min(columns, len(pixels))
    lines = -(-len(pixels) // columns)
    gap = max(2, height // 5) if titles is not None else 2
    canvas = np.ones((lines * (height + gap), columns * (width + 2), 3))
    ax = axes_or_new(ax, 1.35 * columns, 1.35 * lines * (height + gap) / (width + 2))
    segments: list[Any] = []
    for place in range(len(pixels)):
        top, left = place // columns * (height + gap) + gap - 1, place % columns * (width + 2) + 1
        canvas[top : top + height, left : left + width] = _coloured(ink[place], chosen[place])
        segments += _outline(chosen[place], top, left)
        if titles is not None:
            ax.text(left + width / 2 - 0.5, top - 1, titles[place], ha="center", va="bottom", fontsize=9)
    _show(ax, canvas, segments)
    return ax


def _coloured(ink: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Pale greys, selected pixels in orange to brown: (height, width, 3)."""
    grey = np.repeat(0.95 - 0.38 * ink[..., np.newaxis], 3, axis=-1)
    return np.where(chosen[..., np.newaxis], LIGHT + ink[..., np.newaxis] * (DARK - LIGHT), grey)


def _outline(chosen: np.ndarray, top: int, left: int) -> list[Any]:
    """The border between selected pixels and others, as line segments."""
    padded = np.pad(chosen, 1)
    rows, cols = np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1])
    across = [
        ((left + x - 0.5, top + y - 0.5), (left + x + 0.5, top + y - 0.5)) for y, x in zip(rows, cols, strict=True)
    ]
    rows, cols = np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1])
    down = [((left + x - 0.5, top + y - 0.5), (left + x - 0.5, top + y + 0.5)) for y, x in zip(rows, cols, strict=True)]
    return across + down


def _show(ax: Axes, canvas: np.ndarray, segments: list[Any]) -> None:
    from matplotlib.collections import LineCollection

    ax.imshow(canvas, interpolation="nearest")
    ax.add_collection(LineCollection(segments, colors=OUTLINE, linewidths=1.3))
    ax.set_axis_off()


def _square(n_pixels: int) -> tuple[int, int]:
    side = isqrt(n_pixels)
    if side * side != n_pixels:
        raise ValueError(f"{n_pixels} pixels are not a square: say shape=(height, width)")
    return side, side
