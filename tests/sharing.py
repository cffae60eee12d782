"""Sharing: which tests run in one process, because they share servers or processes of ours.

Those of a file do; and the files of some folders, in as many parts as the figure says. What needs the control
plane that tests share is for a few workers, as long as there is other work: each worker has one of its own,
whose start costs more than most tests, and which idles to the end.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # it has no types

ROOT = Path(__file__).parent.parent
LONG, SHORT = "tests/end_to_end/restarts", "tests/health"
PARTS = {
    "tests/activities/clusterapi": 1,
    "tests/deploy": 1,
    "tests/devcluster/cluster_api": 1,
    "tests/end_to_end/cluster_api": 1,
    "tests/end_to_end/machines": 1,
    "tests/end_to_end/scenarios": 2,
    "tests/end_to_end/cluster_context": 1,
}
ON_THE_SHARED_CONTROL_PLANE = (
    "tests/activities/test_",
    "tests/cli/doctor/",
    "tests/cli/retire/test_retire.py",
    "tests/cli/test_stopping.py",
    "tests/deploy/",
    "tests/detector/test_cluster_context_watch.py",
    "tests/detector/test_event_recorder.py",
    "tests/detector/test_freshness.py",
    "tests/detector/test_handover.py",
    "tests/detector/test_kind_watches.py",
    "tests/detector/test_policy_watch.py",
    "tests/detector/test_template_polling.py",
    "tests/detector/test_watched_templates.py",
    "tests/devcluster/demo/test_setting_up.py",
    "tests/devcluster/simulation/",
    "tests/devcluster/test_control_plane.py",
    "tests/devcluster/test_openshift_crds.py",
    "tests/end_to_end/cluster_context/",
    "tests/end_to_end/scenarios/",
    "tests/end_to_end/test_",
    "tests/end_to_end/third_kind/",
    "tests/kube/faults/test_faults_on_the_way.py",
    "tests/kube/faults/test_half_open.py",
    "tests/kube/test_real_api_server.py",
    "tests/runtime/test_status_writer.py",
)
"""A file that is missing here costs time, and nothing else."""
HOSTS = 3
"""How many workers are enough for these."""


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
    one comes, because nobody else can take what waits there. The other short ones come last, so that all
    workers end together.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._hosts: set[Any] = set()

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        scope = min(self.workqueue, key=lambda scope: self._rank(scope, node))
        if scope.startswith(ON_THE_SHARED_CONTROL_PLANE):
            self._hosts.add(node)
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)

    def _rank(self, scope: str, node: Any) -> int:
        """The lower, the sooner; of the same rank in the order of collection."""
        if scope.startswith(SHORT):
            return -1 if self._is_long_busy(node) else 2
        if not scope.startswith(ON_THE_SHARED_CONTROL_PLANE):
            return 1
        if node in self._hosts:
            return 0
        return 1 if len(self._hosts) < HOSTS else 3

    def _is_long_busy(self, node: Any) -> bool:
        return any(scope.startswith(LONG) and not all(of.values()) for scope, of in self._given(node))

    def _given(self, node: Any) -> Iterable[tuple[str, dict[str, bool]]]:
        """Scopes of a worker, and which of their tests are done."""
        given: dict[str, dict[str, bool]] = self.assigned_work.get(node, {})
        return given.items()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    """Ask for these scopes, whatever --dist says."""
    return Sharing(config, log)
