"""Files written whole or not at all."""

import os
import subprocess
import sys
import tempfile

import pytest

from sklar.atomic import replace_file, replacing, require_replaceable


def test_text_and_bytes(tmp_path):
    replace_file(tmp_path / "t", "grün")
    assert (tmp_path / "t").read_bytes() == "grün".encode()
    replace_file(str(tmp_path / "t"), b"\x00\xff")
    assert (tmp_path / "t").read_bytes() == b"\x00\xff"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_what_was_there_stays_if_anything_goes_wrong(tmp_path, error):
    path = tmp_path / "t"
    replace_file(path, "before")

    def fail_halfway():
        with replacing(path) as part:
            part.write_text("half")
            raise error

    with pytest.raises(error):
        fail_halfway()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["t"]


def test_a_new_file_gets_the_usual_permissions(tmp_path):
    (tmp_path / "plain").touch()
    replace_file(tmp_path / "t", "")
    assert (tmp_path / "t").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path):
    replace_file(tmp_path / "t", "1")
    (tmp_path / "t").chmod(0o640)
    replace_file(tmp_path / "t", "2")
    assert (tmp_path / "t").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    for text in ("new", "replaced"):
        replace_file(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "file").read_text() == text
    assert os.listdir(tmp_path / "folder") == ["file"]


KILLED = """
import os
import subprocess
import sys
import tempfile
from sklar.atomic import replace_file, replacing, require_replaceable
with replacing({path!r}) as part:
    part.write_text("half")
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("name", ["t", "x" * 250, "grün" * 30])
def test_what_a_killed_process_left_is_gone_after_the_next_write(tmp_path, name):
    path = tmp_path / name
    replace_file(path, "before")
    assert subprocess.run([sys.executable, "-c", KILLED.format(path=str(path))], check=False).returncode == -9
    assert len(os.listdir(tmp_path)) == 2
    assert path.read_text() == "before"
    replace_file(path, "after")
    assert os.listdir(tmp_path) == [name]


def test_a_part_that_is_being_written_is_left_alone(tmp_path):
    path = tmp_path / "t"
    with replacing(path) as part:
        part.write_text("first")
        replace_file(path, "second")
        assert part.read_text() == "first"
    assert path.read_text() == "first"


def test_what_cannot_be_written_is_known_before(tmp_path):
    require_replaceable(tmp_path / "new")
    require_replaceable(tmp_path / ("x" * 255))
    assert os.listdir(tmp_path) == []
    with pytest.raises(OSError, match="too long"):
        require_replaceable(tmp_path / ("x" * 256))
    with pytest.raises(FileNotFoundError):
        require_replaceable(tmp_path / "no folder" / "t")


@pytest.mark.parametrize("target", ["folder", "file"])
def test_no_right_to_write_is_known_before(tmp_path, target, monkeypatch):
    """Root may write everywhere, so the refusal is the system's as a user gets it."""
    path = tmp_path / "t"
    path.write_text("")

    def refused(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    if target == "file":
        monkeypatch.setattr(os, "access", lambda path, how: False)
    else:
        monkeypatch.setattr(tempfile, "mkstemp", refused)
    with pytest.raises(PermissionError):
        require_replaceable(path)
