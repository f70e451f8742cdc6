import functools

import pytest

import sklar
from sklar import estimators
from sklar.demo import run_demo
from tests.cli.commands import run


@pytest.fixture
def quick_selector(monkeypatch):
    """The demo's own selector, with a few epochs instead of minutes."""
    words = {"objective": "joint", "penalty": 0.01, "max_epochs": 3, "device": "cpu"}
    quick = functools.partial(sklar.CopulaSelectorClassifier, **words)
    monkeypatch.setattr(estimators, "CopulaSelectorClassifier", quick)


def test_the_demo_says_what_was_found_and_draws_it(quick_selector, tmp_path):
    lines = []
    picture = run_demo(tmp_path / "new" / "folder", n_samples=300, verbose=False, echo=lines.append)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
    text = "\n".join(lines)
    for part in ("Syn4", "300 rows", "x11 <  0:", "x11 >= 0:", "TPR", "FDR", "Accuracy", f"Picture: {picture}"):
        assert part in text
    model = sklar.load(picture.with_name("model.sklar"))
    assert model.n_features_in_ == 11


def test_the_demo_from_the_command_line(quick_selector, tmp_path):
    result = run("demo", "--samples", "200", "--quiet", "--out", tmp_path / "demo")
    assert result.exit_code == 0, result.output
    assert "Picture:" in result.stdout
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["masks.png", "model.sklar", "report.html"]
