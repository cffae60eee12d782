"""ChangeBudget: limits the changes of Nodes that the detector follows in one workload cluster (ADR 49).

Each change adds one to a level, and the level falls by the budget of each second. A cluster that exceeds the
budget stays over it until the level has fallen by the budget of 30 s: after 30 s without a change, later with
fewer changes than the budget allows, and never with more.

A change is a different record of a Node (health/model/node.py): other conditions, labels, taints, or another
boot. Heartbeats and Leases do not count, so a healthy cluster of 5,000 kubelets (17 reports a second, or 500
while each has something to report every 10 s) uses nothing. A Node that fails changes three times (its
conditions, a taint against new Pods, one against running Pods), and three times when it recovers. So a whole
cluster may fail and recover at once: 1,000 Nodes change 6,000 times, and 6,300 are allowed; a zone of 1,000
Nodes in a cluster of 5,000 uses a fifth of its 30,300. After that each Node may change once a minute, which
is 88 times a second for 5,000 Nodes. An upgrade that reboots 100 Nodes every five minutes, with 20 changes
each, makes 7 changes a second.

The number of Nodes is the largest since the level was last zero: a removed Node changes three times
(cordoned, not Ready, deleted), and must not take its share of the budget along.
"""

from typing import NamedTuple

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
    """How much of its budget one cluster has used; times are seconds of a monotonic clock."""

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
