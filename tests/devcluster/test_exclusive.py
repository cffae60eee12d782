from pathlib import Path

import pytest

from devcluster.errors import InUseError
from devcluster.layout import exclusive


def test_a_directory_in_use_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with (
        exclusive(tmp_path),
        pytest.raises(InUseError, match="in use by another paramedic dev"),
        exclusive(tmp_path),
    ):
        pass


def test_a_directory_is_free_again_after_use(tmp_path: Path) -> None:
    with exclusive(tmp_path):
        pass
    with exclusive(tmp_path):
        pass
