"""New rows come before fixed steps, however slow their reader; its errors are told, and its thread ends."""

import threading
import time

import numpy as np
import pytest

from sklar.training.engine.renewal import NewRows, Renewal, renewing
from sklar.training.engine.run import Run


def reader(delay=0.0, n_steps=2, fails_at=None, closed=None):
    try:
        for number in range(10**9):
            time.sleep(delay)
            if number == fails_at:
                raise ValueError("the disk is gone")
            yield NewRows(np.array([number]), np.zeros((1, 2), dtype=np.float32), np.zeros(1), n_steps)
    finally:
        if closed is not None:
            closed.append(True)


class Rows:
    """What came before which step."""

    def __init__(self):
        self.step, self.came = 0, []

    def put(self, new):
        self.came.append((self.step, int(new.places[0])))


def trained(renewal, n_steps=6):
    rows = Rows()
    for k in Run(renewal=renewal).steps(n_steps, {}, rows=rows):
        rows.step = k + 1
    return rows.came


@pytest.mark.parametrize("delay", [0.0, 0.02])
def test_rows_come_before_the_same_steps_however_slow_they_are(delay):
    with Renewal(reader(delay)) as renewal:
        assert trained(renewal) == [(0, 0), (2, 1), (4, 2)]
        assert renewal.n_rows == 3
        assert renewal.waited > 0.02 * (delay > 0)


def test_loops_go_on_where_the_one_before_ended():
    with Renewal(reader(n_steps=4)) as renewal:
        assert [trained(renewal, 3), trained(renewal, 3)] == [[(0, 0)], [(1, 1)]]


def test_rows_are_renewed_only_where_they_are_named():
    with Renewal(reader()) as renewal:
        assert len(list(Run(renewal=renewal).steps(3, {}))) == 3
        assert renewal.n_rows == 0
    with renewing(None) as renewal:
        assert renewal is None
        assert trained(renewal) == []


def test_an_error_of_the_reader_is_that_of_the_step_and_no_thread_is_left():
    before, closed = threading.active_count(), []
    with pytest.raises(ValueError, match="the disk is gone"), Renewal(reader(fails_at=2, closed=closed)) as renewal:
        trained(renewal)
    assert threading.active_count() == before
    assert closed == [True]


def test_no_thread_is_left_after_an_interrupt():
    before, closed = threading.active_count(), []
    rows = Rows()
    rows.put = lambda new: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt), Renewal(reader(0.01, closed=closed)) as renewal:
        renewal.before_step(rows)
    assert threading.active_count() == before
    assert closed == [True]


def test_it_says_how_it_went(capsys):
    with Renewal(reader(), verbose=True) as renewal:
        trained(renewal)
    assert "training: 3 new rows were read; steps waited 0.0 s for them" in capsys.readouterr().err
