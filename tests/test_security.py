"""SECURITY.md, sentence by sentence: every item of its lists has a test here, and every test an item."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

import sklar
from sklar.export.storage import ModelFileError, read_model, write_model
from sklar.scale.serving.app import Limits, application
from sklar.table.files import TableError, read_table
from tests.cli.commands import assert_one_line_error, run
from tests.helpers import PEAK, quick, run_python, toy_rows
from tests.scale.serving.conftest import ask, serve  # noqa: F401, a fixture

PAGE = Path(__file__).parent.parent / "SECURITY.md"
TESTED = {}


def says(sentence):
    """Mark a test as that of a sentence, by its beginning."""

    def mark(test):
        TESTED[sentence] = test
        return test

    return mark


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X, value = toy_rows(60)
    path = tmp_path_factory.mktemp("security") / "m.sklar"
    quick(sklar.CopulaSelectorRegressor).fit(X, value).save(path)
    return path


def test_every_sentence_has_its_test():
    text = PAGE.read_text(encoding="utf-8")
    items = re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)
    sentences = [" ".join(item.split()) for item in items]
    assert len(sentences) == len(TESTED)
    for sentence in sentences:
        assert any(sentence.startswith(begin) for begin in TESTED), sentence


@says("Loading a model file runs no code from it")
def test_loading_runs_no_code(model, tmp_path):
    """A pickle that would write a file is not one that is read, and a class by another name is refused."""
    marker = tmp_path / "ran"
    payload = f"cposix\nsystem\n(S'touch {marker}'\ntR.".encode()
    (tmp_path / "p.sklar").write_bytes(payload)
    with pytest.raises(ModelFileError):
        sklar.load(tmp_path / "p.sklar")
    tensors, metadata = read_model(model)
    for change in ({"class": "os.system"}, {"network": "subprocess.Popen"}):
        write_model(tmp_path / "m.sklar", tensors, {**metadata, **change})
        with pytest.raises(ModelFileError, match=next(iter(change))):
            sklar.load(tmp_path / "m.sklar")
    assert not marker.exists()


@says("A file that is truncated, or damaged anywhere, is refused by its checksum")
def test_damage_is_refused(model, tmp_path):
    whole = model.read_bytes()
    random = np.random.default_rng(0)
    for place in random.integers(8, len(whole), 100):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]):
            (tmp_path / "m.sklar").write_bytes(damaged)
            with pytest.raises(ModelFileError):
                sklar.load(tmp_path / "m.sklar")


@says("The checksum is no signature")
def test_a_changed_model_with_a_new_checksum_loads(model, tmp_path):
    tensors, metadata = read_model(model)
    metadata["target"]["centre"] = 1000.0
    write_model(tmp_path / "m.sklar", tensors, metadata)
    X, _ = toy_rows(60)
    assert sklar.load(tmp_path / "m.sklar").predict(X).min() > 500


@says("A file is checked against its own tensors before memory")
def test_memory_is_in_proportion_to_the_file(model, tmp_path):
    tensors, metadata = read_model(model)
    metadata["architecture"] |= {"choice_hidden": 2**20, "predict_hidden": 2**20, "n_features": 2**20}
    write_model(tmp_path / "m.sklar", tensors, metadata)
    code = f"""{PEAK}
import sklar
sklar.load({str(model)!r})
before = peak()
try:
    sklar.load({str(tmp_path / "m.sklar")!r})
except sklar.ModelFileError:
    print(peak() - before)
"""
    assert float(run_python(code)) < 50


@says("A file names no attribute or parameter that `fit` does not have")
def test_unknown_names_are_refused(model, tmp_path):
    tensors, metadata = read_model(model)
    for part, extra in (
        (metadata, "fitted"),
        (metadata["parameters"], "select"),
        (metadata["architecture"], "forward"),
    ):
        part[extra] = 5
        write_model(tmp_path / "m.sklar", tensors, metadata)
        with pytest.raises(ModelFileError, match=extra):
            sklar.load(tmp_path / "m.sklar")
        del part[extra]
    metadata["parameters"]["max_epochs"] = "many"
    write_model(tmp_path / "m.sklar", tensors, metadata)
    with pytest.raises(ModelFileError, match="max_epochs"):
        sklar.load(tmp_path / "m.sklar")


@says("A predictor of boosted trees is held as arrays of numbers that are checked")
def test_a_predictor_is_plain_numbers_or_not_saved(tmp_path):
    X, value = toy_rows(60)
    by_trees = quick(sklar.CopulaSelectorRegressor, predictor=HistGradientBoostingRegressor(max_iter=2)).fit(X, value)
    by_trees.save(tmp_path / "m.sklar")
    tensors, metadata = read_model(tmp_path / "m.sklar")
    tensors["predictor.0.left"] = tensors["predictor.0.left"] * 0  # a tree without an end
    write_model(tmp_path / "edited.sklar", tensors, metadata)
    with pytest.raises(ModelFileError, match=r"predictor\.0\.left"):
        sklar.load(tmp_path / "edited.sklar")
    forest = quick(sklar.CopulaSelectorRegressor, predictor=RandomForestRegressor(2)).fit(X, value)
    with pytest.raises(ValueError, match="cannot hold this RandomForestRegressor"):
        forest.save(tmp_path / "forest.sklar")


@says("A model file holds names of columns, categories and class labels of the training table, and no row of it")
def test_a_model_file_holds_no_row(tmp_path):
    X = np.array([[123456.75 + i, 654321.25 - 3 * i] for i in range(60)])
    quick(sklar.CopulaSelectorRegressor).fit(X, X[:, 0]).save(tmp_path / "m.sklar")
    content = (tmp_path / "m.sklar").read_bytes()
    for value in (X[7, 0], X[9, 1]):
        assert str(value).encode() not in content
        assert np.float64(value).tobytes() not in content
        assert np.float32(value).tobytes() not in content


@says("Reading a table runs no code from it")
def test_a_formula_is_text(tmp_path):
    cell = "=cmd|' /C calc'!A0"
    (tmp_path / "t.csv").write_text(f"a\n{cell}\n__import__('os').getcwd()\n")
    assert read_table(tmp_path / "t.csv").column("a").tolist() == [cell, "__import__('os').getcwd()"]


@says("A cell or line of unbounded length is refused")
def test_long_cells_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text('a\n"' + "x" * 2**18)
    with pytest.raises(TableError, match="characters"):
        read_table(tmp_path / "t.csv")


@says("A query given with `--sql` is DuckDB's and can read other files")
def test_a_table_is_no_query(tmp_path):
    pytest.importorskip("duckdb")
    (tmp_path / "secret.csv").write_text("s\n42\n")
    hostile = f"x'); select * from '{tmp_path / 'secret.csv'}"
    (tmp_path / "t.csv").write_text(f'a\n"{hostile}"\n')
    assert read_table(tmp_path / "t.csv", sql="select * from data").column("a").tolist() == [hostile]
    told = read_table(tmp_path / "t.csv", sql=f"select * from '{tmp_path / 'secret.csv'}'")
    assert told.column("s").tolist() == [42]


@says("A file's name is never read as a pattern of other names")
def test_names_are_no_patterns(tmp_path):
    pytest.importorskip("duckdb")
    (tmp_path / "g*.csv").write_text("a\n1\n")
    (tmp_path / "g2.csv").write_text("a\n2\n")
    for sql in (None, "select * from data"):
        assert read_table(tmp_path / "g*.csv", sql=sql).column("a").tolist() == [1]


@says("A configuration can set the options of its command and nothing else")
def test_a_configuration_sets_options_alone(tmp_path):
    (tmp_path / "c.toml").write_text('[fit]\n"__import__" = "os"\n')
    assert_one_line_error(run("fit", "t.csv", "--config", tmp_path / "c.toml"), "unknown option '__import__'")


@says("Among these options are `out`, which names a file to write, and `sql`")
def test_a_configuration_can_name_files(tmp_path):
    X, value = toy_rows(40)
    rows = "\n".join(",".join(map(str, [*row, y])) for row, y in zip(X.tolist(), value.tolist(), strict=True))
    (tmp_path / "t.csv").write_text("a,b,c,d,e,y\n" + rows + "\n")
    out = tmp_path / "elsewhere.sklar"
    options = {"target": ["y"], "out": str(out), "objective": "joint", "max-epochs": 1, "penalty": 0.01, "quiet": True}
    (tmp_path / "c.toml").write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in options.items()))
    result = run("fit", tmp_path / "t.csv", "--config", tmp_path / "c.toml")
    assert result.exit_code == 0, result.output
    assert out.exists()


@says("Names, categories and titles are escaped, and the page's policy lets no script run but its own")
def test_a_page_escapes_and_forbids(tmp_path):
    script = "</script><script>alert(1)</script>"
    X, value = toy_rows(60)
    columns = {script: X[:, 0], "b": np.where(value > 0, script, "<img src=x onerror=alert(1)>")}
    model = quick(sklar.CopulaSelectorRegressor).fit(columns, value)
    page = model.report(columns, value, tmp_path / "r.html", audit=False, title=script).read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert "default-src &#39;none&#39;" in policy[1] or "default-src 'none'" in policy[1]
    assert "unsafe-inline" not in policy[1]


@says("A report holds values of the rows it was made from")
def test_a_report_holds_values(tmp_path):
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorRegressor, forced=[0]).fit(X, value)
    page = model.report(X, value, tmp_path / "r.html", audit=False).read_text(encoding="utf-8")
    assert f"{X[0, 0]:.4g}" in page


@says("Reading a checkpoint runs no code from it")
def test_a_checkpoint_is_data(tmp_path):
    X, value = toy_rows(60)
    folder, marker = tmp_path / "run", tmp_path / "ran"
    selector = quick(sklar.CopulaSelectorRegressor)
    selector.fit(X, value, checkpoint=folder)
    (folder / "loop-001.safetensors").write_bytes(f"cposix\nsystem\n(S'touch {marker}'\ntR.".encode())
    with pytest.raises(sklar.CheckpointError, match="damaged"):
        selector.fit(X, value, checkpoint=folder)
    with pytest.raises(sklar.CheckpointError, match="another fit"):
        selector.fit(X**3, value, checkpoint=folder)
    assert not marker.exists()


@says("A checkpoint holds weights and rows")
def test_a_checkpoint_holds_rows():
    """The rows that a ranker is asking about are part of its state."""
    from tests.training.acquisition.test_fit import training

    rows = training().episodes
    assert rows.state["x"] is rows.x


@pytest.fixture(scope="module")
def server(request, model):
    return request.getfixturevalue("serve")(sklar.load(model).fitted_, Limits(max_rows=3, max_body=500))


@says("A request can ask and change nothing")
def test_no_address_writes(model):
    app = application(sklar.load(model).fitted_, Limits())
    methods = {route.path: set(route.methods) for route in app.behind.routes}
    assert set(app.endpoints) <= {"/predict", "/select", "/explain"}
    assert {"/predict", "/select", "/explain", "/health"} <= set(methods)
    assert set().union(*methods.values()) <= {"GET", "HEAD", "POST"}
    assert {path for path, allowed in methods.items() if "POST" in allowed} == {"/predict", "/select", "/explain"}


@says("A body, or a table in it, beyond the limits is refused")
def test_large_bodies_are_refused(server):
    row = {f"x{j}": 0.5 for j in range(5)}
    assert ask(server, "/predict", {"rows": [row] * 3}).status == 200
    assert ask(server, "/predict", {"rows": [row] * 4}).status == 413
    assert ask(server, "/predict", b" " * 501).status == 413


@says("The server knows no users")
def test_anyone_may_ask(server):
    assert ask(server, "/health", authorization="nobody").status == 200
