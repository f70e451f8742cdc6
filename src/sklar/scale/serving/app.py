"""The application: what each address answers, within its limits. The model is read once and never changed."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

try:
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, Response
    from starlette.routing import Route
except ImportError as error:
    raise ImportError('serving needs starlette and uvicorn: pip install "sklar[serve]"') from error

import numpy as np

import sklar
from sklar.explain import explain
from sklar.fitted import FittedModel
from sklar.scale.serving.admission import Connection, Front, refusal
from sklar.scale.serving.batching import Batcher
from sklar.scale.serving.bodies import arrow_answer, json_answer, parts_of, read_each, read_rows
from sklar.scale.serving.description import page, specification
from sklar.scale.serving.errors import ARROW, JSON, RequestError

SECONDS_TO_END = 5  # that requests have to be answered, or sent to their end, when the server is told to stop


@dataclass(frozen=True)
class Limits:
    """Of one request, and of all that wait."""

    max_body: int = 2**24  # bytes
    max_rows: int = 10_000
    max_explained: int = 100  # rows: an explanation takes longer than an answer
    max_explaining: int = 8  # requests for explanations at a time; more are refused (503)
    max_waiting: int = 4_096  # requests; more are refused (503)
    max_wait: float = 1.0  # seconds that a request may wait; where it would be longer, it is refused (503)
    batch_rows: int = 4_096  # answered together


class Service:
    """The addresses of one model."""

    def __init__(self, fitted: FittedModel, limits: Limits) -> None:
        self.fitted, self.limits = fitted, limits
        self.batchers = {
            what: Batcher(parts_of(fitted, what), limits.batch_rows, limits.max_waiting, limits.max_wait)
            for what in ("outputs", "masks")
        }
        self.n_explaining = 0
        self.specification = specification(fitted, limits)

    async def predict(self, request: Request) -> Response:
        """Predictions, of classifiers with probabilities."""
        return await self._answer(request, "outputs")

    async def select(self, request: Request) -> Response:
        """The features that decide each row."""
        return await self._answer(request, "masks")

    async def explain(self, request: Request) -> Response:
        """Each row as `explain` gives it."""
        content_type = request.headers.get("content-type", JSON)
        rows = read_each(self.fitted.schema, await self._body(request), content_type, self.limits.max_explained)
        if self.n_explaining >= self.limits.max_explaining:
            raise RequestError("busy", f"{self.n_explaining} requests are being explained; try again in a second")
        self.n_explaining += 1
        try:
            found = await run_in_threadpool(lambda: [explain(self.fitted, row).to_dict() for row in rows])
        finally:
            self.n_explaining -= 1
        return _json({"explanations": found})

    async def health(self, request: Request) -> Response:
        """Whether it runs, and what."""
        waiting = sum(batcher.n_waiting for batcher in self.batchers.values())
        facts = {"model": self.fitted.name, "n_features": self.fitted.schema.n_columns, "version": sklar.__version__}
        return _json({"status": "ok", **facts, "waiting": waiting})

    async def openapi(self, request: Request) -> Response:
        """The specification."""
        return _json(self.specification)

    async def docs(self, request: Request) -> Response:
        """The specification as a page."""
        return HTMLResponse(page(self.specification))

    async def _answer(self, request: Request, what: str) -> Response:
        answer = await self.batchers[what].answer(await self._rows(request, self.limits.max_rows))
        if ARROW in request.headers.get("accept", ""):
            return Response(arrow_answer(self.fitted, answer), media_type=ARROW)
        return _json(json_answer(self.fitted, answer))

    async def _rows(self, request: Request, max_rows: int) -> np.ndarray:
        body = await self._body(request)
        return read_rows(self.fitted.schema, body, request.headers.get("content-type", JSON), max_rows)

    async def _body(self, request: Request) -> bytes:
        """The body, refused before it is read if it says that it is packed or too large, and at the limit else."""
        most, parts, size = self.limits.max_body, [], 0
        packed = request.headers.get("content-encoding", "identity")
        if packed.strip().lower() != "identity":
            raise RequestError("unknown_content_encoding", f"send the body as it is; got one packed by {packed}")
        if int(request.headers.get("content-length", 0)) > most:
            raise RequestError("body_too_large", f"a body of more than {most} bytes")
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise RequestError("body_too_large", f"a body of more than {most} bytes")
            parts.append(part)
        return b"".join(parts)


def application(fitted: FittedModel, limits: Limits | None = None) -> Any:
    """The ASGI application of a fitted model; `sklar serve` runs it with uvicorn.

    Examples
    --------
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> model = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0])
    >>> sorted(application(model.fitted_).endpoints)
    ['/explain', '/predict', '/select']
    """
    service = Service(fitted, limits or Limits())
    asked = {"/predict": service.predict, "/select": service.select, "/explain": service.explain}
    routes = [
        *(Route(path, endpoint, methods=["POST"]) for path, endpoint in asked.items()),
        Route("/health", service.health),
        Route("/openapi.json", service.openapi),
        Route("/docs", service.docs),
    ]
    unknown = {404: _no_such_address, 405: _wrong_method}
    return Front(Starlette(routes=routes, exception_handlers=unknown), asked, service.limits.max_wait)


async def _no_such_address(request: Request, error: Exception) -> Response:
    return refusal(RequestError("no_such_address", f"nothing is at {request.url.path}; /docs says what there is"))


async def _wrong_method(request: Request, error: Exception) -> Response:
    wanted = "GET" if request.method == "POST" else "POST"
    return refusal(RequestError("wrong_method", f"{request.url.path} is asked by {wanted}; /docs says how"))


def serve(
    model: str,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    limits: Limits | None = None,
    echo: Callable[[str], object] = lambda text: None,
) -> None:
    """Serve a saved model until it is stopped; with several workers, each is a process with its own copy."""
    import uvicorn

    limits = limits or Limits()
    sklar.load(model)  # a file that cannot be read is a mistake to see now
    _require_free(host, port)
    echo(f"serving {model} at http://{host}:{port}, described at /docs; Ctrl-C stops it")
    os.environ["SKLAR_SERVE"] = json.dumps({"model": model, "limits": vars(limits)})
    uvicorn.run(
        "sklar.scale.serving.app:from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_level="warning",
        access_log=False,
        http=Connection,
        timeout_graceful_shutdown=SECONDS_TO_END,
    )


def _require_free(host: str, port: int) -> None:
    """Raise where nobody can listen there."""
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        raise OSError(f"cannot listen at {host}:{port} ({error.strerror}); say another --port or --host") from error


def from_environment() -> Any:
    """The application that `serve` asked for: workers are started anew, and know only their environment."""
    import torch

    torch.set_num_threads(1)
    asked = json.loads(os.environ["SKLAR_SERVE"])
    return application(sklar.load(asked["model"]).fitted_, Limits(**asked["limits"]))


def _json(content: dict[str, Any]) -> Response:
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return Response(
        text.encode(errors="backslashreplace"), media_type=JSON
    )  # half a surrogate pair, as JSON escapes it
