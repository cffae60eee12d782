from pathlib import Path

import pytest

from devcluster import layout
from devcluster.errors import OptionsError

UNUSABLE = ["/dev/null", "/dev/null/below", "/proc/foo", "/proc", f"/tmp/{'x' * 300}"]  # noqa: S108  refused


@pytest.mark.parametrize("path", UNUSABLE)
def test_path_that_cannot_be_used_is_refused_by_name(path: str) -> None:
    with pytest.raises(OptionsError) as refused:
        layout.prepare(Path(path))
    assert str(refused.value).startswith(f"--dir {path} cannot be used: ")


def test_path_that_can_be_used_is_made_and_left_empty(tmp_path: Path) -> None:
    layout.prepare(tmp_path / "a" / "b")
    layout.prepare(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []
