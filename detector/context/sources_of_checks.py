"""SourcesOfChecks: the sources behind the verdicts of one check, and their freshness.

Problems with other kinds or clusters do not affect the check.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from detector.context.check_freshness import CheckFreshness
from detector.feeds.feeds import Feeds
from detector.feeds.source import Source
from detector.state.cluster_state import ClusterState
from health.cluster.clock_skew import workload_clock_hold
from health.cluster.cluster_context import workload_cluster_hold
from health.gate.check_holds import Unseen
from health.kinds.registry import CHECK_KINDS
from health.model.observation import Hold
from health.model.references import CheckReference
from objects.clusters import MANAGEMENT_CLUSTER

NOT_CONNECTED = "this detector is configured to connect to no other cluster"
LONGEST_WAIT_FOR_KINDS_SECONDS = 2.0


@dataclass(frozen=True)
class SourcesOfChecks:
    """The sources of each check of one cluster state."""

    cluster_state: ClusterState
    feeds: Feeds
    clock_hold: Callable[[], Hold | None]
    """Returns why deadlines cannot be judged; None if the clock is right."""
    refresh: Callable[[], None]
    """Makes the cluster context anew."""

    async def wait_read(self, check: CheckReference) -> None:
        """Return when every source of the numbers of `check` was read completely.

        Of a workload cluster it waits only for the first try, as status reports that its Nodes are
        unreachable.
        """
        for source in self._of(check):
            await source.wait_synced()
        await self._wait_cluster_tried(self._node_cluster_of(check))

    async def _wait_cluster_tried(self, cluster: str) -> None:
        """Return when the context has the result of the first try at the Nodes of a workload cluster."""
        if cluster == MANAGEMENT_CLUSTER or self.feeds.workloads is None:
            return
        if not self.feeds.workloads.is_named(cluster):
            self.refresh()  # a new check may name it
        await self.feeds.workloads.wait_tried(cluster)

    async def wait_kinds(self, check: CheckReference) -> None:
        """Return when the kinds that the templates of `check` name were tried, or after two seconds."""
        try:
            async with asyncio.timeout(LONGEST_WAIT_FOR_KINDS_SECONDS):
                await self.feeds.named.wait_tried_of(check)
        except TimeoutError:
            return

    def is_read(self, check: CheckReference) -> bool:
        """True once every source of the numbers of `check` was read completely."""
        cluster = self._node_cluster_of(check)
        has_nodes = cluster == MANAGEMENT_CLUSTER or self.feeds.is_updated(cluster)
        return has_nodes and all(source.synced for source in self._of(check))

    def is_proven(self, check: CheckReference, within: timedelta) -> bool:
        """True if every source of `check` was confirmed within this time."""
        if check.group_kind not in self.feeds.watched.checks:
            return True
        age = _oldest(self._of(check))
        return age is not None and age <= within and self.feeds.named.shows_requests(check, within)

    def freshness(self, check: CheckReference) -> CheckFreshness:
        """How fresh the sources of `check` are, by the current limit of the policy."""
        limit = self.feeds.policy.current().staleness_limit
        if check.group_kind not in self.feeds.watched.checks:
            return CheckFreshness(age=self.age(), limit=limit, is_handled=False)
        cluster, named = self._node_cluster_of(check), self.feeds.named
        return CheckFreshness(
            age=_oldest(self._of(check)),
            limit=limit,
            unread_requests=named.unread_requests(check, limit),
            unread_templates=named.unread_templates(check, limit),
            unread_context=self.feeds.context.unread(check.group_kind, limit) or self._just_back(limit),
            unreachable=self._unreachable(cluster, limit),
            clock=self._clock(cluster),
        )

    def sees(self, check: CheckReference) -> bool:
        """True if the sources of the numbers of `check` are fresh, and the clocks are right."""
        freshness = self.freshness(check)
        return freshness.is_certain(self.clock_hold()) and not freshness.unread_requests

    def sees_targets(self, check: CheckReference) -> bool:
        """True if the sources of the targets of `check` are fresh, regardless of their requests."""
        freshness = self.freshness(check)
        return freshness.is_certain(self.clock_hold()) and not freshness.unread_context

    def unseen(self, check: CheckReference) -> Unseen:
        """The unseen sources of `check`, for status and Events."""
        return self.freshness(check).unseen(self.clock_hold())

    def age(self) -> timedelta | None:
        """The age of the oldest source of verdicts; None if one was never complete."""
        return _oldest(self.feeds.watched.all)

    def _just_back(self, limit: timedelta) -> str:
        """Why the timers of our own cluster are about to restart; "" if they are not."""
        return self.feeds.own_nodes.watch.problem(limit) if self.feeds.policy.current().outage_guard else ""

    def _unreachable(self, cluster: str, limit: timedelta) -> Hold | None:
        """Why the Nodes of a workload cluster are unreachable or distrusted; None if they are neither."""
        if cluster == MANAGEMENT_CLUSTER:
            return None
        problem = (
            NOT_CONNECTED if self.feeds.workloads is None else self.feeds.workloads.problem(cluster, limit)
        )
        distrusted = self.cluster_state.cluster_context.distrusted.get(cluster)
        return distrusted or (workload_cluster_hold(cluster, problem) if problem else None)

    def _clock(self, cluster: str) -> Hold | None:
        """The hold for a clock that differs: another API server stamps the conditions of those Nodes."""
        skew = None if self.feeds.workloads is None else self.feeds.workloads.clock_skew(cluster)
        return None if skew is None else workload_clock_hold(cluster, skew)

    def _of(self, check: CheckReference) -> list[Source]:
        kind = CHECK_KINDS[check.group_kind]
        own = (
            self.feeds.watched.checks.get(check.group_kind),
            self.feeds.watched.targets.get(kind.targets.group_kind),
            self.feeds.context.of_verdicts(check.group_kind),
        )
        return [*self.feeds.watched.common, *(source for source in own if source is not None)]

    def _node_cluster_of(self, check: CheckReference) -> str:
        known = self.cluster_state.checks.get(check)
        return known.node_cluster_in(self.cluster_state.cluster_context) if known else MANAGEMENT_CLUSTER


def _oldest(sources: Iterable[Source]) -> timedelta | None:
    ages = [source.age() if source.synced else None for source in sources]
    known = [age for age in ages if age is not None]
    return max(known) if len(known) == len(ages) else None
