"""Data whose relevant features are known."""

from sklar.datasets.dependence import make_interaction, make_redundant
from sklar.datasets.synthetic import SYNTHETIC_NAMES, make_synthetic

__all__ = ["SYNTHETIC_NAMES", "make_interaction", "make_redundant", "make_synthetic"]
