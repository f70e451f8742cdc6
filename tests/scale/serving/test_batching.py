"""Requests that wait are answered together, each with its own rows; failures and refusals reach those concerned."""

import asyncio
import time

import numpy as np
import pytest

from sklar.scale.serving import batching
from sklar.scale.serving.batching import Batcher
from sklar.scale.serving.errors import RequestError


def counted(sizes):
    def ask(rows):
        sizes.append(len(rows))
        return {"sums": rows.sum(axis=1)}

    return ask


def gathered(batcher, parts):
    async def run():
        return await asyncio.gather(*(batcher.answer(rows) for rows in parts), return_exceptions=True)

    return asyncio.run(run())


@pytest.mark.parametrize("in_loop", [256, 0])
def test_each_gets_its_own_answer(monkeypatch, in_loop):
    monkeypatch.setattr(batching, "IN_LOOP", in_loop)
    sizes = []
    parts = [np.full((i + 1, 2), float(i)) for i in range(10)]
    answers = [answer["sums"] for answer in gathered(Batcher(counted(sizes), 1000, 100, 1.0), parts)]
    assert all((answer == 2 * i).all() and len(answer) == i + 1 for i, answer in enumerate(answers))
    assert sizes == [55]  # all that came at once, in one batch


def test_batches_are_bounded_but_a_large_request_is_answered():
    sizes = []
    gathered(
        Batcher(counted(sizes), 4, 100, 1.0), [np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((9, 1)), np.zeros((1, 1))]
    )
    assert sizes == [4, 9, 1]


def test_more_than_may_wait_are_refused_and_later_ones_are_not():
    batcher = Batcher(counted([]), 1000, 3, 1.0)
    answers = gathered(batcher, [np.zeros((1, 1))] * 5)
    assert [isinstance(answer, RequestError) for answer in answers] == [False] * 3 + [True] * 2
    assert answers[-1].kind == "busy"
    assert batcher.n_waiting == 0
    assert len(gathered(batcher, [np.zeros((1, 1))] * 3)) == 3


def test_a_failure_is_told_to_all_of_its_batch_and_the_next_is_answered():
    failures = [ValueError("no")]

    def fail_once(rows):
        if failures:
            raise failures.pop()
        return {"rows": rows}

    batcher = Batcher(fail_once, 2, 100, 1.0)
    answers = gathered(batcher, [np.zeros((1, 1))] * 4)
    assert [isinstance(answer, ValueError) for answer in answers] == [True, True, False, False]


def test_a_client_that_has_gone_does_not_stop_the_others():
    async def run():
        batcher = Batcher(counted([]), 100, 100, 1.0)
        gone = asyncio.ensure_future(batcher.answer(np.zeros((1, 1))))
        stays = asyncio.ensure_future(batcher.answer(np.ones((1, 1))))
        await asyncio.sleep(0)
        gone.cancel()
        return await stays

    assert asyncio.run(run())["sums"].tolist() == [1.0]


def test_what_would_wait_too_long_is_refused():
    """A model of 10 ms a row, and 50 ms of patience: after a first batch has shown its pace, six rows may wait."""

    def slow(rows):
        time.sleep(0.01 * len(rows))
        return {"sums": rows.sum(axis=1)}

    batcher = Batcher(slow, 1000, 100, 0.05)
    assert len(gathered(batcher, [np.zeros((1, 1))] * 20)) == 20  # nothing is known of its pace yet
    answers = gathered(batcher, [np.zeros((1, 1))] * 20)
    refused = [isinstance(answer, RequestError) for answer in answers]
    assert 2 <= refused.index(True) <= 6  # 10 ms at least, a sleep is longer on a busy machine
    assert all(refused[refused.index(True) :])
    assert batcher.rows_waiting == batcher.n_waiting == 0
    assert not any(isinstance(answer, RequestError) for answer in gathered(batcher, [np.zeros((1, 1))]))
