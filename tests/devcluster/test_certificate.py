from pathlib import Path

import pytest

from devcluster.control_plane import trusting
from tests.tls import write_pair


def test_certificate_that_is_written_whole_is_trusted(tmp_path: Path) -> None:
    write_pair(tmp_path)
    assert trusting(tmp_path / "tls.crt") is not None


def test_certificate_that_does_not_exist_yet_is_waited_for(tmp_path: Path) -> None:
    assert trusting(tmp_path / "tls.crt") is None


@pytest.mark.parametrize("part", [pytest.param(0, id="empty"), pytest.param(0.5, id="half")])
def test_certificate_that_is_just_being_written_is_waited_for(tmp_path: Path, part: float) -> None:
    text = write_pair(tmp_path)
    (tmp_path / "tls.crt").write_text(text[: int(len(text) * part)])
    assert trusting(tmp_path / "tls.crt") is None
