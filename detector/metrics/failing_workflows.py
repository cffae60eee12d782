"""FailingWorkflows: how many open workflows fail in their own code, counted by Temporal once a minute.

No process of ours sees all of them: a failing workflow asks nothing, and its worker gives up silently. The
numbers are those of the leader's last question; where there is no answer, there is no series.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio.service import RPCError

from workflows.messages import WORKFLOW
from workflows.upgrade_contracts import UPGRADE_PAUSE

COUNT_EVERY_SECONDS = 60.0
AGAIN_SECONDS = 5.0
"""After a question that was not answered."""
SERIES = MappingProxyType(
    {
        WORKFLOW: ("paramedic_failing_incidents", "Open incidents"),
        UPGRADE_PAUSE: ("paramedic_failing_upgrade_pauses", "Open upgrade pauses"),
    }
)
"""Name and subject of the series of each type of workflow."""


@dataclass(eq=False)  # a registry keeps it by its identity
class FailingWorkflows(Collector):
    """The gauges of one detector.

    `counts` asks Temporal how many of each type fail; it raises RPCError, and answers nothing of those that
    Temporal does not report.
    """

    counts: Callable[[], Awaitable[Mapping[str, int]]]
    _told: Mapping[str, int] = field(default_factory=dict, init=False)

    async def lead(self) -> None:
        """Count until cancelled."""
        try:
            while True:
                wait = await self._count()
                await asyncio.sleep(wait)
        finally:
            self._told = {}

    async def _count(self) -> float:
        """Count; answers in how many seconds to count again."""
        try:
            self._told = await self.counts()
        except RPCError:  # TemporalLink reports an outage
            self._told = {}
            return AGAIN_SECONDS
        return COUNT_EVERY_SECONDS

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The last counts."""
        for workflow_type, (name, subject) in SERIES.items():
            if workflow_type in self._told:
                text = f"{subject} whose workflow task fails again and again, as Temporal reports it."
                yield GaugeMetricFamily(name, text, value=self._told[workflow_type])
