from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sklar.report.plots import plot_path
from tests.helpers import quick, toy_rows

PATH = {"penalty": [0.01, 0.1, 1.0], "mean_features": [4.0, 2.25, 1], "loss": [0.5, 0.4, 0.6], "error": [0.1, 0, 0.02]}
SCORES = {"score": [0.8, 0.82, 0.7], "score_error": [0.01, 0.02, 0.01]}


def test_the_chosen_penalty_is_ringed():
    ax = plot_path(SimpleNamespace(path_=PATH | SCORES, penalty_=0.1 * (1 + 1e-7)))
    ring = ax.lines[-1]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (2.25, 0.82)
    assert [text.get_text() for text in ax.texts] == ["0.01", "0.1", "1"]
    assert "chosen penalty 0.1" in ax.get_title("left")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("features per row", "held-out score")


def test_the_ring_is_of_the_fit_itself_not_of_what_answers_at_other_prices():
    from sklar import CopulaSelectorRegressor

    X, value = toy_rows(60)
    fitted = quick(CopulaSelectorRegressor, objective="honest", penalty="auto").fit(X, value).fitted_
    one = {
        "part": "penalty",
        "penalty": fitted.penalty,
        "mean_features": 2.0,
        "loss": 0.3,
        "score": 0.5,
        "chosen": True,
    }
    other = {**one, "mean_features": 3.0, "score": 0.7, "model": 1}
    ends = [{"part": "final", "mean_features": 1.0}, {"part": "final", "mean_features": 2.0}]
    ax = plot_path(replace(fitted, history=[one, {**one, "mean_features": 9.0, "chosen": False}, other, *ends]))
    np.testing.assert_allclose(ax.lines[-1].get_xydata()[0], [2.5, 0.6])
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"] == [1.5]
    one.pop("score")
    ax = plot_path(replace(fitted, history=[one, *ends]))
    assert ax.lines[-1].get_xdata()[0] in fitted.path["mean_features"]
    assert "dashed" not in ax.get_title("left")


def test_numbers_of_points_that_lie_together_do_not_overlap():
    path = {"penalty": [1, 2, 3, 4, 5, 6], "mean_features": [4.15, 4.14, 4.155, 4.15, 3.0, 1.0]}
    path |= {"loss": [0.5] * 6, "error": [0.1] * 6}
    assert [text.get_text() for text in plot_path(SimpleNamespace(path_=path, penalty_=3)).texts] == ["3", "5", "6"]
    alike = path | {"mean_features": [2.0] * 6}
    assert [text.get_text() for text in plot_path(SimpleNamespace(path_=alike, penalty_=3)).texts] == ["3"]


def test_the_score_has_its_name():
    from sklar import CopulaSelectorClassifier, CopulaSelectorRegressor

    X, value = toy_rows(60)
    for cls, y, name in ((CopulaSelectorClassifier, value > 0, "accuracy"), (CopulaSelectorRegressor, value, "R²")):
        model = quick(cls, objective="honest", penalty="auto").fit(X, y)
        assert plot_path(model).get_ylabel() == plot_path(model.fitted_).get_ylabel() == f"held-out {name}"


def test_without_scores_it_is_the_loss():
    ax = plot_path(SimpleNamespace(path_=PATH, penalty_=0.01))
    assert ax.lines[-1].get_ydata()[0] == 0.5
    assert ax.get_ylabel() == "held-out loss"


def test_a_ranker_has_a_curve_of_k():
    from sklar import CopulaRankerRegressor

    X, value = toy_rows(60)
    model = quick(CopulaRankerRegressor, objective="honest", k=3).fit(X, value)
    for asked in (model, model.fitted_):
        ax = plot_path(asked)
        assert ax.lines[-1].get_xdata()[0] == 3
        assert ax.get_title("left") == "fitted k ringed"


def test_no_path_is_said():
    with pytest.raises(ValueError, match="the penalty was given"):
        plot_path(SimpleNamespace(path_={}, penalty_=0.1))
