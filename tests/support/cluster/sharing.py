"""Chooses which tests run in one process, because they share servers or processes of ours.

The tests of one file run together. The files of some folders run together, in as many parts as `PARTS` says.
Tests that need the shared control plane run on a few workers, as long as the other workers have other tests:
each worker has its own control plane, which takes longer to start than most tests and runs until the end.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # it has no types

ROOT = Path(__file__).parents[3]
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
    "tests/cli/test_stop.py",
    "tests/deploy/",
    "tests/detector/test_cluster_context_watch.py",
    "tests/detector/test_event_queue.py",
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
"""A file that is missing here only makes the run slower."""
HOSTS = 3
"""How many workers run these files."""


def scope_of(nodeid: str) -> str:
    """The scope of a test: tests of one scope run in one process."""
    file = nodeid.partition("::")[0]
    folder = file.rpartition("/")[0]
    if folder not in PARTS:
        return file
    files = sorted(path.name for path in (ROOT / folder).glob("test_*.py"))
    return f"{folder}/{files.index(Path(file).name) % PARTS[folder]}"


class Sharing(LoadFileScheduling):  # type: ignore[misc]  # as above
    """Distributes scopes to workers.

    A worker gets its next scope while it still has two tests to run. After a scope of tests that take minutes
    it gets a short one, because no other worker can take the queued scope. The other short scopes are last,
    so that all workers finish at the same time.
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
        """Scopes with a lower rank start sooner; equal ranks keep the order of collection."""
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
        """The scopes that a worker got, and which of their tests are done."""
        given: dict[str, dict[str, bool]] = self.assigned_work.get(node, {})
        return given.items()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    """Replaces the scheduler of the option --dist."""
    return Sharing(config, log)
