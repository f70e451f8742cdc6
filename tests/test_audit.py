"""The audit: an encoding is caught, an honest selection passes."""

import numpy as np
import pytest

import sklar
from sklar.audit import AuditReport
from sklar.outcomes import outcome_of
from sklar.selection_scores import selection_scores
from tests.helpers import quick, toy_rows

NUMBERS = {"mean_features": 1.0, "union_features": 2, "noise_agreement": 90.0, "refit_agreement": None, "n_rows": 1500}
SCORES = ("own", "evalx", "expected", "everything", "union", "mask", "guess")
SCORES = (*(f"{name}_score" for name in SCORES), "score_error", "excess", "excess_error", "constant_excess")


def rows(n=1500, seed=0):
    """y is decided by x0 alone."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 4))
    return x, (rng.random(n) < 1 / (1 + np.exp(-3 * x[:, 0]))).astype(int)


def report_of(x, y, masks, predictions):
    scores = selection_scores(x, outcome_of(y, np.array([0, 1])), masks, predictions)
    return AuditReport(**scores, **NUMBERS)


def test_a_mask_that_encodes_the_label_is_caught():
    x, y = rows()
    masks = np.zeros((len(x), 4), dtype=bool)
    masks[np.arange(len(x)), np.where(y == 1, 2, 3)] = True  # x2 for one class, x3 for the other: neither says anything
    report = report_of(x, y, masks, y)
    assert report.own_score == 100.0
    assert report.mask_score > 99
    assert report.evalx_score < 65
    assert report.leaks
    assert "LEAKS" in str(report)


def test_selecting_what_decides_passes():
    x, y = rows()
    masks = np.zeros((len(x), 4), dtype=bool)
    masks[:, 0] = True
    report = report_of(x, y, masks, (x[:, 0] > 0).astype(int))
    assert not report.leaks
    assert abs(report.gap) < 3
    assert report.mask_score == report.guess_score  # equal masks say nothing
    assert "passes" in str(report)
    assert report.to_dict()["leaks"] is False


@pytest.mark.parametrize(("n", "can_tell"), [(3, False), (99, False), (100, True)])
def test_few_rows_cannot_pass(n, can_tell):
    scores = dict.fromkeys(SCORES, 50.0) | {
        "own_score": 60.0,
        "excess": 0.0,
        "excess_error": 0.1,
        "constant_excess": 0.0,
    }
    report = AuditReport("accuracy", **scores, **NUMBERS | {"n_rows": n})
    assert not report.leaks
    assert report.to_dict()["can_tell"] is report.can_tell is can_tell
    assert ("passes" in str(report)) is can_tell
    assert ("cannot tell: fewer than 100 rows" in str(report)) is not can_tell


@pytest.mark.parametrize("n_refits", [0, 1])
def test_every_estimator_can_be_audited(n_refits):
    x, y = rows(120)
    selector = sklar.CopulaSelectorClassifier(max_epochs=10, random_state=0).fit(x, y.astype(str))
    report = selector.audit(x, y.astype(str), n_refits=n_refits)
    assert report.n_rows == 120
    assert 0 <= report.noise_agreement <= 100
    assert (report.refit_agreement is None) == (n_refits == 0)
    assert (report.grouped_refit_agreement is None) == (n_refits == 0)
    regressor = sklar.CopulaRankerRegressor(k=1, max_epochs=10, random_state=0).fit(x, x[:, 0])
    assert regressor.audit(x, x[:, 0], n_refits=0).mean_features == 1.0


def test_a_better_predictor_is_no_leak():
    """Trees that learned from masks of other rows can know no code: the gap is that of the networks."""
    X, value = toy_rows(400)
    model = quick(sklar.CopulaSelectorClassifier, objective="honest", predictor="trees", max_epochs=2).fit(X, value > 0)
    report = model.audit(X, value > 0, n_refits=0)
    networks = quick(sklar.CopulaSelectorClassifier, objective="honest", predictor="networks", max_epochs=2)
    networks.fit(X, value > 0)
    assert report.network_score == pytest.approx(100 * networks.score(X, value > 0))
    assert report.gap == report.network_score - report.evalx_score != report.own_score - report.evalx_score
    assert "its networks" in str(report)
    assert networks.audit(X, value > 0, n_refits=0).network_score is None


def test_a_target_of_the_wrong_length_is_named():
    x, y = rows(60)
    selector = sklar.CopulaSelectorClassifier(max_epochs=2, random_state=0).fit(x, y)
    with pytest.raises(ValueError, match="y must have one value"):
        selector.audit(x, y[:-1])


@pytest.mark.parametrize("found", [np.nan, np.inf, None])
def test_a_row_without_an_outcome_is_named(found, tmp_path):
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorRegressor).fit(X, value)
    y = value.astype(object if found is None else float)
    y[7] = found
    with pytest.raises(ValueError, match=r"y is (missing|infinite) in row 7"):
        model.audit(X, y, n_refits=0)
    with pytest.raises(ValueError, match=r"y is (missing|infinite) in row 7"):
        model.report(X, y, tmp_path / "page.html", audit=False)


def test_rows_of_one_outcome_cannot_tell():
    X, value = toy_rows(120)
    found = quick(sklar.CopulaSelectorClassifier).fit(X, value > 0).audit(X, np.ones(120, dtype=bool), n_refits=0)
    assert not found.can_tell
    assert found.verdict == "cannot tell: all rows have the same outcome"
    found = quick(sklar.CopulaSelectorRegressor).fit(X, value).audit(X, np.full(120, 2.5), n_refits=0)
    assert found.verdict == "cannot tell: all rows have the same outcome"


def test_counts_below_0_are_refused():
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorRegressor, loss="poisson").fit(X, np.exp(value).round())
    with pytest.raises(ValueError, match=r"counts from 0; got -1"):
        model.audit(X, np.where(value > 0, 1.0, -1.0), n_refits=0)


@pytest.mark.parametrize("n_refits", [-1, 1.5, "2", True])
def test_a_number_of_refits_is_checked_before_the_work(n_refits):
    X, value = toy_rows(60)
    with pytest.raises(ValueError, match="n_refits must be a whole number from 0"):
        quick(sklar.CopulaSelectorRegressor).fit(X, value).audit(X, value, n_refits=n_refits)


@pytest.mark.slow
def test_joint_training_on_syn4_is_caught_and_honest_passes():
    X, y, _ = sklar.datasets.make_synthetic("syn4", 10_000, random_state=0)
    X_test, y_test, _ = sklar.datasets.make_synthetic("syn4", 10_000, random_state=1)
    for objective, leaks in (("joint", True), ("honest", False)):
        words = {"penalty": 0.03, "mask": "rounded"} if objective == "joint" else {}
        selector = sklar.CopulaSelectorClassifier(objective=objective, random_state=0, **words).fit(X, y)
        assert selector.audit(X_test, y_test, n_refits=0).leaks is leaks


def test_a_class_that_the_model_never_saw_is_named():
    X, value = toy_rows(60)
    y = np.where(value > 0, "yes", "no").astype(object)
    model = quick(sklar.CopulaSelectorClassifier).fit(X, y)
    y[7] = "maybe"
    with pytest.raises(ValueError, match="y holds 'maybe', which is not one of the model's classes: 'no', 'yes'"):
        model.audit(X, y)


def votes(seed, n=3000, d=60):
    """d votes that are each right with probability .6."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return np.where(rng.random((n, d)) < 0.6, 1.0, -1.0) * (2 * y[:, None] - 1), y


@pytest.mark.parametrize(("agreeing", "persuades"), [(True, True), (False, False)])
def test_picked_evidence_is_caught_and_a_fair_share_of_it_passes(agreeing, persuades):
    """Five votes that agree with most of the 60, or five at random; in 30 draws of each none was wrong."""
    x, y = votes(0)
    agreement = x * np.sign(x.sum(axis=1, keepdims=True) + 0.5) if agreeing else np.zeros_like(x)
    order = agreement + 0.01 * np.random.default_rng(1).random(x.shape)
    masks = order.argsort(axis=1).argsort(axis=1) >= 55
    report = report_of(x, y, masks, np.where((x * masks).sum(axis=1) > 0, 1, 0))
    assert report.persuades is persuades
    assert not report.encodes
    assert ("PERSUADES" in str(report)) is persuades
    assert abs(report.expected_score - (88 if agreeing else 68)) < 4  # what five votes support, by Bayes' rule


def test_times_are_audited():
    """The hazard is decided by x0, which all rows get."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 3))
    time, end = rng.exponential(np.exp(-2 * x[:, 0])), rng.exponential(2.0, 400)
    y = np.array(list(zip(time <= end, np.minimum(time, end), strict=True)), dtype=[("event", bool), ("time", float)])
    model = sklar.CopulaSelectorRegressor(loss="cox", penalty=0.01, max_epochs=40, random_state=0).fit(x, y)
    report = model.audit(x, y, n_refits=0)
    assert report.score_name == "concordance"
    assert report.evalx_score > 70 > report.guess_score == 50
    assert not report.persuades


@pytest.mark.parametrize("hidden", [False, True])
def test_a_switch_that_is_shown_passes_and_one_that_the_mask_tells_is_caught(hidden):
    """Syn4's relevant features, with and without the switch; in 30 draws of each none was wrong."""
    x, y, relevant = sklar.datasets.make_synthetic("syn4", 3000, random_state=0)
    masks = np.array(relevant, dtype=bool)
    masks[:, 10] = not hidden
    scores = selection_scores(x, outcome_of(y, np.unique(y)), masks, y[::-1])
    assert AuditReport(**scores, **NUMBERS | {"n_rows": 3000}).persuades is hidden


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3])
def test_treeshap_on_spambase_passes(k):
    """What people use today, on rows that trees and audit both saw nothing of."""
    pytest.importorskip("lightgbm")
    if "spambase" not in sklar.datasets.table_names():
        pytest.skip("no spambase: set SKLAR_DATA")
    spambase = sklar.datasets.load_table("spambase")
    X, y = np.asarray(spambase.X, dtype=float), np.asarray(spambase.y)
    train = np.random.default_rng(0).random(len(y)) < 0.5
    from sklar.paper.baselines import REGISTRY

    trees = REGISTRY["treeshap"](random_state=0).fit(X[train], y[train])
    x = (X[~train] - X[train].mean(axis=0)) / X[train].std(axis=0)
    guess = np.full(int((~train).sum()), y[0])
    scores = selection_scores(x, outcome_of(y[~train], np.unique(y)), trees.select(X[~train], k), guess)
    assert not AuditReport(**scores, **NUMBERS | {"n_rows": len(x)}).leaks


def test_copies_of_rows_are_audited_once():
    """The audit's predictors must not judge rows whose copies they learned."""
    X, value = toy_rows(200)
    model = quick(sklar.CopulaSelectorRegressor).fit(X, value)
    once, thrice = (model.audit(X.repeat(n, axis=0), value.repeat(n)) for n in (1, 3))
    assert thrice.n_rows == 200
    assert thrice.to_dict() == once.to_dict()
