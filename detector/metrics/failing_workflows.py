"""FailingWorkflows: counts open workflows whose workflow tasks fail, by asking Temporal once a minute.

No process of ours sees all of them: a failing workflow asks nothing, and its worker logs no error. The
numbers are those of the leader's latest question; without an answer there is no series.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio.service import RPCError

from runtime.task_failures import EVERY_WORKFLOW

COUNT_EVERY_SECONDS = 60.0
AGAIN_SECONDS = 5.0
"""Wait after a question without an answer."""


@dataclass(eq=False)  # a registry keeps it by its identity
class FailingWorkflows(Collector):
    """The gauges of failing workflows, for one detector.

    `counts` asks Temporal for the number of failing workflows by type, without types that Temporal does not
    report; it raises RPCError.
    """

    counts: Callable[[], Awaitable[Mapping[str, int]]]
    _counts: Mapping[str, int] = field(default_factory=dict, init=False)

    async def lead(self) -> None:
        try:
            while True:
                wait = await self._count()
                await asyncio.sleep(wait)
        finally:
            self._counts = {}

    async def _count(self) -> float:
        """Count; returns the seconds until the next count."""
        try:
            self._counts = await self.counts()
        except RPCError:  # TemporalLink reports an outage
            self._counts = {}
            return AGAIN_SECONDS
        return COUNT_EVERY_SECONDS

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the latest counts; no series before the first answer."""
        for workflow_type, (name, subject) in EVERY_WORKFLOW.items():
            if workflow_type in self._counts:
                text = f"{subject} whose workflow task fails repeatedly, as Temporal reports."
                yield GaugeMetricFamily(name, text, value=self._counts[workflow_type])
