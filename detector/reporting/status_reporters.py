"""StatusReporters: one reporter for each check in the cluster state, while this detector holds the lead."""

import asyncio

from detector.reporting.status_reporter import ReporterDependencies, StatusReporter
from detector.state.request_index import SeenRequest
from health.model.references import CheckReference
from health.model.request_snapshot import RequestChange


class StatusReporters:
    """Starts a reporter when a check comes; each ends by itself when its check goes."""

    def __init__(self, dependencies: ReporterDependencies) -> None:
        self._dependencies = dependencies
        self._reporters: dict[CheckReference, StatusReporter] = {}
        self._tasks: asyncio.TaskGroup | None = None

    async def lead(self) -> None:
        """Report until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._accept_changes(tasks)
        finally:
            self._reporters.clear()

    async def _accept_changes(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        try:
            for check in list(self._dependencies.cluster_state.checks):
                self.changed(check, None)
            await asyncio.Event().wait()
        finally:
            # Before the group ends its reporters: from then on it raises at a change, and the senses with it.
            self._tasks = None

    def changed(self, check: CheckReference, target: str | None) -> None:  # noqa: ARG002  any change counts
        """Have the check reported on, while we lead."""
        if self._tasks is None:
            return
        if check not in self._reporters and check in self._dependencies.cluster_state.checks:
            self._reporters[check] = StatusReporter(self._dependencies, check)
            self._tasks.create_task(self._run(check))
        if check in self._reporters:
            self._reporters[check].changed.set()

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """Have reported what became of a request of the check."""
        seen = after or before
        if seen is None or seen.owner is None or (before is not None and before.owner != seen.owner):
            return  # who takes a request over did not make it, and who loses one did not delete it
        if seen.owner in self._reporters:
            change = RequestChange(
                seen.request.target_name,
                before.snapshot if before else None,
                after.snapshot if after else None,
            )
            self._reporters[seen.owner].request_changed(change)

    async def _run(self, check: CheckReference) -> None:
        """Report on one check; if that fails, its next change begins it anew."""
        try:
            with self._dependencies.cluster_state.guard.item("status", check):
                await self._reporters[check].run()
        finally:
            self._reporters.pop(check, None)
