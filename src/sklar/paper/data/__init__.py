"""The real data sets of the paper, read from their published files."""

from sklar.paper.data.idx import load_images
from sklar.paper.data.isolet import load_isolet

__all__ = ["load_images", "load_isolet"]
