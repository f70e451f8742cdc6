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


def test_a_failure_is_told_to_the_request_that_it_is_about():
    """Three are asked together, of which one cannot be answered, alone or with others."""

    def fails_below_zero(rows):
        if (rows < 0).any():
            raise ValueError("no")
        return {"rows": rows}

    batcher = Batcher(fails_below_zero, 100, 100, 1.0)
    answers = gathered(batcher, [np.ones((2, 1)), -np.ones((1, 1)), np.zeros((1, 1))])
    assert [isinstance(answer, ValueError) for answer in answers] == [False, True, False]
    assert answers[0]["rows"].tolist() == [[1], [1]]


@pytest.mark.parametrize("in_loop", [256, 0])
@pytest.mark.parametrize("odd", [np.ones((1, 2, 1)), np.ones((1, 3)), np.array(["a"]), [[1.0]]])
def test_rows_that_do_not_go_together_stop_nobody(monkeypatch, in_loop, odd):
    """Whatever the shape of a request's rows, those answered with it and after it are answered."""
    monkeypatch.setattr(batching, "IN_LOOP", in_loop)

    def ask(rows):
        assert rows.shape[1:] == (2,)
        return {"rows": rows}

    batcher = Batcher(ask, 100, 100, 1.0)
    for parts in ([np.ones((1, 2)), odd, np.zeros((3, 2))], [np.ones((1, 2))]):
        answers = gathered(batcher, parts)
        assert [isinstance(answer, Exception) for answer in answers] == [False, True, False][: len(parts)]
    assert batcher.n_waiting == batcher.rows_waiting == 0


@pytest.mark.parametrize("failure", [StopIteration(), MemoryError(), asyncio.CancelledError(), GeneratorExit()])
def test_whatever_is_raised_the_next_is_answered(failure):
    failures = [failure]

    def fail_once(rows):
        if failures:
            raise failures.pop()
        return {"rows": rows}

    async def run():
        batcher = Batcher(fail_once, 100, 100, 1.0)
        first = asyncio.ensure_future(batcher.answer(np.zeros((1, 1))))
        done, _ = await asyncio.wait([first], timeout=5)
        assert done == {first}
        assert first.exception() is not None
        return await asyncio.wait_for(batcher.answer(np.ones((1, 1))), 5)

    assert asyncio.run(run())["rows"].tolist() == [[1.0]]


def test_where_no_thread_is_left_the_requests_are_told(monkeypatch):
    monkeypatch.setattr(batching, "IN_LOOP", 0)

    async def run():
        batcher, loop = Batcher(counted([]), 100, 100, 1.0), asyncio.get_running_loop()
        await loop.shutdown_default_executor()
        return await asyncio.gather(*(batcher.answer(np.zeros((1, 1))) for _ in range(2)), return_exceptions=True)

    assert [type(answer) for answer in asyncio.run(run())] == [RuntimeError] * 2


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
