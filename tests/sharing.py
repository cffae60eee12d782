"""Sharing: which tests run in one process, because they share servers or processes of ours.

Those of a file do; and the files of some folders, in as many parts as the figure says.
"""

from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # it has no types

ROOT = Path(__file__).parent.parent
PARTS = {
    "tests/end_to_end/machines": 1,
    "tests/end_to_end/scenarios": 3,
    "tests/end_to_end/surroundings": 1,
}


def scope_of(nodeid: str) -> str:
    """What a test shares with others, by its file."""
    file = nodeid.partition("::")[0]
    folder = file.rpartition("/")[0]
    if folder not in PARTS:
        return file
    files = sorted(path.name for path in (ROOT / folder).glob("test_*.py"))
    return f"{folder}/{files.index(Path(file).name) % PARTS[folder]}"


class Sharing(LoadFileScheduling):  # type: ignore[misc]  # as above
    """Hands out scopes."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    """Ask for these scopes, whatever --dist says."""
    return Sharing(config, log)
