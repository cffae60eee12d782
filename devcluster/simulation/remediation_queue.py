"""The requests that are not over, each taken up when it appears or changes."""

import asyncio
from collections.abc import Awaitable, Callable

from devcluster.simulation.remediation_request import RemediationRequest
from devcluster.simulation.work_queue import WorkQueue
from kube.record import Change, Key


class RemediationQueue:
    """Runs `work(key)` in `tasks`, at most once at a time for each request."""

    def __init__(self, work: Callable[[Key], Awaitable[None]], tasks: asyncio.TaskGroup) -> None:
        self._queue = WorkQueue("request", work, tasks)

    def notice(self, change: Change[RemediationRequest]) -> None:
        """Take up a request that appeared or changed, unless it is over."""
        if change.new is not None and not change.new.is_over:
            self._queue.add(change.key)
