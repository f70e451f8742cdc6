import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.table.cells import plain


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
def test_missing_cells_are_plain(missing):
    assert plain(missing) is None


def test_other_cells_are_plain():
    assert (plain(np.int64(3)), plain(np.True_), plain("a"), plain(pd.Timestamp("2020-01-01"))) == (
        3,
        True,
        "a",
        "2020-01-01 00:00:00",
    )


@pytest.mark.parametrize(
    "mistake",
    [
        lambda X, y: sklar.CopulaRankerClassifier(k=np.int64(0)).fit(X, y),
        lambda X, y: sklar.CopulaSelectorClassifier(forced=[np.int64(9)]).fit(X, y),
        lambda X, y: sklar.CopulaSelectorClassifier(costs={np.int64(0): np.float64(-1)}).fit(X, y),
        lambda X, y: sklar.CopulaSelectorClassifier(class_weight={np.int64(0): np.float64(-1)}).fit(X, y),
        lambda X, y: sklar.CopulaSelectorClassifier(groups=[np.int64(0)]).fit(X, y),
        lambda X, y: sklar.CopulaSelectorClassifier().fit(X, np.zeros(20, dtype=np.int64)),
        lambda X, y: sklar.CopulaSelectorClassifier().fit(X, y, sample_weight=np.full(20, np.float64(-1))),
        lambda X, y: sklar.CopulaSelectorClassifier().fit(pd.DataFrame({"a": ["x", np.int64(0)] * 10}), y),
    ],
)
def test_messages_speak_of_numbers_not_of_numpy(mistake):
    with pytest.raises((ValueError, TypeError)) as caught:
        mistake(np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2)
    assert "np." not in str(caught.value), str(caught.value)


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_a_date_is_one_whatever_it_counts(unit):
    """numpy gives dates in nanoseconds as whole numbers."""
    assert plain(np.datetime64("2020-02-06", unit)).startswith("2020-02-06")
    assert plain(np.datetime64("NaT", unit)) is None
