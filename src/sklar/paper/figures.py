"""The paper's three figures, drawn from rows and figure files; each function returns a matplotlib Figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.paper.data.idx import FASHION_LABELS
from sklar.paper.experiments.results import METRIC_LABELS, Summary, summaries
from sklar.paper.experiments.rows import Row
from sklar.paper.experiments.specs import Spec, spec_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, ACCENT, PAPER = "#1b3a4b", "#d1495b", "#f2efe9"
TITLES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "isolet": "ISOLET", "digits": "digits (quick)"}
# Ours and the paper's stand out; the baselines share quieter colours and differ by marker.
STYLES: dict[str, dict[str, Any]] = {
    "sklar": {"color": INK, "linewidth": 3.5, "marker": "o", "zorder": 5},
    "joint-full": {"color": ACCENT, "linewidth": 2.5, "marker": "s", "zorder": 4},
    "joint-independent": {"color": ACCENT, "linewidth": 2, "marker": "s", "linestyle": "--", "zorder": 4},
    "gdfs": {"color": "#e09f3e", "marker": "D"},
    "dime": {"color": "#6a4c93", "marker": "d"},
    "l2x": {"color": "#6a994e", "marker": "^"},
    "stg": {"color": "#457b9d", "marker": "v"},
    "cae": {"color": "#8d6a9f", "marker": "P"},
    "gradient-shap": {"color": "#9c6644", "marker": "X"},
    "lasso": {"color": "#7f7f7f", "marker": "<", "linestyle": ":"},
    "forest": {"color": "#7f7f7f", "marker": ">", "linestyle": "-."},
    "boosting": {"color": "#7f7f7f", "marker": "*", "linestyle": "-"},
}
LINE = {"linewidth": 1.8, "elinewidth": 1.2, "markersize": 8, "capsize": 3}
CLASS_COLOURS = (
    "#1f4e79", "#e07a1f", "#3a9144", "#c8102e", "#7b52ab", "#7d4f39", "#e377c2", "#6b6b6b", "#b8a50b", "#16a3b8",
)  # fmt: skip

CLASS_NAME: dict[str, Any] = {
    "ha": "center",
    "va": "center",
    "fontsize": 16,
    "weight": "bold",
    "bbox": {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
}


def accuracy_figure(rows: list[Row], quick: bool) -> Figure:
    """Accuracy against k, a panel for each data set: own predictors above, EVAL-X below."""
    import matplotlib.pyplot as plt

    spec, found = spec_of("figure-accuracy", quick), summaries(rows)
    datasets = [name for name in spec.datasets if any(key[1] == name for key in found)]
    size = (max(7.0, 4.6 * len(datasets)), 9)
    figure, axes = plt.subplots(2, len(datasets), figsize=size, sharex=True, layout="constrained", squeeze=False)
    for row, metric in zip(axes, ("accuracy", "evalx"), strict=True):
        for ax, dataset in zip(row, datasets, strict=True):
            _accuracy_panel(ax, spec, found, dataset, metric)
        row[0].set_ylabel("accuracy, %", fontsize=14)
    for ax in axes[-1]:
        ax.set_xlabel("features shown, k", fontsize=14)
    named = {
        label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }  # a method may have run on some of the data sets
    columns = 4 if len(datasets) > 1 else 2
    figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=columns, fontsize=13)
    return figure


def _accuracy_panel(ax: Any, spec: Spec, found: dict[tuple, Summary], dataset: str, metric: str) -> None:
    """A line with intervals for each method that was measured."""
    for method in spec.methods:
        points = {k: found.get((method.name, dataset, spec.setting, k, metric)) for k in spec.ks}
        measured = {k: point for k, point in points.items() if point}
        if measured:
            means = [point.mean for point in measured.values()]
            intervals = np.transpose([_interval(point) for point in measured.values()])
            ax.errorbar(list(measured), means, intervals, label=method.label, **{**LINE, **STYLES[method.name]})
    ax.set_title(f"{TITLES[dataset]}, {_metric_title(metric)}", fontsize=14)
    ax.set_xticks(spec.ks)
    ax.tick_params(labelsize=13)
    ax.grid(color="#dddddd", linewidth=0.8)


def _interval(point: Summary) -> tuple[float, float]:
    """How far the interval of a percentage reaches down and up; it ends at 0 and 100."""
    half = point.half_width or 0.0
    return min(half, point.mean), min(half, 100 - point.mean)


def _metric_title(metric: str) -> str:
    return "own predictor" if metric == "accuracy" else METRIC_LABELS[metric]


def psd_figure(data: dict[str, Any]) -> Figure:
    """t-SNE of the rows' covariances, a panel for each mask and data set, coloured by label, each class named once."""
    import matplotlib.pyplot as plt

    panels = data["panels"]
    figure, axes = plt.subplots(1, len(panels), figsize=(6 * len(panels), 6.4), layout="constrained", squeeze=False)
    for ax, panel in zip(axes[0], panels, strict=True):
        _psd_panel(ax, panel)
    return figure


def _psd_panel(ax: Any, panel: dict[str, Any]) -> None:
    points, labels = np.array(panel["points"]), np.array(panel["labels"])
    classes = np.unique(labels)
    middles = spread_apart(np.array([np.median(points[labels == label], axis=0) for label in classes]))
    for label, middle in zip(classes, middles, strict=True):
        colour = CLASS_COLOURS[label % 10]
        ax.scatter(*points[labels == label].T, s=14, color=colour, linewidths=0)
        name = FASHION_LABELS[label] if panel["dataset"] == "fashion-mnist" else str(label)
        ax.annotate(name, middle, color=colour, **CLASS_NAME)
    mask = "binary mask" if panel["k"] is None else f"top-{panel['k']}"
    ax.set_title(f"{TITLES[panel['dataset']]}, {mask}", fontsize=18)
    ax.set_xticks([])
    ax.set_yticks([])


def spread_apart(points: np.ndarray, width: float = 0.28, height: float = 0.06) -> np.ndarray:
    """Move points up and down until no two stand closer than a name's `width` and `height` (shares of their range).

    Examples
    --------
    >>> spread_apart(np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 10.0]]))[:2, 1].round(6).tolist()
    [-0.33, 0.33]
    """
    result, span = points.astype(float).copy(), np.maximum(np.ptp(points, axis=0), 1e-9)
    for _ in range(500):
        moved = False
        for i in range(len(result)):
            for j in range(i + 1, len(result)):
                gap = (result[j] - result[i]) / span
                if abs(gap[0]) < width and abs(gap[1]) < height - 1e-9:
                    push = (1.1 * height - abs(gap[1])) / 2 * span[1] * (1 if gap[1] >= 0 else -1)
                    result[i, 1] -= push
                    result[j, 1] += push
                    moved = True
        if not moved:
            break
    return result


def pixels_figure(data: dict[str, Any]) -> Figure:
    """Sample images above, and below, for each method, the same images with all but their best pixels dimmed."""
    import matplotlib.pyplot as plt

    panels = data["panels"]
    images, labels = np.array(panels[0]["images"]), panels[0]["labels"]
    side = int(np.sqrt(images.shape[1]))
    figure, axes = plt.subplots(
        1 + len(panels), len(labels), figsize=(1.45 * len(labels) + 1.2, 1.55 * (1 + len(panels))), layout="constrained"
    )
    for column, image in enumerate(images):
        axes[0][column].imshow(image.reshape(side, side), cmap="gray_r", vmin=0, vmax=images.max())
        axes[0][column].set_title(str(labels[column]), fontsize=15)
        for line, panel in enumerate(panels, 1):
            axes[line][column].imshow(_painted(image, panel["pixels"][column], images.max()).reshape(side, side, 3))
    headings = ["image", *(f"{panel['method']},\nbest {len(panel['pixels'][0])}" for panel in panels)]
    for row, heading in zip(axes, headings, strict=True):
        row[0].set_ylabel(heading, fontsize=12, rotation=0, ha="right", va="center")
        for ax in row:
            ax.set_xticks([])
            ax.set_yticks([])
    return figure


def _painted(image: np.ndarray, pixels: list[int], brightest: float) -> np.ndarray:
    """An image in faint grey with its best pixels in colour: dark where there is ink, light where there is none."""
    ink = (image / brightest)[:, None]
    faint, light, dark = (np.array(colour) for colour in ((0.82, 0.82, 0.82), (0.97, 0.75, 0.66), (0.72, 0.10, 0.22)))
    result = 1 - ink * (1 - faint)
    result[pixels] = (light + ink * (dark - light))[pixels]
    return result
