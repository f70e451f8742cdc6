"""Data whose relevant features are known, and the real data sets of the paper."""

from sklar.datasets.dependence import make_interaction, make_redundant
from sklar.datasets.idx import load_images
from sklar.datasets.isolet import load_isolet
from sklar.datasets.synthetic import SYNTHETIC_NAMES, make_synthetic

__all__ = ["SYNTHETIC_NAMES", "load_images", "load_isolet", "make_interaction", "make_redundant", "make_synthetic"]
