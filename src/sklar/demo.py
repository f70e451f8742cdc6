"""The first five minutes: train on data whose truth is known, say what was found, draw it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np


def run_demo(
    out: str | Path = "demo",
    name: str = "syn4",
    n_samples: int = 6_000,
    verbose: bool = True,
    echo: Callable[[str], object] = print,
) -> Path:
    """Fit a selector on one of Syn1-6, report it in a few lines, and save a picture and the model under `out`.

    Returns the path of the picture.
    """
    from sklar import CopulaSelectorClassifier
    from sklar.datasets import make_synthetic
    from sklar.metrics import false_discovery_rate, true_positive_rate

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    X, y, _ = make_synthetic(name, n_samples, random_state=0)
    X_test, y_test, relevant = make_synthetic(name, n_samples, random_state=1)
    names = [f"x{i}" for i in range(1, X.shape[1] + 1)]
    echo(f"Training on {name.capitalize()}: {len(X)} rows, {len(names)} features. Where x11 < 0 the label is")
    echo("decided by x1 * x2, elsewhere by x3..x6. Nobody tells the model; it must find out, row by row.")
    table, new_table = (dict(zip(names, rows.T, strict=True)) for rows in (X, X_test))
    selector = CopulaSelectorClassifier(random_state=0, verbose=verbose).fit(table, y)
    selected = np.asarray(selector.select(new_table))

    echo("")
    echo(f"On {len(X_test)} new rows, {selected.sum(axis=1).mean():.1f} features per row were selected:")
    for label, rows in (("x11 <  0", X_test[:, 10] < 0), ("x11 >= 0", X_test[:, 10] >= 0)):
        echo(f"  {label}: {_most_selected(selected[rows], names)}")
    echo(
        f"Against the truth: TPR {true_positive_rate(relevant, selected):.1f} % of the relevant features found, "
        f"FDR {false_discovery_rate(relevant, selected):.1f} % of the selected ones irrelevant."
    )
    echo(f"Accuracy from the selected features alone: {100 * selector.score(new_table, y_test):.1f} %.")
    selector.save(folder / "model.sklar")
    picture = _draw(folder / "masks.png", X_test, selected, relevant, names)
    page = selector.report(new_table, y_test, folder / "report.html", title=f"What decides {name}")
    echo(f"Picture: {picture}   Page to explore: {page}   Model: {folder / 'model.sklar'}")
    return picture


def _most_selected(selected: np.ndarray, names: list[str]) -> str:
    shares = 100 * selected.mean(axis=0)
    order = np.argsort(-shares)
    return ", ".join(f"{names[i]} {shares[i]:.0f}%" for i in order if shares[i] >= 5)


def _draw(path: Path, X: np.ndarray, selected: np.ndarray, relevant: np.ndarray, names: list[str]) -> Path:
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError('the picture needs matplotlib: pip install "sklar[plot]"') from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from sklar.report.plots import plot_masks

    shown = np.arange(min(200, len(X)))
    shown = shown[np.argsort(X[shown, 10])]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
    plot_masks(selected[shown], names, left, "selected by the model (200 new rows)", sort=False)
    plot_masks(relevant[shown], names, right, "the truth", sort=False)
    right.set_ylabel("")
    border = int((X[shown, 10] < 0).sum()) - 0.5
    for ax in (left, right):
        ax.axhline(border, color="#d1495b", linewidth=1.5)
    left.annotate("x11 < 0", (0.66, border - 4), xycoords=("axes fraction", "data"), color="#d1495b", fontsize=9)
    left.annotate("x11 ≥ 0", (0.66, border + 10), xycoords=("axes fraction", "data"), color="#d1495b", fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
