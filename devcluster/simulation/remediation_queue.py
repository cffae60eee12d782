"""One task for each request that is not over, started when the request appears or changes.

Work that fails is taken up again, ever more slowly. A request that changes while it is worked on is looked
at once more when that is done.
"""

import asyncio
from collections.abc import Awaitable, Callable

from devcluster.simulation.errors import SimulationError
from devcluster.simulation.insistence import insist
from devcluster.simulation.remediation_request import RemediationRequest
from kube.errors import KubernetesError
from kube.record import Change, Key


class RemediationQueue:
    """Runs `work(key)` in `tasks`, at most once at a time for each request."""

    def __init__(self, work: Callable[[Key], Awaitable[None]], tasks: asyncio.TaskGroup) -> None:
        self._work = work
        self._tasks = tasks
        self._changed: set[Key] = set()
        self._under_way: set[Key] = set()

    def notice(self, change: Change[RemediationRequest]) -> None:
        """Take up a request that appeared or changed, unless it is over."""
        request, key = change.new, change.key
        if request is None or request.is_over:
            return
        self._changed.add(key)
        if key not in self._under_way:
            self._under_way.add(key)
            self._tasks.create_task(self._keep_up(key), name=f"{key.namespace}/{key.name}")

    async def _keep_up(self, key: Key) -> None:
        async def work() -> None:
            await self._work(key)

        while key in self._changed:
            self._changed.discard(key)
            await insist(f"{key.namespace}/{key.name}", work, KubernetesError, SimulationError)
        self._under_way.discard(key)
