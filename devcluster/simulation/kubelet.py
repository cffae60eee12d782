"""One simulated kubelet: registers its Node, then renews its Lease and reports its status until cancelled.

It says no good-bye: a kubelet that is cancelled is a machine that hangs. Requests that fail are made
again, ever more slowly. A Node that somebody deleted is not registered again before the next start, as
with a real kubelet.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from devcluster.simulation import node_status
from devcluster.simulation.insistence import LONGEST_DELAY, insist
from devcluster.simulation.machine import Machine
from devcluster.simulation.node_api import NodeApi
from kube.errors import KubernetesError


@dataclass(frozen=True)
class Pace:
    """How often a kubelet does what; the defaults are those of a real one."""

    renewal: timedelta = timedelta(seconds=10)
    """Between two renewals of the Lease."""
    look: timedelta = timedelta(seconds=10)
    """Between two looks at whether the Node still shows what the kubelet says."""
    report: timedelta = timedelta(minutes=5)
    """Between two reports of a status that does not change."""


class Kubelet:
    """The kubelet of one machine, from one start to its cancellation."""

    def __init__(self, machine: Machine, api: NodeApi, pace: Pace) -> None:
        self._machine = machine
        self._api = api
        self._pace = pace

    async def run(self) -> None:
        """Keep the Node Ready until cancelled."""
        await self._insist(self._register)
        await asyncio.gather(
            self._every(self._pace.renewal, self._renew),
            self._every(self._pace.look, self._look),
        )

    async def _register(self) -> None:
        await self._api.register(self._machine, _now())
        await self._look()

    async def _renew(self) -> None:
        if await self._api.renew_lease(self._machine.name, _now()):
            return
        node = await self._api.find_node(self._machine.name)
        if node is not None:
            await self._api.create_lease(node, _now())

    async def _look(self) -> None:
        node = await self._api.find_node(self._machine.name)
        if node is not None and node_status.is_due(node, self._machine, _now(), self._pace.report):
            await self._api.report(node, self._machine, _now())

    async def _every(self, period: timedelta, work: Callable[[], Awaitable[None]]) -> None:
        await asyncio.sleep(random.uniform(0, period.total_seconds()))  # noqa: S311  spreads load
        while True:
            await self._insist(work)
            await asyncio.sleep(period.total_seconds())

    async def _insist(self, work: Callable[[], Awaitable[None]]) -> None:
        longest = min(self._pace.renewal, LONGEST_DELAY)  # a fast pace comes with a short grace period
        await insist(self._machine.name, work, KubernetesError, longest=longest)


def _now() -> datetime:
    return datetime.now(UTC)
