"""Which requests are let in: those that have not waited long already. The others are refused at once.

With more requests than a server can answer, they wait where it does not see them: in the kernel, until their connection
is accepted and read. The kernel knows for how long (TCP_INFO of Linux). A request that has waited longer than
`max_wait` seconds when it comes up is refused, which takes a small part of the time of an answer: the queue stays as
short as that, and the others are answered. Where a system does not say, nothing is refused here.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sklar.scale.serving.errors import RequestError

Endpoint = Callable[[Request], Awaitable[Response]]
SOCKET = "sklar.socket"  # in the scope of a request
LAST_DATA_RECEIVED = 52  # where the milliseconds since then stand in Linux's struct tcp_info, 32 bits


class Connection(HttpToolsProtocol):
    """Uvicorn's protocol, whose requests know their socket."""

    kernel: socket.socket | None = None

    def connection_made(self, transport: Any) -> None:
        """Remember the socket; the loop keeps its own."""
        super().connection_made(transport)
        self.kernel, behind = _copied(transport.get_extra_info("socket")), self.app

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope[SOCKET] = self.kernel
            await behind(scope, receive, send)

        self.app = app

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        super().connection_lost(exc)
        if self.kernel is not None:
            self.kernel.close()


def _copied(used: Any) -> socket.socket | None:
    """A second handle of a TCP socket, where it can say how long data has waited."""
    if used is None or not hasattr(socket, "TCP_INFO") or used.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    return socket.socket(fileno=os.dup(used.fileno()))


def waited(kernel: socket.socket | None) -> float:
    """Seconds since the last data of a connection has arrived; 0 where nobody knows."""
    if kernel is None:
        return 0.0
    try:
        facts = kernel.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LAST_DATA_RECEIVED + 4)
        return float(struct.unpack_from("I", facts, LAST_DATA_RECEIVED)[0]) / 1000
    except (OSError, struct.error):  # a connection that has gone; a system that says less
        return 0.0


class Front:
    """An application before another: it has the addresses that are asked most, and lets in what is answered in time."""

    def __init__(self, behind: Any, endpoints: Mapping[str, Endpoint], max_wait: float) -> None:
        self.behind, self.endpoints, self.max_wait = behind, endpoints, max_wait

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or hand it on."""
        endpoint = self.endpoints.get(scope["path"]) if scope["type"] == "http" else None
        if endpoint is None or scope["method"] != "POST":
            await self.behind(scope, receive, send)
            return
        try:
            if waited(scope.get(SOCKET)) > self.max_wait:
                raise RequestError("busy", f"requests wait longer than {self.max_wait:g} s; try again in a second")
            response = await endpoint(Request(scope, receive))
        except RequestError as error:
            response = refusal(error)
        await response(scope, receive, send)


def refusal(error: RequestError) -> Response:
    """An error as an answer."""
    headers = {"Retry-After": "1"} if error.status == 503 else {}
    return Response(json.dumps(error.to_dict()), error.status, headers, "application/json")
