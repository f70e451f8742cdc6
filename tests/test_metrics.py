import numpy as np
import pytest

from sklar.metrics import false_discovery_rate, true_positive_rate

# relevant, selected, TPR, FDR: percent
ROWS = [
    ([1, 1, 0, 0], [1, 1, 0, 0], 100.0, 0.0),
    ([1, 1, 0, 0], [1, 0, 1, 0], 50.0, 50.0),
    ([1, 1, 0, 0], [0, 0, 1, 1], 0.0, 100.0),
    ([1, 1, 0, 0], [1, 1, 1, 1], 100.0, 50.0),
    ([1, 1, 0, 0], [0, 0, 0, 0], 0.0, 0.0),  # an empty selection scores 0 and 0
    ([0, 0, 0, 0], [1, 0, 0, 0], 0.0, 100.0),
]


@pytest.mark.parametrize(("relevant", "selected", "tpr", "fdr"), ROWS)
def test_one_row(relevant, selected, tpr, fdr):
    assert true_positive_rate([relevant], [selected]) == tpr
    assert false_discovery_rate([relevant], [selected]) == fdr


def test_rows_count_equally():
    relevant, selected = [row[0] for row in ROWS], [row[1] for row in ROWS]
    assert true_positive_rate(relevant, selected) == pytest.approx(np.mean([row[2] for row in ROWS]))
    assert false_discovery_rate(relevant, selected) == pytest.approx(np.mean([row[3] for row in ROWS]))


@pytest.mark.parametrize("metric", [true_positive_rate, false_discovery_rate])
@pytest.mark.parametrize("kind", [bool, int, float])
def test_any_kind_of_zero_and_one_and_a_plain_float_out(metric, kind):
    value = metric(np.array([[1, 0]], dtype=kind), np.array([[1, 0]], dtype=kind))
    assert type(value) is float


@pytest.mark.parametrize("metric", [true_positive_rate, false_discovery_rate])
@pytest.mark.parametrize(
    ("relevant", "selected"), [([1, 0], [1, 0]), ([[1, 0]], [[1, 0, 0]]), ([[1, 0]], [[1, 0], [1, 0]])]
)
def test_tables_that_do_not_match_are_refused(metric, relevant, selected):
    with pytest.raises(ValueError, match="relevant and selected"):
        metric(relevant, selected)


@pytest.mark.parametrize("metric", [true_positive_rate, false_discovery_rate])
def test_no_rows_have_no_mean(metric):
    with pytest.raises(ValueError, match="no rows"):
        metric(np.zeros((0, 3)), np.zeros((0, 3)))
