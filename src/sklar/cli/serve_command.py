"""`sklar serve`: a saved model behind HTTP."""

from __future__ import annotations

from typing import Any

import click

from sklar.cli.config import config_option
from sklar.cli.shared import PATH, note


@click.command(short_help="Answer requests over HTTP.")
@click.argument("model", type=PATH)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; 0.0.0.0 is every one.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1), help="Processes, each with the model.")
@click.option("--max-rows", default=10_000, show_default=True, type=click.IntRange(1), help="Of a request.")
@click.option("--max-body", default=2**24, show_default=True, type=click.IntRange(1), help="Bytes of a request.")
@click.option(
    "--max-waiting", default=4_096, show_default=True, type=click.IntRange(1), help="Requests; more are refused (503)."
)
@click.option(
    "--max-wait",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds; a request that would wait longer is refused (503).",
)
@config_option
def serve(model: str, host: str, port: int, workers: int, **limits: Any) -> None:
    """Answer requests about rows with MODEL: /predict, /select, /explain, /health, and /docs, which describes them.

    \b
    sklar serve model.sklar --port 8000 --workers 2
    curl localhost:8000/select -H 'Content-Type: application/json' -d '{"rows": [{"age": 31, "income": 20000}]}'
    """
    from sklar.scale.serving.app import Limits, serve

    serve(model, host, port, workers, Limits(**limits), echo=note)
