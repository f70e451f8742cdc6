"""`sklar serve` as processes: one that is killed is replaced, and all of them end when they are told to."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager

import psutil
import pytest

from tests.scale.serving.conftest import ask

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals")
ROWS = {"rows": [{f"x{j}": 0.5 for j in range(5)}]}


@contextmanager
def served(model, folder, *options):
    """The command and its port, once it answers."""
    model.save(folder / "m.sklar")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sklar.cli", "serve", str(folder / "m.sklar"), "--port", str(port), *options]
    server = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: answers(port), 90)
        yield server, port
    finally:
        for process in [*workers(server), psutil.Process(server.pid)] if server.poll() is None else []:
            process.kill()
        server.wait()
        server.stderr.close()


def answers(port):
    """Whether a request is answered now."""
    try:
        return ask(port, "/predict", ROWS, timeout=5).status == 200
    except (OSError, http.client.HTTPException):
        return False


def until(is_so, seconds):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def workers(server):
    children = psutil.Process(server.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def half_a_request(port):
    """A connection whose request never ends."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    body = json.dumps(ROWS).encode()
    connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:-1])
    return connection


def ends(server, sign, seconds):
    """How the command ends after a signal, in so many seconds."""
    server.send_signal(sign)
    return server.wait(timeout=seconds)


@pytest.mark.parametrize("sign", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_it_ends_although_a_request_does_not(numbers_model, tmp_path, sign):
    with served(numbers_model, tmp_path) as (server, port), closing(half_a_request(port)):
        time.sleep(0.3)
        assert ends(server, sign, 15) in (0, -sign, 128 + sign)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_and_all_end(numbers_model, tmp_path):
    with served(numbers_model, tmp_path, "--workers", "2") as (server, port):
        until(lambda: len(workers(server)) == 2, 30)
        before = workers(server)
        before[0].kill()
        before[0].wait()
        assert [answers(port) for _ in range(20)] == [True] * 20  # by the other
        until(lambda: len(workers(server)) == 2, 30)
        replaced = [worker for worker in workers(server) if worker not in before]
        assert len(replaced) == 1
        before[1].kill()
        until(lambda: answers(port), 60)  # by the new one
        with closing(half_a_request(port)):
            ends(server, signal.SIGTERM, 30)
        assert not any(worker.is_running() for worker in replaced)
