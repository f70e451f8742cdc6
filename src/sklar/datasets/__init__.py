"""Data whose relevant features are known, and real tables."""

from sklar.datasets.dependence import (
    make_interaction,
    make_redundant,
    make_redundant_in_part,
    make_redundant_values,
)
from sklar.datasets.synthetic import SYNTHETIC_NAMES, make_synthetic
from sklar.datasets.tables import RealTable, load_table, table_names

__all__ = [
    "SYNTHETIC_NAMES",
    "RealTable",
    "load_table",
    "make_interaction",
    "make_redundant",
    "make_redundant_in_part",
    "make_redundant_values",
    "make_synthetic",
    "table_names",
]
