"""How a predictor of the user's learns, and which cannot."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from sklar.predictor.fit import require_usable, seeded, train_predictor
from sklar.table.schema import Schema, read_training_table
from sklar.target import encode_classes, encode_numbers
from tests.helpers import toy_rows

TREES = HistGradientBoostingClassifier(max_iter=10)


def trained(predictor, X, encoded, masks):
    schema = Schema.of(read_training_table(X, np.arange(len(X)), None, "test"), {})
    x = schema.training_inputs(schema.read(X))
    return train_predictor(predictor, schema, x, masks, encoded, 0), x


def test_it_learns_what_the_shown_features_say():
    X, value = toy_rows(600)
    everything = np.ones(X.shape, dtype=bool)
    predictor, x = trained(TREES, X, encode_classes(value > 0, None, None), everything)
    assert predictor.is_plain
    right = predictor.outputs(x, everything).argmax(axis=1) == (value > 0)
    assert right.mean() > 0.9
    nothing = predictor.outputs(x, ~everything)
    assert np.ptp(nothing, axis=0).max() == 0  # nothing shown: one answer for all


def test_a_code_in_the_masks_is_not_learned():
    """Masks that tell y by which noise they show, so that a predictor of them would give y probability 1.

    What is learned of them by chance is a share of one class among half of the 2,000 rows, 5 standard errors.
    """
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4000, 2)), rng.integers(0, 2, 4000)
    masks = np.eye(2, dtype=bool)[y]
    predictor, _ = trained(TREES, X[:2000], encode_classes(y[:2000], None, None), masks[:2000])
    others = Schema.of(read_training_table(X, y, None, "test"), {}).training_inputs(X)[2000:]
    of_y = np.exp(predictor.outputs(others, masks[2000:]))[np.arange(2000), y[2000:]]
    assert abs(of_y.mean() - 0.5) < 5 * 0.5 / np.sqrt(1000)


def test_rows_count_as_their_weights_say():
    X = np.zeros((200, 1))
    y = np.arange(200) % 2
    X[:2] = [[1.0], [-1.0]]
    encoded = encode_classes(y, None, np.where(y == 1, 3.0, 1.0))
    predictor, x = trained(TREES, X, encoded, np.ones((200, 1), dtype=bool))
    logits = predictor.outputs(x[50:51], np.ones((1, 1), dtype=bool))[0]
    assert np.exp(logits[1]) == pytest.approx(0.75, abs=0.02)


def test_several_values_have_a_predictor_each():
    X, value = toy_rows(300)
    y = np.column_stack([value, X[:, 0]])
    everything = np.ones(X.shape, dtype=bool)
    predictor, x = trained(
        HistGradientBoostingRegressor(max_iter=30), X, encode_numbers(y, "squared", None), everything
    )
    outputs = predictor.outputs(x, everything)
    for j in range(2):
        assert np.corrcoef(outputs[:, j], y[:, j])[0, 1] > 0.9


def test_an_open_random_state_is_closed_and_another_kept():
    assert seeded(HistGradientBoostingClassifier(), 7).random_state == 7
    assert seeded(HistGradientBoostingClassifier(random_state=3), 7).random_state == 3
    nested = seeded(make_pipeline(SimpleImputer(), RandomForestClassifier()), 7)
    assert nested[-1].random_state == 7


@pytest.mark.parametrize(
    ("predictor", "kind", "weighted", "said"),
    [
        (LinearRegression(), "values", False, "missing values"),
        (LogisticRegression(), "classes", False, "SimpleImputer"),
        (HistGradientBoostingRegressor(), "classes", False, "must be a classifier"),
        (HistGradientBoostingClassifier(), "values", False, "must be a regressor"),
        (LinearSVC(), "classes", False, "predict_proba"),
        (make_pipeline(SimpleImputer(), KNeighborsClassifier()), "classes", True, "sample_weight"),
    ],
)
def test_what_cannot_be_a_predictor_is_refused_before_the_work(predictor, kind, weighted, said):
    with pytest.raises(ValueError, match=said):
        require_usable(predictor, kind, weighted)


def test_what_can_be_is_not():
    """And is left as it was: not fitted."""
    imputed = make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression())
    trees = HistGradientBoostingRegressor(max_iter=5)
    require_usable(imputed, "classes", False)
    require_usable(trees, "values", True)
    assert not hasattr(imputed[-1], "coef_")
    assert not hasattr(trees, "n_iter_")
