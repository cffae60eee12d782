"""FailingWorkflows: how many open workflows fail in their own code, counted by Temporal once a minute.

No process of ours sees all of them: a failing workflow asks nothing, and its worker gives up silently. The
numbers are those of the leader's last question; where there is no answer, there is no series.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio.service import RPCError

from workflows.messages import WORKFLOW
from workflows.upgrade_contracts import UPGRADE_PAUSE

COUNT_EVERY_SECONDS = 60.0
AGAIN_SECONDS = 5.0
"""After a question that was not answered."""


@dataclass(eq=False)  # a registry keeps it by its identity
class FailingWorkflows(Collector):
    """The gauges of one detector.

    `count` asks Temporal for those of a type; it raises RPCError, and answers None where Temporal does not
    report them.
    """

    count: Callable[[str], Awaitable[int | None]]
    _counts: dict[str, int] = field(default_factory=dict, init=False)

    async def lead(self) -> None:
        """Count until cancelled."""
        try:
            while True:
                wait = await self._counted()
                await asyncio.sleep(wait)
        finally:
            self._counts = {}

    async def _counted(self) -> float:
        """Count; answers in how many seconds to count again."""
        try:
            counts = {of_type: await self.count(of_type) for of_type in (WORKFLOW, UPGRADE_PAUSE)}
        except RPCError:  # TemporalLink reports an outage
            self._counts = {}
            return AGAIN_SECONDS
        self._counts = {of_type: count for of_type, count in counts.items() if count is not None}
        return COUNT_EVERY_SECONDS

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The last counts."""
        again = "whose workflow task fails again and again, as Temporal reports it."
        if (incidents := self._counts.get(WORKFLOW)) is not None:
            yield GaugeMetricFamily("paramedic_failing_incidents", f"Open incidents {again}", value=incidents)
        if (pauses := self._counts.get(UPGRADE_PAUSE)) is not None:
            text = f"Open upgrade pauses {again}"
            yield GaugeMetricFamily("paramedic_failing_upgrade_pauses", text, value=pauses)
