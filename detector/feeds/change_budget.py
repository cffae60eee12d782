"""ChangeBudget: limits the changes of Nodes that the detector follows in one workload cluster (ADR 49).

A change is a different record of a Node (health/model/node.py): other conditions, labels, taints, or another
boot. Heartbeats and Leases do not count, so a healthy cluster of 5,000 kubelets (17 reports a second, or 500
while each has something to report every 10 s) uses nothing. A Node that fails changes three times (its
conditions, a taint against new Pods, one against running Pods), and three times when it recovers. So a whole
cluster may fail and recover at once: 1,000 Nodes change 6,000 times, and 6,300 are allowed; a zone of 1,000
Nodes in a cluster of 5,000 uses a fifth of its 30,300. After that each Node may change once a minute, which
is 88 times a second for 5,000 Nodes. An upgrade that reboots 100 Nodes every five minutes, with 20 changes
each, makes 7 changes a second.

`CoalescedNodes` holds back the changed Nodes of a cluster that is over its budget.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from kube.server_clock import monotonic_clock
from kube.time_slice import TimeSlice

LOOK_SECONDS = 0.5
AT_ONCE, AT_ONCE_FOR_A_NODE = 300, 6
PER_SECOND, PER_SECOND_FOR_A_NODE = 5.0, 1 / 60
MOST_NODES = 5_000
"""A cluster with more Nodes has the budget of this many: it would set its own budget by adding Nodes."""
CALM_SECONDS = 30.0


class Budget(NamedTuple):
    """The limits for the changes of all Nodes of one cluster together."""

    nodes: int
    at_once: int
    per_second: float


def budget_for(nodes: int) -> Budget:
    counted = min(nodes, MOST_NODES)
    return Budget(
        nodes,
        AT_ONCE + AT_ONCE_FOR_A_NODE * counted,
        PER_SECOND + PER_SECOND_FOR_A_NODE * counted,
    )


class ChangeBudget:
    """How much of its budget one cluster has used; times are seconds of a monotonic clock.

    Each change adds one to a level, and the level falls by the budget of each second. A cluster that exceeds
    the budget stays over it until the level has fallen by the budget of 30 s: after 30 s without a change,
    later with fewer changes than the budget allows, and never with more.

    The number of Nodes is the largest since the level was last zero: a removed Node changes three times
    (cordoned, not Ready, deleted), and must not take its share of the budget along.
    """

    def __init__(self) -> None:
        self._level = 0.0
        self._as_of = 0.0
        self._most_nodes = 0
        """The largest number of Nodes since the level was last zero."""
        self._since = 0.0
        """When the level rose from zero."""
        self._changes = 0
        """Number of changes since then."""
        self.excess = ""
        """The sentence about the exceeded budget; "" while the cluster is within it."""

    def count(self, nodes: int, now: float) -> None:
        """Count a change in a cluster with `nodes` Nodes."""
        budget = self._drain(nodes, now)
        self._level, self._changes = self._level + 1, self._changes + 1
        if self._level > budget.at_once:
            self.excess = self.excess or self._described(budget, now)
            self._level = budget.at_once

    def look(self, nodes: int, now: float) -> None:
        """Clear `excess` once the cluster is within its budget again."""
        budget = self._drain(nodes, now)
        if self._level <= budget.at_once - CALM_SECONDS * budget.per_second:
            self.excess = ""

    def _drain(self, nodes: int, now: float) -> Budget:
        """Lower the level by the time that has passed; returns the budget now."""
        self._most_nodes = max(self._most_nodes, nodes)
        passed = max(0.0, now - self._as_of)  # a clock that goes back raises no level
        self._level = max(0.0, self._level - passed * budget_for(self._most_nodes).per_second)
        self._as_of = now
        if self._level == 0:
            self._since, self._changes, self._most_nodes = now, 0, nodes
        return budget_for(self._most_nodes)

    def _described(self, budget: Budget, now: float) -> str:
        # Keep the numbers of that moment: a changed sentence would change the answer for each incident.
        seconds = max(1, round(now - self._since))
        return (
            f"they changed {self._changes:,} times in {seconds:,} s, and the budget for {budget.nodes:,} "
            f"Nodes is {budget.at_once:,} changes at once and {budget.per_second:.0f} a second"
        )


class CoalescedNodes:
    """The Nodes of one cluster whose changes wait.

    A Node waits once, however often it changes. When the cluster is within its budget again, the latest state
    of each Node is passed on, in slices of time. The cluster has a problem until all of them are passed on.
    """

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
