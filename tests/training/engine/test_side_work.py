"""Work beside the rest of a step: where it runs, and that no start can lack its join."""

import threading

import pytest
import torch

from sklar.training.engine.graphs import graphed
from sklar.training.engine.runtime import threads_for
from sklar.training.engine.side_work import SideWork
from tests.helpers import threads

CPU = torch.device("cpu")


def test_on_a_cpu_work_is_done_at_once():
    side = SideWork(CPU)
    done = []
    handle = side.start(lambda *inputs: done.append(inputs) or 7, torch.ones(1))
    assert len(done) == 1
    assert handle.result() == 7


def test_a_cpu_uses_a_second_thread_where_products_use_one():
    ran = []

    def work(x):
        ran.append((threading.get_ident(), torch.get_num_threads(), x.item(), torch.is_grad_enabled()))
        return x + 1

    with threads(2):
        side = SideWork(CPU, thread=True)
        assert side.start(work, torch.ones(())).result() == 2
        with threads_for(16), torch.no_grad(), side:
            assert side.start(work, torch.zeros(())).result() == 1
        assert torch.get_num_threads() == 2
    (here, *of_here), (there, *of_there) = ran
    assert here == threading.get_ident() != there
    assert of_here == [2, 1.0, True]
    assert of_there == [1, 0.0, True]


def test_one_thread_stays_alone():
    with threads(1):
        assert not SideWork(CPU, thread=True).threaded
    with threads(2):
        assert not SideWork(CPU).threaded


def test_another_place_keeps_the_thread_where_products_have_one_already():
    with threads(2):
        side = SideWork(CPU, thread=True)
        with threads_for(16):
            assert side.another().threaded
            assert not SideWork(CPU, thread=True).threaded
        assert not SideWork(CPU).another().threaded


def test_an_error_beside_is_not_lost():
    with threads(2):
        side = SideWork(CPU, thread=True)
        with threads_for(16), side:
            handle = side.start(lambda: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                handle.result()
            assert side.start(lambda: 3).result() == 3  # and is raised once
    with pytest.raises(ZeroDivisionError):
        SideWork(CPU).start(lambda: 1 / 0)


def test_a_handle_that_nobody_reads_is_an_error_at_the_next_start_and_at_the_end():
    side = SideWork(CPU)
    side.start(lambda: 1)
    with pytest.raises(RuntimeError, match="handle was not read"):
        side.start(lambda: 2)
    with pytest.raises(RuntimeError, match="handle was not read"), SideWork(CPU) as other:
        other.start(lambda: 1)


def test_inputs_are_held_until_the_result_is_read_and_it_can_be_read_again():
    side = SideWork(CPU)
    handle = side.start(lambda x: x + 1, torch.ones(1))
    assert handle._inputs
    assert handle.result() is handle.result()
    assert not handle._inputs
    assert side.start(lambda: 5).result() == 5


def failing_step(side, work):
    with side:
        side.start(work)
        raise KeyError


def test_an_error_of_the_step_is_not_hidden_by_work_beside_it():
    ended = threading.Event()
    with threads(2), threads_for(100):
        side = SideWork(CPU, thread=True)
        with threads_for(4):
            with pytest.raises(KeyError):
                failing_step(side, lambda: ended.wait(0.05) or ended.set())
            assert ended.is_set()  # the thread was waited for
            assert side.start(lambda: 5).result() == 5


def waiting_step(side, work):
    with side:
        handle = side.start(work)
        handle._running.result = lambda: (_ for _ in ()).throw(KeyboardInterrupt)  # Ctrl-C while it is waited for
        handle.result()


def test_no_thread_is_left_however_a_block_ends():
    before = threading.active_count()
    with threads(2), threads_for(100):
        side = SideWork(CPU, thread=True)
        with threads_for(4):
            with side:
                assert side.start(threading.active_count).result() == before + 1
            assert threading.active_count() == before
            with pytest.raises(KeyError):
                failing_step(side, lambda: 1)
            assert threading.active_count() == before
            with pytest.raises(KeyboardInterrupt):
                waiting_step(side, lambda: 1)
    assert threading.active_count() == before


@pytest.mark.gpu
def test_a_replayed_step_waits_for_work_beside_it():
    """Also where a handle is read twice: a join then waits for nothing."""
    device = torch.device("cuda")
    side, total = SideWork(device), torch.zeros(1, device=device)

    def step():
        big = torch.full((2048, 2048), 1 / 2048, device=device)
        handle = side.start(lambda square: square @ square @ square, big)
        del big
        torch.full((2048, 2048), 7.0, device=device)  # must not overwrite what the work reads
        total.add_(handle.result().mean() * 2048)
        handle.result()

    run = graphed(step, torch.Generator(device))
    for _ in range(20):
        run()
    torch.cuda.synchronize()
    assert total.item() == pytest.approx(20.0, rel=1e-4)
