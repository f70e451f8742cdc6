"""The command's own mistakes; tests/scale/serving runs it."""

from tests.cli.commands import assert_one_line_error, run


def test_mistakes_are_one_line(tmp_path):
    assert_one_line_error(run("serve", tmp_path / "none.sklar"), "none.sklar: no such file")
    (tmp_path / "bad.sklar").write_bytes(b"no model")
    assert_one_line_error(run("serve", tmp_path / "bad.sklar"), "bad.sklar")
    assert run("serve", tmp_path / "bad.sklar", "--port", "0").exit_code == 2
