"""Outcomes: scores, guesses, what masks alone predict, and judgements whose answer is known."""

import numpy as np
import pytest

from sklar.outcomes import Classes, Counts, Times, Values, outcome_of

N = 4000


def drawn(kind, seed=0):
    """An outcome, and the outputs of a perfectly calibrated prediction of it, (n, out)."""
    rng = np.random.default_rng(seed)
    f = rng.standard_normal(N)
    if kind == "classes":
        y = np.where(rng.random(N) < 1 / (1 + np.exp(-f)), "yes", "no")
        return outcome_of(y, np.array(["no", "yes"])), np.column_stack([np.zeros(N), f])
    if kind == "counts":
        outcome = outcome_of(rng.poisson(np.exp(f)), counts=True)
        return outcome, (f - np.log(outcome.y.mean()))[:, None]
    if kind == "times":
        time, end = rng.exponential(np.exp(-f)), rng.exponential(2.0, N)
        y = np.zeros(N, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = time <= end, np.minimum(time, end)
        return outcome_of(y), f[:, None]
    outcome = outcome_of(10 + f + 0.5 * rng.standard_normal(N))
    spread = outcome.y.std()
    return outcome, np.column_stack([(10 + f - outcome.y.mean()) / spread, np.full(N, np.log(0.25 / spread**2))])


KINDS = {"classes": Classes, "values": Values, "counts": Counts, "times": Times}


@pytest.mark.parametrize("kind", KINDS)
def test_a_calibrated_prediction_has_no_excess(kind):
    """Recalibrated by itself; 4 standard errors: a false alarm in 16,000."""
    outcome, outputs = drawn(kind)
    assert type(outcome) is KINDS[kind]
    judgement = outcome.judge(outputs, outputs, np.ones(N))
    assert abs(judgement.excess) < 4 * judgement.excess_error
    assert judgement.expected_score == pytest.approx(judgement.score, abs=6)


@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_more_extreme_than_expected_are_an_excess(kind):
    """The control is calibrated, and the selection's predictions are half as sure as they might be."""
    outcome, outputs = drawn(kind)
    modest = outputs / 2 if kind != "values" else outputs + np.array([0, np.log(3.0)])
    judgement = outcome.judge(modest, outputs, np.ones(N))
    assert judgement.excess > 4 * judgement.excess_error
    assert judgement.expected_score < judgement.score


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_better_than_a_guess(kind):
    outcome, outputs = drawn(kind)
    predictions = outcome.predictions(outputs)
    assert outcome.score(predictions) > outcome.score(outcome.guess()) + 5
    assert 0 < outcome.score_error(predictions) < 10
    assert len(outcome.numbers) == N
    assert outcome.task.n_outputs == outputs.shape[1]


@pytest.mark.parametrize("kind", KINDS)
def test_masks_alone(kind):
    """A mask that says whether the prediction is high predicts; equal masks are a guess."""
    outcome, outputs = drawn(kind)
    high = outputs[:, 1 if kind == "classes" else 0] > 0
    told, guess = outcome.from_masks(np.column_stack([high, ~high])), outcome.guess()
    assert outcome.score(told) > outcome.score(guess) + 3
    assert outcome.from_masks(np.ones((N, 2), dtype=bool)).tolist() == guess.tolist()
