"""Files written whole or not at all."""

import os

import pytest

from sklar.atomic import replace_file, replacing


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
