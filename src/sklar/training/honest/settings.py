"""Every constant of honest training, and why it has its value; numerical safety stays with the functions that need it.

One set serves all data: chosen on Syn1-6, 10,000 rows; what regularises grows with the noise of fewer (`Folds.noise`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sklar.model.gates import Gates
from sklar.training.data import with_defaults
from sklar.training.penalty_path import PathChoice

# What an estimator's parameter left at None stands for.
DEFAULTS: dict[str, Any] = {"predict_hidden": 64, "learning_rate": 1e-2, "weight_decay": 0.1, "max_epochs": None}

ROWS_OF_SETTINGS = 10_000  # rows that the constants were chosen with: means over n rows have noise 1 / sqrt(n)
NOISE_RANGE = (0.25, 4.0)  # regularisation is scaled by no more: beyond 160,000 and below 625 rows it was not tried
WIDEST = 4096  # features that networks train on: with more, they need hours on a CPU and learn little
WIDEST_CUT = 128  # features of which numbers may be cut into pieces: with more, inputs would be thousands
SHUT = -30.0  # the score of a gate that no noise opens
# Masks that show a smaller share than this of the features get log-uniform rates: uniform ones hardly make such masks.
LOG_UNIFORM_BELOW = 0.2


class Pull(NamedTuple):
    """How strongly correlations are pulled to 0, in units of the loss."""

    apart: float = 0.05  # where R < 0: leaves only what is real
    together: float = 0.4  # where R > 0: it changes no decision, and would hide what weak partners are worth


@dataclass(frozen=True)
class PredictorSettings:
    """How the predictors learn. They must be calibrated, not only accurate: over-confidence hides true features."""

    hidden: int = 64
    learning_rate: float = 1e-2
    rate_floor: float = 0.2  # while the selector trains their rate falls to this share: they must keep up with it
    weight_decay: float = 1.0  # times the noise of the rows, as is the sparsity: for calibration
    sparsity: float = 1.0  # group lasso on the features, at 100 features (in proportion below) and 64 hidden units
    ema_decay: float = 0.99  # of the weights: the average judges, the last weights learn
    batch_size: int = 1000
    warm_up: int = 100  # steps over which the learning rate rises
    n_bins: int = 0  # pieces that numbers are cut into (see `model.piecewise`); 0: numbers as they are
    k: int | None = None  # features that the masks to be judged show; None: any number

    def regularised(self, factor: float) -> PredictorSettings:
        """The same, so many times as strongly regularised."""
        return replace(self, weight_decay=factor * self.weight_decay, sparsity=factor * self.sparsity)


@dataclass(frozen=True)
class PersuasionSettings:
    """How the weight on the excess of a ranker's choices follows that excess (see `persuasion`)."""

    rate: float = 100.0  # added to the weight over a part of the training, per unit of excess above what is allowed
    at_once: float = 5.0  # and for this step only: without it the weight swings
    most_weight: float = 1.5  # above 1 evidence against the answer is worth more, which ends what no price did


@dataclass(frozen=True)
class SelectorSettings:
    """How the selector learns, and the gates that it scores."""

    hidden: int = 100
    activation: str = "relu"
    learning_rate: float = 1e-2
    warm_up: int = 50  # steps over which the learning rate rises
    weight_decay: float = 0.1
    sparsity: float = 2.0  # group lasso on the inputs, at 100 hidden units: few inputs, so that a switch may be steep
    ema_decay: float = 0.99  # of the weights
    beta2: float = 0.99  # of AdamW: squared gradients shrink as scores come to rest, and must be forgotten sooner
    score_bound: float = 2.5  # scores are not pushed beyond: no feature is locked open before rows are told apart
    initial_score: float = 0.5  # gates begin a little more open than shut, so that every feature is tried
    initial_gain: float = 0.1  # of the last layer's weights: scores of all rows begin nearly equal
    sharpest: float = 2.0  # factor on the scores at the end: at 1, features are kept as backups of random gates
    flips: int = 8  # features flipped, or swaps tried, per row and step, at most
    bit_flips: float = 0.15  # share of bits flipped in the masks that predictors are taught
    bit_flip_features: int = 11  # with more features the share falls: about 1.65 bits a mask at most
    covariance: str = "low-rank"  # of the gates
    n_factors: int = 8  # of L, for "low-rank"
    correlation_rate: float = 1e-2  # learning rate of L
    pull: Pull = field(default_factory=Pull)  # of the correlation, to 0
    max_excess: float | None = None  # what choices of k features may say beyond the values; None: anything
    persuasion: PersuasionSettings = field(default_factory=PersuasionSettings)
    k: int | None = None  # exactly so many features per row
    min_features: int = 0  # at least so many, where there is no k


@dataclass(frozen=True)
class Schedule:
    """How many steps each part takes (measured: docs/method.md), the penalties tried, and the widths of the union."""

    reading_steps: int = 400  # of predictors that learn in one way, to be compared with another (`predictor_choice`)
    warm_steps: int = 1000
    settle_steps: int = 400  # of the predictors, after screening
    trial_steps: int = 350  # along the path with each strength, and
    path_steps: int = 350  # on with those that may be the right one
    final_steps: int = 1500
    rank_path_steps: int = 1500  # of rankers, as many in all: only by then a strong one shows all rows the same
    rank_final_steps: int = 350  # at a tenth of the rate: what was compared is to stay
    # In standard deviations of the loss. Larger ones gave up true features that matter little to most rows.
    penalties: tuple[float, ...] = (0.001, 0.002, 0.004, 0.008)
    # A second selector goes on to two orders of magnitude, for questions at other penalties: by so many factors of 2.
    more_penalties: int = 4
    wide_steps: int = 400  # of its training
    count_steps: int = 1100  # of a second ranker's, which is told how many features to give: it learns several k
    most_counts: int = 8  # numbers of features at which that ranker is compared with the fitted one
    # Fewer rows than these, how many splits choose the strength together: one held-out fifth of them decides little.
    rehearsals: tuple[tuple[int, int], ...] = ((600, 5), (1_500, 2))
    one_set: int = 20  # features of the one set that all rows may get, where they are few (see `one_set`)
    least_width: int = 16  # as many features or fewer are not screened: networks can hold them all
    most_width: int = 128  # and a union has no more but where rows are many:
    rows_a_feature: int = 10  # then it may have one for so many rows,
    widest: int = 1024  # up to so many. Of images and spectra, where every feature says a little, 128 were too few.
    rows_of_all_steps: int = 3_000  # fewer rows take fewer steps in proportion: more would learn their noise
    least_share: float = 0.03  # but at least this share of them

    def scaled(self, share: float) -> Schedule:
        """The same in fewer steps."""
        return replace(self, **{name: max(2, round(getattr(self, name) * share)) for name in (*STEPS, *BESIDE)})

    def for_rows(self, n_rows: int, batch_size: int, max_epochs: int | None) -> Schedule:
        """The steps for so many rows, and at most `max_epochs` passes over them."""
        share = min(1.0, max(self.least_share, n_rows / self.rows_of_all_steps))
        if max_epochs is not None:
            share = min(share, max_epochs * -(-n_rows // batch_size) / self.total)
        return self.scaled(share)

    @property
    def total(self) -> int:
        """All steps together."""
        return sum(getattr(self, name) for name in STEPS)

    def splits_for(self, n_rows: int) -> int:
        """How many splits choose the strength.

        Examples
        --------
        >>> [Schedule().splits_for(n) for n in (100, 1000, 10_000)]
        [5, 2, 1]
        """
        return next((splits for rows, splits in self.rehearsals if n_rows < rows), 1)

    def screened_to(self, k: int | None) -> int:
        """As many features or fewer are not screened: so many, and twice as many as a row is to get."""
        return max(self.least_width, 2 * (k or 0))

    def union_width(self, n_rows: int, k: int | None) -> int:
        """How many features a union has, at most.

        Examples
        --------
        >>> [Schedule().union_width(n, None) for n in (60, 6_000, 60_000)]
        [128, 600, 1024]
        """
        return max(self.most_width, min(self.widest, n_rows // self.rows_a_feature), 4 * (k or 0))

    def with_union_width(self, width: int) -> Schedule:
        """The same with unions of at most so many features, or four times as many as a row is to get."""
        return replace(self, least_width=min(self.least_width, width), most_width=width, widest=width)

    def steps_for(self, n_features: int, k: int | None) -> int:
        """The steps that a table takes: predictors settle only after screening."""
        return self.total - (self.settle_steps if n_features <= self.screened_to(k) else 0)


STEPS = ("warm_steps", "settle_steps", "trial_steps", "path_steps", "final_steps")  # of a fit itself
BESIDE = ("reading_steps", "rank_path_steps", "rank_final_steps", "wide_steps", "count_steps")


@dataclass(frozen=True)
class ScreeningSettings:
    """When a feature is clearly enough related to the target to be kept."""

    gain_z: float = 2.0  # standard errors of its mean gain above 0: 1 in 40 irrelevant features passes
    false_nominations: float = 3.0  # irrelevant features that the residual test lets through, of all
    false_pairs: float = 0.5  # pairs of irrelevant features that the product test lets through, of all
    pair_products: int = 10**10  # multiplications of the product test: seconds; wider tables ask their strongest
    most_contexts: int = 128  # inputs of encoded columns that make contexts


@dataclass(frozen=True)
class DecisionSettings:
    """What rows judged out of fold decide."""

    least_unit: float = 0.3  # of a penalty, as a share of the loss of rows shown nothing: labels may have no noise
    # A score must exceed one of these to select. From 1.5 on scores come to rest (see `inward_only`): all are below.
    score_thresholds: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
    usual_threshold: float = 1.0  # where several lose equally little
    # Standard errors that the score of a feature must be above 0: true ones were at 3.8 and more (37 default fits).
    score_errors: float = 3.0
    stand_in: float = 0.7  # features correlated more than this can stand in for each other
    excluding: float = -0.5  # gates of a lower correlation exclude each other
    lost_by_substitutes: float = 0.008  # that one of such features may lose, in units of penalties: see `substitutes`
    lost_by_a_kind: float = 0.05  # and no kind of so many rows that got several may clearly lose more than this
    rows_of_a_kind: int = 100
    clearly_worse: float = 3.0  # standard errors of what a kind of rows loses
    least_contested: float = 0.01  # share of rows that get both of such a pair, from which on rows have their own say
    better_by_rows: float = 2.0  # standard errors by which that must be better than one for all
    better_by_next: float = 2.0  # and by which a ranker's next best feature must be better than one of alike values
    few_rows: int = 5_000  # with so many rows or fewer, gains are too noisy for sharp gates and tests against chance
    # Level of the test that says whether anything can be shown: with 0.02, 5 of 48 tables of noise passed (300 x 200).
    false_alarms: float = 0.005
    # Standard errors by which a weaker regularisation of the selector must be better: with 1, four of 36 cells of
    # Syn1-6 missed their targets. With k loss alone decides: a margin cost rankers of real tables more than it saved.
    weaker_selector: float = 2.0
    weaker_ranker: float = 0.0
    least_gain: float = 0.005  # and by so much of the loss of rows shown nothing, where features have a price
    # And within how many another one is as good, which is taken if it selects at most this share of the features: on
    # Syn1-6 a weaker one selects as many or more, on most real tables fewer (benchmarks/strengths.py).
    equal_selectors: float = 1.0
    equal_half_way: float = 2.0  # the same where both may go on: one error gave up weak selectors that came to be right
    fewer_features: float = 0.9
    other_predictors: float = 2.0  # standard errors by which another way to learn from a table must be better

    def errors_of_strength(self, k: int | None) -> float:
        """By how many standard errors a weaker strength must be better."""
        return self.weaker_selector if k is None else self.weaker_ranker

    def row_sufficiency(self, n_rows: int) -> float:
        """How far there are rows enough to trust single gains: 0 for few rows, 1 for twice as many and more.

        With few, gates that hardly vary let the selector settle on noise, and a true feature is worth no more standard
        errors than one that looks useful by chance.

        Examples
        --------
        >>> [DecisionSettings().row_sufficiency(n) for n in (1000, 7500, 10_000)]
        [0.0, 0.5, 1.0]
        """
        return min(1.0, max(0.0, n_rows / self.few_rows - 1))


@dataclass(frozen=True)
class HonestSettings:
    """All of it."""

    selector: SelectorSettings = field(default_factory=SelectorSettings)
    predictor: PredictorSettings = field(default_factory=PredictorSettings)
    schedule: Schedule = field(default_factory=Schedule)
    screening: ScreeningSettings = field(default_factory=ScreeningSettings)
    decisions: DecisionSettings = field(default_factory=DecisionSettings)
    # Factors on the selector's group lasso that held-out rows choose from. 1 is right for Syn1-6, by far; real tables
    # mostly prefer 0.1, from which 0.3 and 0.03 do not differ beyond noise.
    strengths: tuple[float, ...] = (1.0, 0.1)
    # What rows choose the predictors from: factors on their weight decay and lasso (narrow tables: the first two),
    # and pieces that numbers are cut into. The first of each is what the other constants were chosen with.
    regularisations: tuple[float, ...] = (1.0, 3.0, 0.3)
    bins: tuple[int, ...] = (0, 8)
    shows: bool | None = None  # whether anything can be shown, if that is known; None: held-out rows say
    price: PathChoice | None = None  # of the path's penalties, in their unit, if that is known; None: held-out rows say
    # Where all rows get the features most related to the target alone: how far to trust what predictors say of them.
    one_set: float | None = None
    penalty: float | str = "auto"
    any_penalty: bool = True  # whether a second selector is trained for questions at other penalties
    n_folds: int = 4
    held_fraction: float = 0.2  # of the rows, held out to choose the strength and the penalty

    def bins_for(self, gates: Gates) -> tuple[int, ...]:
        """The numbers of pieces to try: of wide tables the first alone, which would have thousands of inputs."""
        return self.bins if gates.n <= WIDEST_CUT else self.bins[:1]

    def regularisations_for(self, gates: Gates) -> tuple[float, ...]:
        """The factors to try: a weaker one where many features may each say a little."""
        return self.regularisations[:2] if gates.n <= WIDEST_CUT else self.regularisations

    @classmethod
    def from_params(cls, params: dict[str, Any], n_rows: int, k: int | None) -> HonestSettings:
        """What an estimator's parameters stand for, with so many rows."""
        params = with_defaults(params, DEFAULTS)
        schedule, width = Schedule().for_rows(n_rows, params["batch_size"], params["max_epochs"]), params["union_width"]
        return cls(
            SelectorSettings(
                hidden=params["choice_hidden"],
                activation=params["activation"],
                learning_rate=params["learning_rate"],
                weight_decay=params["weight_decay"],
                covariance=params["covariance"],
                n_factors=params["n_factors"],
                k=k,
                min_features=params.get("min_features", 0),
                max_excess=params.get("max_excess"),
            ),
            PredictorSettings(hidden=params["predict_hidden"], batch_size=params["batch_size"], k=k),
            schedule if width == "auto" else schedule.with_union_width(width),
            strengths=_given(params["selector_sparsity"], cls.strengths),
            regularisations=_given(params["predictor_regularization"], cls.regularisations),
            bins=_given(params["quantile_bins"], cls.bins),
            penalty=params.get("penalty", 0.0),
            n_folds=params["n_folds"],
            held_fraction=params["validation_fraction"],
        )


def _given(value: Any, choices: tuple[Any, ...]) -> tuple[Any, ...]:
    """What rows choose from: what was given alone, if anything was."""
    return choices if value == "auto" else (value,)
