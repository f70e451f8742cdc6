"""What each table and figure of the paper needs: data and methods. One frozen spec each.

A quick spec is the same on small data, to see
that everything runs; on images it uses the 8 x 8 digits that scikit-learn ships.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sklar.datasets import SYNTHETIC_NAMES
from sklar.paper.experiments.methods import (
    FULL_RANK,
    IMAGE_BASELINES,
    IMAGES_NOLA,
    INVASE,
    INVASE_WIDE,
    JOINT,
    JOINT_NOLA,
    LOW_RANK,
    OTHER_BASELINES,
    OURS,
    OURS_IMAGES,
    OURS_NOLA,
    Method,
)
from sklar.training.honest.judge import JudgeSettings


@dataclass(frozen=True)
class Spec:
    """One table or figure."""

    name: str
    title: str
    kind: str  # "synthetic", "real" or "figure"
    methods: tuple[Method, ...]
    datasets: tuple[str, ...]
    metrics: tuple[str, ...]
    seeds: int  # by default
    setting: str = ""
    n_features: int = 0
    correlation: float = 0.0
    rows: int = 10_000  # to train on, and as many of another draw to test on
    ks: tuple[int, ...] = ()
    judge: JudgeSettings = field(default_factory=JudgeSettings)  # EVAL-X, of real data
    is_quick: bool = False
    held_out: bool = False  # test on training rows held out from every fit: for a trial that chooses a setting

    def method(self, name: str) -> Method:
        """The method called `name`."""
        return next(method for method in self.methods if method.name == name)


K_CURVE = (10, 20, 30, 40)


def _synthetic(name: str, title: str, setting: str, d: int, correlation: float, methods: tuple[Method, ...]) -> Spec:
    return Spec(
        name=name,
        title=title,
        kind="synthetic",
        methods=methods,
        datasets=SYNTHETIC_NAMES,
        metrics=("tpr", "fdr", "accuracy"),
        seeds=10,
        setting=setting,
        n_features=d,
        correlation=correlation,
    )


def _real(name: str, title: str, methods: tuple[Method, ...], datasets: tuple[str, ...], ks: tuple[int, ...]) -> Spec:
    return Spec(
        name=name,
        title=title,
        kind="real",
        methods=methods,
        datasets=datasets,
        metrics=("accuracy", "evalx"),
        seeds=3,
        ks=ks,
    )


def _figure(name: str, title: str, methods: tuple[Method, ...], datasets: tuple[str, ...], ks: tuple[int, ...]) -> Spec:
    return Spec(name=name, title=title, kind="figure", methods=methods, datasets=datasets, metrics=(), seeds=1, ks=ks)


OUR_METHODS = (OURS, OURS_NOLA, JOINT)
NARROW, WIDE = ((*OUR_METHODS, invase, *OTHER_BASELINES) for invase in (INVASE, INVASE_WIDE))
SPECS = {
    spec.name: spec
    for spec in (
        _synthetic("table-11d", "Syn1-6, 11 features", "d=11", 11, 0.0, NARROW),
        _synthetic(
            "table-100d", "Syn1-6, 100 features", "d=100", 100, 0.0, (*OUR_METHODS, INVASE_WIDE, *OTHER_BASELINES)
        ),
        _synthetic(
            "table-correlated",
            "Syn1-6, 100 features, correlation 0.5^|i-j|",
            "d=100 correlated",
            100,
            0.5,
            (*OUR_METHODS, JOINT_NOLA, INVASE_WIDE, OTHER_BASELINES[-1]),
        ),
        _real(
            "figure-accuracy",
            "Accuracy from k features per row",
            (OURS_IMAGES, FULL_RANK, IMAGES_NOLA, *IMAGE_BASELINES),
            ("mnist", "fashion-mnist", "isolet"),
            K_CURVE,
        ),
        _real(
            "table-low-rank",
            "MNIST: full-rank and low-rank",
            (OURS_IMAGES, replace(FULL_RANK, published="Full-rank"), LOW_RANK),
            ("mnist",),
            K_CURVE[:3],
        ),
        _real(
            "table-nola", "MNIST: with and without copula", (OURS_IMAGES, FULL_RANK, IMAGES_NOLA), ("mnist",), K_CURVE
        ),
        _figure(
            "figure-psd", "t-SNE of every row's covariance of gates", (FULL_RANK,), ("mnist", "fashion-mnist"), (0, 40)
        ),
        _figure("figure-pixels", "The 120 best pixels of sample digits", (FULL_RANK, OURS_IMAGES), ("mnist",), (40,)),
    )
}
NAMES = (*SPECS, "all")


def spec_of(name: str, quick: bool = False) -> Spec:
    """The spec of a table or figure; `quick` gives its small version.

    Examples
    --------
    >>> spec_of("table-11d").n_features, spec_of("table-nola", quick=True).datasets
    (11, ('digits',))
    """
    if name not in SPECS:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(NAMES)}")
    spec = SPECS[name]
    if not quick:
        return spec
    small = replace(spec, is_quick=True, seeds=1, rows=500)
    if spec.kind == "synthetic":
        return replace(small, datasets=("syn1", "syn4"))
    return replace(small, datasets=("digits",), judge=JudgeSettings(hidden=64, steps=300, batch_size=200))
