"""What a client did wrong, or why it is not answered: a status, a type for programs and a message for people."""

from __future__ import annotations

from typing import Any

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"  # what bodies are


class RequestError(ValueError):
    """A request that is not answered; `kind` is one of those that the OpenAPI page lists."""

    STATUS = {
        "not_json": 400,
        "not_arrow": 400,
        "no_such_address": 404,
        "wrong_method": 405,
        "body_too_large": 413,
        "too_many_rows": 413,
        "unknown_content_type": 415,
        "unknown_content_encoding": 415,
        "bad_rows": 422,
        "unknown_key": 422,
        "missing_column": 422,
        "repeated_column": 422,
        "bad_value": 422,
        "failed": 500,
        "busy": 503,
    }

    def __init__(self, kind: str, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.kind, self.column, self.status = kind, column, self.STATUS[kind]

    def to_dict(self) -> dict[str, Any]:
        """The body of the answer."""
        where = {} if self.column is None else {"column": self.column}
        return {"error": {"type": self.kind, "message": str(self), **where}}
