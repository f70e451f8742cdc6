"""A real server, in a thread of its own, and requests to it over a real connection."""

import http.client
import json
import threading
import time
from contextlib import closing
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import uvicorn

from sklar import CopulaSelectorClassifier
from sklar.scale.serving.admission import Connection
from sklar.scale.serving.app import Limits, application
from tests.helpers import quick, toy_rows

LIMITS = Limits(max_rows=50, max_body=20_000, max_explained=3)


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: dict

    @property
    def json(self):
        return json.loads(self.body)


def ask(port, path, body=None, *, timeout=20, **headers):
    """One request; a body that is no bytes is sent as JSON."""
    payload = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)) as connection:
        connection.request("GET" if body is None else "POST", path, payload, names)
        reply = connection.getresponse()
        return Reply(reply.status, reply.read(), dict(reply.getheaders()))


def frame(n=120):
    X, value = toy_rows(n)
    text = pd.Series(np.where(X[:, 4] > 0, "up", "down"), dtype=object)
    text[::7] = None
    return pd.DataFrame(X[:, :4], columns=list("abcd")).assign(text=text), np.where(value > 0, "yes", "no")


@pytest.fixture(scope="session")
def model():
    """An honest selector of numbers and text with missing values."""
    X, y = frame()
    return quick(CopulaSelectorClassifier, objective="honest").fit(X, y)


@pytest.fixture(scope="session")
def numbers_model():
    X, value = toy_rows()
    return quick(CopulaSelectorClassifier, objective="honest").fit(X, value > 0)


@pytest.fixture(scope="session")
def serve():
    """Starts servers of fitted models; gives their ports."""
    running = []

    def start(fitted, limits=LIMITS):
        words = {"port": 0, "log_level": "error", "http": Connection}
        server = uvicorn.Server(uvicorn.Config(application(fitted, limits), **words))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        running.append((server, thread))
        return server.servers[0].sockets[0].getsockname()[1]

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(timeout=10)


@pytest.fixture(scope="session")
def port(serve, model):
    return serve(model.fitted_)


def records(X):
    """Rows as JSON has them, None where missing."""
    return X.astype(object).where(X.notna(), None).to_dict("records")
