"""CoalescedNodes: holds back changed Nodes of a cluster that is over its budget of changes (ADR 49).

A Node waits once, however often it changes. When the cluster is within its budget again, the latest state of
each Node is passed on, in slices of time. The cluster has a problem until all of them are passed on.
"""

import asyncio
from collections.abc import Callable

from detector.feeds.change_budget import ChangeBudget
from kube.server_clock import monotonic_clock
from kube.time_slice import TimeSlice

LOOK_SECONDS = 0.5


class CoalescedNodes:
    """The Nodes of one cluster whose changes wait."""

    def __init__(
        self,
        count: Callable[[], int],
        pass_on: Callable[[str, bool], None],
        clock: Callable[[], float] = monotonic_clock,
    ) -> None:
        """`count` returns the number of Nodes.

        `pass_on` passes the latest state of a Node by its name; the flag says whether it was gone meanwhile.
        """
        self._count = count
        self._pass_on = pass_on
        self._clock = clock
        self._budget = ChangeBudget()
        self._waiting: dict[str, bool] = {}
        self._is_followed = False
        self.problem = ""
        """Why Nodes wait; "" while none waits."""

    def take(self, name: str, *, is_gone: bool = False) -> bool:
        """Count a change of a Node; returns whether it waits, so that the caller does not pass it on.

        Before `follow` runs, during the first list, no Node waits and no change counts.
        """
        if not self._is_followed:
            return False
        self._budget.count(self._count(), self._clock())
        self.problem = self.problem or self._budget.excess
        if self.problem:
            self._waiting[name] = self._waiting.get(name, False) or is_gone
        return bool(self.problem)

    async def follow(self) -> None:
        """Pass on waiting Nodes whenever the cluster is within its budget again, until cancelled."""
        self._is_followed = True
        try:
            while True:
                self._budget.look(self._count(), self._clock())
                await self._pass_on_within_budget()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._is_followed = False

    async def _pass_on_within_budget(self) -> None:
        time_slice = TimeSlice()
        while self._waiting and not self._budget.excess:
            name = next(iter(self._waiting))
            self._pass_on(name, self._waiting.pop(name))
            await time_slice.yield_if_over()
        self.problem = self.problem if self._waiting else ""
