"""Errors of requests have a status, a type and a message."""

import pytest

from sklar.scale.serving.errors import RequestError


def test_an_error_as_a_body():
    error = RequestError("bad_value", "row 0: 'b' is 'x', not a number", "b")
    assert error.status == 422
    assert error.to_dict() == {
        "error": {"type": "bad_value", "message": "row 0: 'b' is 'x', not a number", "column": "b"}
    }
    assert "column" not in RequestError("busy", "later").to_dict()["error"]


def test_unknown_kinds_are_a_bug():
    with pytest.raises(KeyError):
        RequestError("odd", "")
