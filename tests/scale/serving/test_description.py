"""The description names the model's columns, kinds of cells, limits and every error."""

from sklar.scale.serving.app import Limits
from sklar.scale.serving.description import page, specification
from sklar.scale.serving.errors import ARROW, JSON, RequestError


def test_it_describes_this_model(model):
    found = specification(model.fitted_, Limits(max_rows=77))
    schemas = found["components"]["schemas"]
    assert schemas["Row"]["properties"]["a"] == {"type": ["number", "null"]}
    assert schemas["Row"]["properties"]["text"] == {"type": ["string", "null"]}
    assert schemas["Table"]["properties"]["rows"]["maxItems"] == 77
    assert schemas["Error"]["properties"]["error"]["properties"]["type"]["enum"] == list(RequestError.STATUS)
    assert set(found["paths"]["/predict"]["post"]["responses"]) == {"200", "400", "413", "415", "422", "500", "503"}


def test_answers_are_of_the_types_that_are_described(model):
    answers = {path: asked["post"]["responses"]["200"]["content"] for path, asked in posts(model).items()}
    assert {path: list(kinds) for path, kinds in answers.items()} == {
        "/predict": [JSON, ARROW],
        "/select": [JSON, ARROW],
        "/explain": [JSON],
    }


def posts(model):
    paths = specification(model.fitted_, Limits())["paths"]
    return {path: asked for path, asked in paths.items() if "post" in asked}


def test_every_reference_is_there(model):
    found = specification(model.fitted_, Limits())

    def references(value):
        if isinstance(value, dict):
            yield from ([value["$ref"]] if "$ref" in value else [])
            for inside in value.values():
                yield from references(inside)

    names = {reference.rpartition("/")[2] for reference in references(found)}
    assert names <= set(found["components"]["schemas"])
    assert "Explanations" in names


def test_names_are_escaped_on_the_page(model):
    found = specification(model.fitted_, Limits())
    found["components"]["schemas"]["Row"]["properties"] = {"<script>": {"type": ["number"]}}
    assert "<script>" not in page(found)
    assert "&lt;script&gt;" in page(found)
