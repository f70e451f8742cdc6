"""The page of a results folder: self-contained, both numbers in every cell, trials left out."""

import json
import re

import pytest

from sklar.paper.results_page import write_results_page


def row(**more):
    fields = {
        "experiment": "table-nola",
        "method": "joint-full",
        "dataset": "mnist",
        "setting": "",
        "k": 10,
        "seed": 0,
        "metric": "accuracy",
        "value": 95.55,
        "quick": False,
        "overrides": {},
        "seconds": 2.0,
        "device": "a device",
        "commit": "abc123",
        "command": "sklar reproduce table-nola --seeds 3",
    }
    return {**fields, **more}


def write(folder, rows):
    (folder / "rows-x.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))


def page(folder):
    return write_results_page(folder, folder / "page/index.html").read_text(encoding="utf-8")


def figure(name, panels, **more):
    facts = {"command": "sklar reproduce x", "commit": "c", "device": "d", "seconds": 1.0}
    return json.dumps({"figure": name, "quick": False, "overrides": {}, **facts, "panels": panels, **more})


def test_published_and_measured_side_by_side(tmp_path):
    write(tmp_path, [row(seed=seed, value=95.0 + seed / 10) for seed in range(3)])
    text = page(tmp_path)
    assert "95.1<small> ±0.2</small>" in text
    assert '<span class="published">91.77</span>' in text
    assert 'class="ahead' in text
    assert "sklar reproduce table-nola --seeds 3" in text
    assert "abc123" in text
    assert 'id="table-nola"' in text
    assert 'id="table-11d"' not in text


def test_rows_of_earlier_settings_are_shown_as_such(tmp_path):
    write(tmp_path, [row(), row(method="joint-independent", earlier="one lambda for all seeds")])
    text = page(tmp_path)
    assert "NOLA †</th>" in text
    assert "full-rank †" not in text
    assert "the paper&#39;s NOLA (one lambda for all seeds)." in text


def test_where_a_part_of_a_methods_rows_is_earlier_its_data_sets_are_named(tmp_path):
    shared = {"experiment": "figure-accuracy", "method": "gdfs"}
    write(tmp_path, [row(**shared), row(**shared, dataset="isolet", earlier="few steps")])
    assert "GDFS (few steps; isolet)." in page(tmp_path)


def test_what_rows_say_is_text_not_markup(tmp_path):
    write(tmp_path, [row(command="<script>alert(1)</script>")])
    assert "<script>" not in page(tmp_path)


def test_several_commands_are_folded_and_commits_are_short(tmp_path):
    write(tmp_path, [row(), row(seed=1, command="another command", commit="0123456789abcdef")])
    text = page(tmp_path)
    assert "<summary>Made by 2 commands</summary>" in text
    assert "another command" in text
    assert "0123456" in text
    assert "01234567" not in text


def test_it_needs_nothing_from_outside(tmp_path):
    write(tmp_path, [row(), row(experiment="figure-accuracy", k=20)])
    text = page(tmp_path)
    assert not re.search(r"(src|href)=[\"'](?!data:|#)", text)
    assert "url(" not in text


def test_trials_never_enter(tmp_path):
    write(tmp_path, [row(), row(k=20, value=12.34, overrides={"rank": 3})])
    assert "12.3" not in page(tmp_path)
    write(tmp_path, [row(overrides={"rank": 3})])
    with pytest.raises(ValueError, match="holds no rows"):
        page(tmp_path)


def test_quick_rows_are_called_so(tmp_path):
    write(tmp_path, [row(quick=True, dataset="digits")])
    assert "Rows of quick runs" in page(tmp_path)


def test_figures_are_drawn_and_held(tmp_path):
    points = {"points": [[0, 1], [2, 3], [4, 5]], "labels": [0, 1, 1]}
    psd = [{"dataset": "mnist", "k": None, **points}, {"dataset": "fashion-mnist", "k": 40, **points}]
    image = {"dataset": "mnist", "method": "m", "labels": [7], "images": [[0] * 8 + [255]], "pixels": [[1, 8]]}
    (tmp_path / "figure-psd.json").write_text(figure("figure-psd", psd))
    (tmp_path / "figure-pixels.json").write_text(
        figure("figure-pixels", [{**image, "labels": [7, 8], "images": image["images"] * 2, "pixels": [[1, 8]] * 2}])
    )
    text = page(tmp_path)
    assert text.count("data:image/png;base64,") == 2
    assert (tmp_path / "figure-psd.png").read_bytes()[:4] == b"\x89PNG"


def test_a_trial_of_a_figure_is_left_out(tmp_path):
    write(tmp_path, [row()])
    (tmp_path / "figure-psd.json").write_text(figure("figure-psd", [], overrides={"rank": 2}))
    assert "figure-psd" not in page(tmp_path)


def test_a_page_that_fails_leaves_the_one_before(tmp_path, monkeypatch):
    write(tmp_path, [row()])
    before = page(tmp_path)
    monkeypatch.setattr("sklar.atomic.os.replace", lambda *paths: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        page(tmp_path)
    assert (tmp_path / "page/index.html").read_text(encoding="utf-8") == before
    assert [path.name for path in (tmp_path / "page").iterdir()] == ["index.html"]


def test_the_template_is_part_of_the_package():
    from importlib.resources import files

    assert "{% for section in sections %}" in (files("sklar.paper") / "templates/results.html.j2").read_text()


def test_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_results_page(tmp_path / "none", tmp_path / "x.html")
