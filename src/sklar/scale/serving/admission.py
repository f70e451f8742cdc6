"""Which requests are let in: those that have not waited long already. The others are refused at once.

With more requests than a server can answer, they wait where it does not see them: in the kernel, until their connection
is accepted and read. The kernel knows for how long (TCP_INFO of Linux). A request that has waited longer than
`max_wait` seconds when it comes up is refused. Most are refused before they are parsed, in a fifth of the time of an
answer: what a refusal takes is taken from the answers of others. Where a system does not say, nothing is refused here.

Nothing heavy is imported here: a worker imports this file before it answers whether it is alive, which uvicorn gives it
five seconds for, and ends it after them.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sklar.scale.serving.errors import JSON, RequestError

LOG = logging.getLogger("uvicorn.error")
Endpoint = Callable[[Request], Awaitable[Response]]
LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,15})", re.IGNORECASE)
SOCKET = "sklar.socket"  # in the scope of a request
LAST_DATA_RECEIVED = 52  # where the milliseconds since then stand in Linux's struct tcp_info, 32 bits


class Connection(HttpToolsProtocol):
    """Uvicorn's protocol, whose requests know their socket, and are refused unparsed where they have waited long."""

    kernel: socket.socket | None = None
    max_wait = math.inf
    is_inside = False  # a request that has begun, and has not ended

    def connection_made(self, transport: Any) -> None:
        """Remember the socket; the loop keeps its own."""
        super().connection_made(transport)
        self.kernel, behind = _copied(transport.get_extra_info("socket")), self.app
        self.max_wait = getattr(behind, "max_wait", math.inf)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope[SOCKET] = self.kernel
            await behind(scope, receive, send)

        self.app = app

    def data_received(self, data: bytes) -> None:
        """Refuse a whole request that has waited long; parse all else."""
        is_between = not self.is_inside and (self.cycle is None or self.cycle.response_complete)
        if is_between and waited(self.kernel) > self.max_wait and is_whole_post(data):
            self.transport.write(refused_bytes(self.max_wait))
        else:
            super().data_received(data)

    def on_message_begin(self) -> None:
        """Called with the first byte of a request."""
        self.is_inside = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Called with the last."""
        self.is_inside = False
        super().on_message_complete()

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


def is_whole_post(data: bytes) -> bool:
    """Whether these bytes are one request with a body, from its beginning to its end.

    Examples
    --------
    >>> request = b"POST /predict HTTP/1.1\\r\\nContent-Length: 2\\r\\n\\r\\n{}"
    >>> is_whole_post(request), is_whole_post(request[:-1]), is_whole_post(b"GET /health HTTP/1.1\\r\\n\\r\\n")
    (True, False, False)
    """
    head, found, body = data.partition(b"\r\n\r\n")
    if not found or not data.startswith(b"POST ") or b"transfer-encoding" in head.lower():
        return False
    lengths = LENGTH.findall(head)
    return len(lengths) == 1 and int(lengths[0]) == len(body)


@cache
def refused_bytes(max_wait: float) -> bytes:
    """The answer of a refusal, as it is sent."""
    body = refusal(too_late(max_wait)).body
    head = f"HTTP/1.1 503 Service Unavailable\r\ncontent-type: {JSON}\r\nretry-after: 1\r\ncontent-length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + bytes(body)


def too_late(max_wait: float) -> RequestError:
    """What is said to a request that has waited long."""
    return RequestError("busy", f"requests wait longer than {max_wait:g} s; try again in a second")


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
                raise too_late(self.max_wait)
            response = await endpoint(Request(scope, receive))
        except ClientDisconnect:
            return
        except RequestError as error:
            response = refusal(error)
        except Exception:  # a mistake of the program: its log has it, and the client learns that there is one
            LOG.exception("%s failed", scope["path"])
            response = refusal(RequestError("failed", "the request failed; the server's log says why"))
        await response(scope, receive, send)


def refusal(error: RequestError) -> Response:
    """An error as an answer."""
    headers = {"Retry-After": "1"} if error.status == 503 else {}
    return Response(json.dumps(error.to_dict()), error.status, headers, JSON)
