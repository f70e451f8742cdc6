"""More than can be answered is refused, and what is let in is answered soon: a real server under a real flood."""

import json
import socket
import subprocess
import sys
import threading
import time

import pytest

from sklar.scale.serving import app
from sklar.scale.serving.admission import _copied, is_whole_post, waited
from sklar.scale.serving.bodies import read_rows
from tests.scale.serving.conftest import ask

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel must say how long data has waited")
BODY = {"rows": [{f"x{j}": 0.0 for j in range(5)}]}


@on_linux
def test_how_long_a_request_has_waited():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        client.sendall(b"POST")
        time.sleep(0.3)
        accepted, _ = server.accept()
        with accepted, _copied(accepted) as kernel:
            assert 0.25 <= waited(kernel) < 30
            client.sendall(b" /")
            accepted.recv(100)
            assert waited(kernel) < 0.25
        assert waited(kernel) == 0.0  # closed


def test_a_worker_is_alive_before_it_imports_what_is_heavy():
    """It was killed for its silence on a busy machine, over and over, while it imported torch."""
    imported = "import sys, sklar.cli, sklar.scale.serving.admission; print({'torch', 'numpy'} & {*sys.modules})"
    said = subprocess.run([sys.executable, "-c", imported], capture_output=True, text=True, check=True).stdout
    assert said == "set()\n"


def test_where_nobody_knows_nothing_is_refused():
    one, other = socket.socketpair()
    with one, other:
        assert _copied(one) is None
    assert _copied(None) is None
    assert waited(None) == 0.0


def flood(port, n_clients):
    """What so many clients at once are told, and after how many seconds."""
    start, found = threading.Barrier(n_clients), []

    def client():
        start.wait()
        began = time.perf_counter()
        reply = ask(port, "/predict", BODY)
        found.append((reply, time.perf_counter() - began))

    clients = [threading.Thread(target=client) for _ in range(n_clients)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    return found


PAYLOAD = json.dumps(BODY).encode()
POST = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(PAYLOAD) + PAYLOAD


def test_only_a_whole_request_is_refused_unparsed():
    assert is_whole_post(POST)
    assert is_whole_post(POST.replace(b"Content-Length: ", b"content-length:"))
    others = [
        POST[:-1],
        POST + b" ",
        POST[1:],
        b"GET" + POST[4:],
        POST.replace(b"Host: x", b"Transfer-Encoding: chunked"),
    ]
    others += [POST.replace(b"Host: x", b"Content-Length: 3"), b"POST /predict HTTP/1.1\r\n\r\n"]
    assert not any(map(is_whole_post, others))


@on_linux
def test_refusals_keep_a_connection_in_step(serve, numbers_model, monkeypatch):
    """On one connection: refused unparsed, refused after parsing where it came in parts, and answered."""
    late = [5.0, 5.0, 5.0, 5.0, 0.0, 0.0]  # whole: read; in two parts: both read, then begun; whole: read, begun
    monkeypatch.setattr("sklar.scale.serving.admission.waited", lambda kernel: late.pop(0))
    port = serve(numbers_model.fitted_)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        said = []
        for parts in ([POST], [POST[:60], POST[60:]], [POST]):
            for part in parts:
                connection.sendall(part)
                time.sleep(0.3)
            said.append(connection.recv(10_000))
    assert [reply.split(b" ")[1] for reply in said] == [b"503", b"503", b"200"]
    for reply in said[:2]:
        head, body = reply.lower().split(b"\r\n\r\n")
        assert b"retry-after: 1" in head
        assert json.loads(body)["error"]["type"] == "busy"
    assert late == []


@on_linux
def test_a_flood_is_refused_and_what_is_let_in_is_answered_soon(serve, numbers_model, monkeypatch):
    """A server that takes 50 ms for a request, 40 clients at once, 0.4 s of patience.

    Answered one after the other, the last of them would wait 2 s. After the flood all is as before.
    """
    monkeypatch.setattr(app, "read_rows", lambda *given: time.sleep(0.05) or read_rows(*given))
    port = serve(numbers_model.fitted_, app.Limits(max_wait=0.4))
    replies = flood(port, 40)
    answered = [seconds for reply, seconds in replies if reply.status == 200]
    refused = [reply for reply, _ in replies if reply.status == 503]
    assert len(answered) + len(refused) == 40
    assert 1 <= len(answered) <= 12  # 8 in 0.4 s, where the machine is quick enough to begin at once
    assert all(reply.headers["retry-after"] == "1" and reply.json["error"]["type"] == "busy" for reply in refused)
    assert max(answered) < 2.0
    assert ask(port, "/health").status == 200
    assert ask(port, "/predict", BODY).status == 200
