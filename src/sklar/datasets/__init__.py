"""Data whose relevant features are known."""

from sklar.datasets.synthetic import SYNTHETIC_NAMES, make_synthetic

__all__ = ["SYNTHETIC_NAMES", "make_synthetic"]
