"""A real server answers as the model does, in JSON and Arrow; what is wrong is named; too much is refused."""

import gzip
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.scale.serving import app
from sklar.scale.serving.admission import LOG
from sklar.scale.serving.app import Limits
from sklar.scale.serving.errors import ARROW
from tests.cli.commands import assert_one_line_error, run
from tests.scale.serving.conftest import ask, frame, records


def test_predictions_are_the_models(port, model):
    X, _ = frame()
    found = ask(port, "/predict", {"rows": records(X[:20])}).json
    assert found["predictions"] == model.predict(X[:20]).tolist()
    assert list(found["probabilities"]) == ["no", "yes"]
    np.testing.assert_allclose(found["probabilities"]["yes"], model.predict_proba(X[:20])[:, 1], rtol=1e-9)


def test_selections_are_the_models(port, model):
    X, _ = frame()
    found = ask(port, "/select", {"rows": records(X[:20])}).json["selected"]
    masks = model.select(X[:20]).to_numpy()
    assert found == [[name for name, chosen in zip(X.columns, row, strict=True) if chosen] for row in masks]
    assert any(found)


def test_explanations_are_the_models(port, model):
    X, _ = frame()
    found = ask(port, "/explain", {"rows": records(X[5:8])}).json["explanations"]
    assert found == [json.loads(json.dumps(model.explain(X.iloc[[row]]).to_dict())) for row in (5, 6, 7)]


@pytest.mark.parametrize("path", ["/predict", "/select"])
def test_arrow_in_and_out(port, model, path):
    X, _ = frame()
    sink = io.BytesIO()
    table = pa.Table.from_pandas(X[:30], preserve_index=False)
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    reply = ask(port, path, sink.getvalue(), content_type=ARROW, accept=ARROW)
    assert reply.headers["content-type"] == ARROW
    found = pa.ipc.open_stream(reply.body).read_all()
    if path == "/select":
        assert (found.to_pandas().to_numpy() == model.select(X[:30]).to_numpy()).all()
    else:
        assert found.column_names == ["prediction", "proba_no", "proba_yes"]
        assert found["prediction"].to_pylist() == model.predict(X[:30]).tolist()
    assert len(ask(port, "/explain", sink.getvalue()[:], content_type=ARROW).body) > 0


def test_health_and_description(port, model):
    assert ask(port, "/health").json == {
        "status": "ok",
        "model": "CopulaSelectorClassifier",
        "n_features": 5,
        "version": sklar.__version__,
        "waiting": 0,
    }
    described = ask(port, "/openapi.json").json
    assert described["components"]["schemas"]["Row"]["required"] == [*"abcd", "text"]
    assert "POST /predict" in ask(port, "/docs").body.decode()


GOOD = {"a": 1.0, "b": 0.5, "c": 2, "d": 0.1, "text": "up"}


@pytest.mark.parametrize(
    ("body", "status", "kind", "said"),
    [
        (b"{", 400, "not_json", "not JSON"),
        (b"[" * 100_00, 400, "not_json", "not JSON"),
        ({"rows": []}, 422, "bad_rows", "rows"),
        ([1], 422, "bad_rows", "rows"),
        ({"rows": [3]}, 422, "bad_rows", "rows"),
        ({"rows": [{**GOOD, "b": "x"}]}, 422, "bad_value", "column 'b'"),
        ({"rows": [{**GOOD, "text": 4}]}, 422, "bad_value", "column 'text'"),
        ({"rows": [{**GOOD, "b": [1, 2]}]}, 422, "bad_value", "column 'b'"),
        ({"rows": [{"a": 1.0}]}, 422, "missing_column", "'b'"),
        ({"rows": [GOOD] * 51}, 413, "too_many_rows", "51 rows"),
        ({"rows": [GOOD] * 500}, 413, "body_too_large", "20000 bytes"),
    ],
)
def test_mistakes_have_a_type_and_name_the_column(port, body, status, kind, said):
    reply = ask(port, "/predict", body)
    assert (reply.status, reply.json["error"]["type"]) == (status, kind)
    assert said in reply.json["error"]["message"]


def test_other_types_other_paths_and_many_explanations(port):
    assert ask(port, "/predict", b"a,b", content_type="text/csv").json["error"]["type"] == "unknown_content_type"
    assert ask(port, "/predict", b"no stream", content_type=ARROW).json["error"]["type"] == "not_arrow"
    for path, body, status, kind in (("/", None, 404, "no_such_address"), ("/predict", None, 405, "wrong_method")):
        reply = ask(port, path, body)
        assert (reply.status, reply.json["error"]["type"]) == (status, kind)
        assert "/docs" in reply.json["error"]["message"]
    assert "asked by GET" in ask(port, "/health", {}).json["error"]["message"]
    assert ask(port, "/explain", {"rows": [GOOD] * 4}).json["error"]["type"] == "too_many_rows"


def test_a_packed_body_is_refused(port):
    body = gzip.compress(json.dumps({"rows": [GOOD]}).encode())
    for path in ("/predict", "/explain"):
        reply = ask(port, path, body, content_encoding="gzip")
        assert (reply.status, reply.json["error"]["type"]) == (415, "unknown_content_encoding")
        assert ask(port, path, {"rows": [GOOD]}, content_encoding="identity").status == 200


@contextmanager
def heard(caplog):
    """Inside, the log of the servers that run; it is none that pytest listens to."""
    LOG.addHandler(caplog.handler)
    try:
        yield caplog
    finally:
        LOG.removeHandler(caplog.handler)


@pytest.mark.filterwarnings("ignore:column 'text'")
def test_explanations_are_json_whatever_is_accepted(port):
    assert ask(port, "/explain", {"rows": [GOOD]}, accept=ARROW).json["explanations"]
    assert ask(port, "/explain", {"rows": [{**GOOD, "text": "\ud800"}]}).json["explanations"]


def test_what_fails_inside_has_a_type_too(serve, numbers_model, monkeypatch, caplog):
    def fails(self, rows):
        raise LookupError("a secret")

    monkeypatch.setattr(type(numbers_model.fitted_), "outputs", fails)
    port = serve(numbers_model.fitted_)
    with heard(caplog):
        reply = ask(port, "/predict", {"rows": [{f"x{j}": 0.0 for j in range(5)}]})
    assert (reply.status, reply.json["error"]["type"]) == (500, "failed")
    assert "secret" not in reply.json["error"]["message"]
    assert "a secret" in caplog.text
    assert ask(port, "/select", {"rows": [{f"x{j}": 0.0 for j in range(5)}]}).status == 200


def test_a_client_that_goes_while_it_sends_is_no_mistake(port, caplog):
    with heard(caplog):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            time.sleep(0.2)
        time.sleep(0.2)
        assert ask(port, "/predict", {"rows": [GOOD]}).status == 200
    assert not caplog.records


def test_a_body_without_a_length_stops_at_the_limit(port):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"5000\r\n" + b" " * 0x5000 + b"\r\n")
        assert b"413" in connection.recv(100)


def test_a_mistake_is_one_clients_alone(port, model):
    """Thirty clients at once, every third with a bad row: the others get their answers."""
    X, _ = frame()
    rows = records(X[:30])
    for row in rows[::3]:
        row["b"] = "x"
    with ThreadPoolExecutor(30) as clients:
        replies = list(clients.map(lambda row: ask(port, "/predict", {"rows": [row]}), rows))
    assert [reply.status for reply in replies] == [422 if i % 3 == 0 else 200 for i in range(30)]
    expected = model.predict(X[:30]).tolist()
    assert [r.json["predictions"][0] for r in replies if r.status == 200] == [
        e for i, e in enumerate(expected) if i % 3
    ]


def test_lists_in_every_cell_stop_nobody(serve, numbers_model):
    """Ten clients at once: such rows once made an array that others could not be answered with, nor anybody later."""
    port = serve(numbers_model.fitted_)
    good, bad = ({"rows": [{f"x{j}": cell for j in range(5)}]} for cell in (0.5, [0.5]))
    with ThreadPoolExecutor(10) as clients:
        replies = list(clients.map(lambda i: ask(port, "/predict", bad if i % 2 else good), range(40)))
    assert [reply.status for reply in replies] == [200, 422] * 20
    assert replies[1].json["error"]["column"] == "x0"
    assert ask(port, "/predict", good).status == 200


def test_too_many_at_once_are_refused(serve, numbers_model, monkeypatch):
    """A slow model, one request waiting at most: of eight at once some are told to come again, and none hangs."""
    fitted = numbers_model.fitted_
    slow = type(fitted).outputs
    monkeypatch.setattr(type(fitted), "outputs", lambda self, rows: time.sleep(0.3) or slow(self, rows))
    port = serve(fitted, Limits(max_waiting=1))
    many = {"rows": [{f"x{j}": 0.0 for j in range(5)}] * 300}  # more than are answered in the loop
    with ThreadPoolExecutor(8) as clients:
        replies = list(clients.map(lambda _: ask(port, "/predict", many), range(8)))
    assert {reply.status for reply in replies} == {200, 503}
    refused = next(reply for reply in replies if reply.status == 503)
    assert refused.json["error"]["type"] == "busy"
    assert refused.headers["retry-after"] == "1"
    assert ask(port, "/predict", many).status == 200


def test_too_many_explanations_at_once_are_refused(serve, numbers_model, monkeypatch):
    slow = app.explain
    monkeypatch.setattr(app, "explain", lambda *given: time.sleep(0.3) or slow(*given))
    port = serve(numbers_model.fitted_, Limits(max_explaining=1, max_wait=60))
    one = {"rows": [{f"x{j}": 0.0 for j in range(5)}]}
    with ThreadPoolExecutor(4) as clients:
        replies = list(clients.map(lambda _: ask(port, "/explain", one), range(4)))
    assert {reply.status for reply in replies} == {200, 503}
    assert ask(port, "/explain", one).status == 200


def test_numbers_alone_take_the_short_way(serve, numbers_model):
    port = serve(numbers_model.fitted_)
    good = {f"x{j}": float(j) for j in range(5)}
    expected = numbers_model.predict(np.arange(5.0)[None])
    assert ask(port, "/predict", {"rows": [good]}).json["predictions"] == expected.tolist()
    for bad in ("x", "1.5", [1], 1e400, 10**400, {}):
        reply = ask(port, "/predict", {"rows": [good, {**good, "x3": bad}]})
        assert (reply.status, reply.json["error"]["column"]) == (422, "x3"), bad
    assert ask(port, "/select", {"rows": [{**good, "x3": True, "other": 1}]}).status == 200
    missing = np.array([[0.0, 1.0, 2.0, np.nan, 4.0]])
    found = ask(port, "/select", {"rows": [{**good, "x3": None}]}).json["selected"]
    assert found == [[f"x{j}" for j in np.flatnonzero(numbers_model.select(missing)[0])]]


def test_a_port_that_is_taken_is_a_mistake_in_one_line(tmp_path, model, port):
    model.save(tmp_path / "m.sklar")
    result = run("serve", tmp_path / "m.sklar", "--port", port)
    assert_one_line_error(result, rf"cannot listen at 127\.0\.0\.1:{port} .* say another --port")


def test_the_command_serves_and_stops(tmp_path, model):
    model.save(tmp_path / "m.sklar")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sklar.cli", "serve", str(tmp_path / "m.sklar"), "--port", str(port)]
    server = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            try:
                reply = ask(port, "/select", {"rows": [GOOD]})
                break
            except ConnectionRefusedError:
                assert server.poll() is None, server.stderr.read()
                time.sleep(0.1)
        assert reply.status == 200
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) in (0, 130, -signal.SIGINT)
        assert "Traceback" not in server.stderr.read()
        server.stderr.close()
