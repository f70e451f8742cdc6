"""The figures: every line has its data, no two names stand on each other."""

import numpy as np

from sklar.paper.experiments.specs import SPECS
from sklar.paper.figures import STYLES, accuracy_figure, pixels_figure, psd_figure, spread_apart


def rows(datasets=("mnist", "isolet")):
    common = {"setting": "", "quick": False, "overrides": {}}
    return [
        {
            **common,
            "method": method,
            "dataset": dataset,
            "k": k,
            "seed": seed,
            "metric": metric,
            "value": k + 10.0 * seed,
        }
        for method in ("sklar", "stg")
        for dataset in datasets
        for k in (10, 20)
        for seed in (0, 1)
        for metric in ("accuracy", "evalx")
    ]


def test_every_method_has_a_style_of_its_own():
    names = [method.name for method in SPECS["figure-accuracy"].methods]
    assert set(names) == set(STYLES)
    assert len({str(sorted(style.items())) for style in STYLES.values()}) == len(STYLES)


def test_accuracy_shows_means():
    figure = accuracy_figure(rows(), quick=False)
    assert len(figure.axes) == 4
    ax = figure.axes[0]
    assert ax.get_title() == "MNIST, own predictor"
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["sklar (honest)", "STG"]
    np.testing.assert_allclose(np.asarray(ax.containers[0][0].get_ydata(), dtype=float), [15, 25])


def test_intervals_end_at_100_and_every_method_is_named():
    """Two seeds 10 points apart have an interval of more than 60; one method ran on the second data set alone."""
    mine = [row for row in rows() if row["method"] == "sklar" or row["dataset"] == "isolet"]
    for row in mine:
        row["value"] += 70
    figure = accuracy_figure(mine, quick=False)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["sklar (honest)", "STG"]
    for ax in figure.axes:
        for bars in ax.containers:
            ends = np.concatenate([segment[:, 1] for segment in bars[2][0].get_segments()])
            assert ends.min() >= 0
            assert ends.max() == 100


def test_psd_names_every_class_once():
    panel = {"dataset": "fashion-mnist", "k": 40, "points": [[0, 0], [1, 1], [2, 0]], "labels": [0, 9, 9]}
    (ax,) = psd_figure({"panels": [panel]}).axes
    assert [text.get_text() for text in ax.texts] == ["T-shirt", "ankle boot"]
    assert ax.get_title() == "Fashion-MNIST, top-40"


def test_names_stand_apart():
    crowd = np.random.default_rng(0).uniform(0, 1, (10, 2)) * [0.3, 0.3]
    crowd = np.vstack([crowd, [[1, 1], [-1, -1]]])
    moved = spread_apart(crowd)
    gaps = np.abs(moved[:, None] - moved[None]) / np.ptp(crowd, axis=0)
    close = (gaps[..., 0] < 0.28) & (gaps[..., 1] < 0.06 - 1e-6)
    assert close.sum() == len(crowd)  # each with itself alone
    np.testing.assert_array_equal(moved[:, 0], crowd[:, 0])


def test_pixels_are_painted():
    image = [0] * 15 + [200]
    panel = {"method": "m", "labels": [1, 2], "images": [image, image], "pixels": [[0, 15], [3]]}
    figure = pixels_figure({"panels": [panel]})
    painted = figure.axes[2].images[0].get_array().reshape(16, 3)
    assert len({tuple(np.round(colour, 3)) for colour in painted}) == 3  # white, chosen and empty, chosen and inked
