"""Sharing: which tests run in one process, because they share servers or processes of ours.

Those of a file do; and the files of some folders, in as many parts as the figure says.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # it has no types

ROOT = Path(__file__).parent.parent
LONG, SHORT = "tests/end_to_end/restarts", "tests/health"
PARTS = {
    "tests/end_to_end/cluster_api": 1,
    "tests/end_to_end/machines": 1,
    "tests/end_to_end/scenarios": 3,
    "tests/end_to_end/cluster_context": 1,
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
    """Hands out scopes.

    A worker is given the next one while it still has two tests to run. Behind tests that take minutes a short
    one comes, because nobody else can take what waits there.
    """

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        if any(scope.startswith(LONG) and not all(of.values()) for scope, of in self._given(node)):
            short = next((scope for scope in self.workqueue if scope.startswith(SHORT)), None)
            if short is not None:
                self.workqueue.move_to_end(short, last=False)
        super()._assign_work_unit(node)

    def _given(self, node: Any) -> Iterable[tuple[str, dict[str, bool]]]:
        """Scopes of a worker, and which of their tests are done."""
        given: dict[str, dict[str, bool]] = self.assigned_work.get(node, {})
        return given.items()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    """Ask for these scopes, whatever --dist says."""
    return Sharing(config, log)
