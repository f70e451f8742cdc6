"""The service in OpenAPI's terms, for this model: its columns, answers, limits and errors; and as a page to read."""

from __future__ import annotations

from typing import Any

import sklar
from sklar.fitted import FittedModel
from sklar.scale.serving.errors import ARROW, JSON, RequestError

Object = dict[str, Any]


def specification(fitted: FittedModel, limits: Any) -> Object:
    """An OpenAPI 3.1 document."""
    row = {"type": "object", "required": list(fitted.schema.names), "properties": _columns(fitted)}
    rows = {"type": "array", "minItems": 1, "maxItems": limits.max_rows, "items": {"$ref": "#/components/schemas/Row"}}
    table = {"type": "object", "required": ["rows"], "properties": {"rows": rows}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"sklar: {fitted.name}",
            "version": sklar.__version__,
            "description": f"At most {limits.max_rows} rows and {limits.max_body} bytes a request, "
            f"{limits.max_explained} rows for /explain, {limits.max_waiting} requests at a time; "
            f"what would wait longer than {limits.max_wait:g} s is refused (503, Retry-After).",
        },
        "paths": {
            "/predict": _post("Predict from the selected features alone", "Predictions", ARROW),
            "/select": _post("The features that decide each row", "Selections", ARROW),
            "/explain": _post("Each row with its prediction, its features and how sure they are", "Explanations"),
            "/health": {"get": {"summary": "Whether it runs, and which model", "responses": {"200": _json_of({})}}},
        },
        "components": {"schemas": {"Row": row, "Table": table, **_answers(fitted), "Error": _error()}},
    }


def _columns(fitted: FittedModel) -> Object:
    """What each column may hold; any value may be missing, and a feature whose value fit never missed is not shown."""
    of_column = zip(fitted.schema.names, fitted.schema.encoding.categories, strict=True)
    return {name: {"type": ["number" if kept is None else "string", "null"]} for name, kept in of_column}


def _answers(fitted: FittedModel) -> Object:
    any_value, texts = {"type": "array"}, {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    predictions: Object = {"predictions": any_value}
    if fitted.target.is_classified:
        predictions["probabilities"] = {"type": "object", "additionalProperties": any_value}
    return {
        "Predictions": {"type": "object", "properties": predictions},
        "Selections": {"type": "object", "properties": {"selected": texts}},
        "Explanations": {"type": "object", "properties": {"explanations": any_value}},
    }


def _error() -> Object:
    kinds = {"type": "string", "enum": list(RequestError.STATUS)}
    text = {"type": "string"}
    inside = {"type": "object", "properties": {"type": kinds, "message": text, "column": text}}
    return {"type": "object", "properties": {"error": inside}}


def _post(summary: str, answer: str, *others: str) -> Object:
    """An address whose answers are JSON or of other types."""
    refusals = {str(status): _json_of({"$ref": "#/components/schemas/Error"}) for status in _statuses()}
    found = _json_of({"$ref": f"#/components/schemas/{answer}"})
    found["content"].update({kind: {} for kind in others})
    body = {"required": True, "content": {JSON: {"schema": {"$ref": "#/components/schemas/Table"}}, ARROW: {}}}
    return {"post": {"summary": summary, "requestBody": body, "responses": {"200": found, **refusals}}}


def _statuses() -> list[int]:
    """Of refusals by an address that is there, asked as it wants to be."""
    return sorted(set(RequestError.STATUS.values()) - {404, 405})


def _json_of(schema: Object) -> Object:
    return {"description": "", "content": {JSON: {"schema": schema}}}


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ info.title }}</title>
<style>body{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem}code{background:#eee}</style></head>
<body><h1>{{ info.title }}</h1><p>{{ info.description }} <a href="openapi.json">openapi.json</a></p>
{% for path, methods in paths.items() %}{% for method, facts in methods.items() %}
<h2><code>{{ method|upper }} {{ path }}</code></h2>
<p>{{ facts.summary }}. Answers: {{ facts.responses|join(", ") }}.</p>
{% endfor %}{% endfor %}
<h2>A row</h2><table>{% for name, column in components.schemas.Row.properties.items() %}
<tr><td><code>{{ name }}</code></td><td>{{ column.type|join(" or ") }}</td></tr>{% endfor %}</table>
<h2>Errors</h2><p>{{ components.schemas.Error.properties.error.properties.type.enum|join(", ") }}</p></body></html>
"""


def page(content: Object) -> str:
    """The specification for people, without a script and without a network; all text is escaped."""
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined).from_string(PAGE).render(content)
