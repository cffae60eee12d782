"""FailingIncidents: how many open incidents fail in their own code, counted by Temporal once a minute.

No process of ours sees all of them: a failing workflow asks nothing, and its worker gives up silently. The
number is that of the leader's last question; where there is no answer, there is no series.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio.service import RPCError

COUNT_EVERY_SECONDS = 60.0
AGAIN_SECONDS = 5.0
"""After a question that was not answered."""


class FailingIncidents(Collector):
    """The gauge of one detector."""

    def __init__(self, count: Callable[[], Awaitable[int | None]]) -> None:
        """`count` asks Temporal; it raises RPCError, and answers None where Temporal does not report them."""
        self._ask = count
        self._count: int | None = None

    async def lead(self) -> None:
        """Count until cancelled."""
        try:
            while True:
                wait = await self._counted()
                await asyncio.sleep(wait)
        finally:
            self._count = None

    async def _counted(self) -> float:
        """Count; answers in how many seconds to count again."""
        try:
            self._count = await self._ask()
        except RPCError:  # TemporalLink reports an outage
            self._count = None
            return AGAIN_SECONDS
        return COUNT_EVERY_SECONDS

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The last count."""
        text = "Open incidents whose workflow task fails again and again, as Temporal reports it."
        if self._count is not None:
            yield GaugeMetricFamily("paramedic_failing_incidents", text, value=self._count)
