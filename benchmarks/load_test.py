"""A load test of `sklar serve`: single-row requests a second over kept-alive connections, and their latencies.

    python benchmarks/load_test.py                       # starts a server of two workers, as fast as it answers
    python benchmarks/load_test.py --rate 1500           # and at a fixed rate, for the latency at half load
    python benchmarks/load_test.py --connections 6000 --processes 2             # more than can be answered in time
    python benchmarks/load_test.py --connections 6000 --processes 2 --patient   # and that wait as `Retry-After` says

The tool is this file: each client process holds its connections in one asyncio loop and writes requests by hand, so
that it takes little of the two cores that it shares with the server. Latency at a fixed rate counts from when a request
was due, not from when it could be sent. The server's CPU time a request does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import line, table


def saved_model(folder: str, d: int, epochs: int) -> Path:
    """A default selector of d numbers."""
    from sklar import CopulaSelectorClassifier
    from sklar.datasets import make_synthetic

    X, y, _ = make_synthetic("syn4", n_samples=2000, n_features=d, random_state=0)
    path = Path(folder) / "model.sklar"
    CopulaSelectorClassifier(max_epochs=epochs, random_state=0, device="cpu").fit(X, y).save(path)
    return path


def request(path: str, d: int) -> bytes:
    body = json.dumps({"rows": [{f"x{j}": round(0.1 * j, 1) for j in range(d)}]}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


COSTS = ("server's CPU, ms", "clients', ms", "cores busy")


class Given(NamedTuple):
    """What one process of clients does."""

    port: int
    connections: int
    rate: float  # requests a second; 0: as fast as they are answered
    patient: bool  # after a refusal they wait a second, as they are told


async def answered(reader: asyncio.StreamReader) -> bool:
    """Read one answer; whether it was 200."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(text.split(b":")[1]) for text in head.lower().split(b"\r\n") if text.startswith(b"content-length")
    )
    await reader.readexactly(length)
    return b" 200 " in head[:15]


async def client(given: Given, payload: bytes, until: float, results: list[tuple[float, bool]]) -> None:
    """One connection: a request as soon as the one before is answered, or every so many seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", given.port)
    every, random = given.connections / given.rate if given.rate else 0.0, np.random.default_rng()
    due = time.perf_counter() + every * random.random()
    while due < until:
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        writer.write(payload)
        good = await answered(reader)
        now = time.perf_counter()
        results.append((now - due, good))
        due = due + every if every else now
        if given.patient and not good:
            due = now + 1 + random.random()  # not all at once
    writer.close()


def clients(given: Given, payload: bytes, seconds: float) -> tuple[list[tuple[float, bool]], float, float]:
    """All connections of one process: what became of each request, the seconds that it took, and those of CPU."""
    results: list[tuple[float, bool]] = []
    start, cpu = time.perf_counter(), time.process_time()

    async def run() -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(client(given, payload, until, results) for _ in range(given.connections)))

    asyncio.run(run())
    return results, time.perf_counter() - start, time.process_time() - cpu


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and all its children so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_seconds(int(child)) for child in children)


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", default="/predict")
    parser.add_argument("--features", type=int, default=11)
    parser.add_argument("--workers", type=int, default=2, help="of the server")
    parser.add_argument("--processes", type=int, default=1, help="of clients")
    parser.add_argument("--connections", type=int, default=32, help="in all")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument(
        "--rate", type=float, default=0, help="requests a second in all; 0: as fast as they are answered"
    )
    parser.add_argument("--patient", action="store_true", help="refused clients wait a second, as they are told")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    if args.quick:
        args.workers, args.seconds, args.connections = 1, 0.5, 4
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        model = saved_model(folder, args.features, 1 if args.quick else 20)
        words = ["serve", str(model), "--port", str(port), "--workers", str(args.workers)]
        server = subprocess.Popen([sys.executable, "-m", "sklar.cli", *words], stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            payload, each = request(args.path, args.features), args.connections // args.processes
            given = Given(port, each, args.rate / args.processes, args.patient)
            warm = given._replace(connections=min(each, 32), rate=0)
            with multiprocessing.Pool(args.processes) as pool:
                pool.starmap(clients, [(warm, payload, 0.3)] * args.processes)  # what is loaded once
                before = cpu_seconds(server.pid)
                work = [(given, payload, args.seconds)] * args.processes
                parts = pool.starmap(clients, work)
                spent = cpu_seconds(server.pid) - before
        finally:
            server.terminate()
            server.wait()
    report(args, parts, spent)


def report(args: argparse.Namespace, parts: list[tuple[list[tuple[float, bool]], float, float]], spent: float) -> None:
    """One line of a table. The cores that server and clients kept busy cannot be more than there are."""
    results, took = [result for part in parts for result in part[0]], max(part[1] for part in parts)
    of_clients = sum(part[2] for part in parts)
    times, refused = (1e3 * np.array([seconds for seconds, good in results if good is kind]) for kind in (True, False))
    columns = ("path", "connections", "asked a second", "answered a second", "p50, ms", "p99, ms", "refused", "in, ms")
    table(f"{args.workers} worker(s), single rows of {args.features} numbers", (*columns, *COSTS, "target"))
    asked = f"{args.rate:.0f}" if args.rate else "any"
    (middle, high), late = np.percentile(times, [50, 99]), np.percentile(refused, 99) if len(refused) else 0
    share = f"{len(refused) / len(results):.1%}"
    cells = (f"{len(times) / took:.0f}", f"{middle:.1f}", f"{high:.1f}", share, f"{late:.0f}")
    each = (f"{1e3 * cpu / len(results):.2f}" for cpu in (spent, of_clients))
    busy = f"{(spent + of_clients) / took:.2f} of {len(os.sched_getaffinity(0))}"
    line(args.path, args.connections, asked, *cells, *each, busy, "3,000 a second; p99 20 ms at half")


if __name__ == "__main__":
    main()
