"""SourcesOfChecks: the sources behind the verdicts of one check, and their freshness.

Problems with other kinds or clusters do not affect the check.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import timedelta

from detector.feeds.feeds import Feeds
from detector.feeds.source import Source, first_unread
from detector.state.cluster_state import ClusterState
from health.cluster.clock_skew import workload_clock_hold
from health.cluster.cluster_context import workload_cluster_hold
from health.gate.check_holds import ALL_SEEN, UnreadSource, Unseen, stale_cache
from health.kinds.registry import CHECK_KINDS
from health.model.observation import Hold
from health.model.references import CheckReference
from objects.clusters import MANAGEMENT_CLUSTER

LONGEST_WAIT_FOR_KINDS_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class CheckFreshness:
    """Which sources of one check are unread, and other reasons not to use its state."""

    unread: UnreadSource | None = None
    """A source of its verdicts that is too old, or was never read completely."""
    inputs: Unseen = ALL_SEEN
    """Why requests, templates and cluster context are not fresh enough to act."""
    unreachable: Hold | None = None
    """Why the Nodes of its targets in a workload cluster are unreachable or distrusted."""
    clock: Hold | None = None
    """Why deadlines cannot be judged: the clock of the detector or of the cluster of those Nodes is off."""
    is_handled: bool = True
    """False if this detector handles no checks of this kind."""

    @property
    def unseen(self) -> Unseen:
        """The unseen sources, for status and Events."""
        return replace(self.inputs, blind=stale_cache(self.unread) or self.clock)

    @property
    def is_certain(self) -> bool:
        """True if its targets can be judged now."""
        return self.unread is None and self.unreachable is None and self.clock is None


@dataclass(frozen=True)
class SourcesOfChecks:
    """The sources of each check of one cluster state."""

    cluster_state: ClusterState
    feeds: Feeds
    clock_hold: Callable[[], Hold | None]
    """Returns why the clock of the detector cannot judge deadlines; None if it is right."""
    refresh: Callable[[], None]
    """Makes the cluster context anew."""

    async def wait_read(self, check: CheckReference) -> None:
        """Return when every source of the numbers of `check` was read completely.

        Of a workload cluster it waits only for the first try, as status reports that its Nodes are
        unreachable.
        """
        for source in self._of(check):
            await source.wait_synced()
        cluster = self._node_cluster_of(check)
        if cluster != MANAGEMENT_CLUSTER:
            if not self.feeds.workloads.is_named(cluster):
                self.refresh()  # a new check may name it
            await self.feeds.workloads.wait_tried(cluster)

    async def wait_kinds(self, check: CheckReference) -> None:
        """Return when the kinds that the templates of `check` name were tried, or after two seconds."""
        try:
            async with asyncio.timeout(LONGEST_WAIT_FOR_KINDS_SECONDS):
                await self.feeds.kinds.wait_tried_of(check)
        except TimeoutError:
            return

    def is_read(self, check: CheckReference) -> bool:
        """True once every source of the numbers of `check` was read completely."""
        cluster = self._node_cluster_of(check)
        has_nodes = cluster == MANAGEMENT_CLUSTER or self.feeds.workloads.is_updated(cluster)
        return has_nodes and all(source.synced for source in self._of(check))

    def is_proven(self, check: CheckReference, within: timedelta) -> bool:
        """True if every source of `check` was confirmed within this time."""
        if check.group_kind not in self.feeds.watched.checks:
            return True
        are_sources_read = first_unread(self._of(check), within) is None
        return are_sources_read and self.feeds.kinds.shows_requests(check, within)

    def freshness(self, check: CheckReference) -> CheckFreshness:
        """How fresh the sources of `check` are, by the current limit of the policy."""
        limit = self.feeds.policy.current().staleness_limit
        if check.group_kind not in self.feeds.watched.checks:
            unread = first_unread(self.feeds.watched.all, limit)
            return CheckFreshness(unread=unread, clock=self.clock_hold(), is_handled=False)
        cluster, kinds = self._node_cluster_of(check), self.feeds.kinds
        context = self.feeds.context.unread(check.group_kind, limit)
        if self.feeds.policy.current().outage_guard:
            # The timers of our own cluster may be about to restart.
            context = context or self.feeds.own_nodes.unread(limit)
        # Another API server stamps the conditions of the Nodes of a workload cluster.
        skew = self.feeds.workloads.clock_skew(cluster)
        return CheckFreshness(
            unread=first_unread(self._of(check), limit),
            inputs=Unseen(
                unread_context=context,
                unread_templates=kinds.unread_templates(check, limit),
                unread_requests=kinds.unread_requests(check, limit),
            ),
            unreachable=self._unreachable(cluster, limit),
            clock=self.clock_hold() or (None if skew is None else workload_clock_hold(cluster, skew)),
        )

    def sees(self, check: CheckReference) -> bool:
        """True if the sources of the numbers of `check` are fresh, and the clocks are right."""
        freshness = self.freshness(check)
        return freshness.is_certain and not freshness.inputs.unread_requests

    def sees_targets(self, check: CheckReference) -> bool:
        """True if the sources of the targets of `check` are fresh, regardless of their requests."""
        freshness = self.freshness(check)
        return freshness.is_certain and not freshness.inputs.unread_context

    def unseen(self, check: CheckReference) -> Unseen:
        """The unseen sources of `check`, for status and Events."""
        return self.freshness(check).unseen

    def _unreachable(self, cluster: str, limit: timedelta) -> Hold | None:
        """Why the Nodes of a workload cluster are unreachable or distrusted; None if they are neither."""
        if cluster == MANAGEMENT_CLUSTER:
            return None
        unread = self.feeds.workloads.unread(cluster, limit)
        distrusted = self.cluster_state.cluster_context.distrusted.get(cluster)
        return distrusted or (workload_cluster_hold(cluster, unread.why) if unread else None)

    def _of(self, check: CheckReference) -> list[Source]:
        kind = CHECK_KINDS[check.group_kind]
        own = (
            self.feeds.watched.checks.get(check.group_kind),
            self.feeds.watched.targets.get(kind.targets.group_kind),
            self.feeds.context.of_verdicts(check.group_kind),
        )
        return [*self.feeds.watched.common, *(source for source in own if source is not None)]

    def _node_cluster_of(self, check: CheckReference) -> str:
        check_state = self.cluster_state.checks.get(check)
        return (
            check_state.node_cluster_in(self.cluster_state.cluster_context)
            if check_state
            else MANAGEMENT_CLUSTER
        )


LOOK_AGAIN_SECONDS = 5.0


class UnseenChecks:
    """Finds checks with stale sources while this detector is the leader: their status reports it (rule 55).

    A cache grows old without an event, so all checks are looked at every five seconds. A check counts as
    unseen from the second look on, so that a flicker, or the moment after a start, causes no write. The
    message of the first look stays while the reasons are the same: it contains an age, and the status is
    written on transitions only.
    """

    def __init__(self, cluster_state: ClusterState, unseen: Callable[[CheckReference], Unseen]) -> None:
        self._cluster_state = cluster_state
        self._unseen_now = unseen
        self._looked: dict[CheckReference, Unseen] = {}
        """The result of the latest look."""
        self._unseen: dict[CheckReference, Unseen] = {}

    def of(self, check: CheckReference) -> Unseen:
        """The stale sources that the status of the check reports."""
        return self._unseen.get(check, ALL_SEEN)

    async def lead(self, changed: Callable[[CheckReference, None], None]) -> None:
        """Look until cancelled; `changed` is called for each check whose status has to change."""
        self._looked.clear()
        self._unseen.clear()
        while True:
            for check in self.look():
                changed(check, None)
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def look(self) -> list[CheckReference]:
        """Look once at all checks; returns those whose status has to change."""
        for gone in (self._looked.keys() | self._unseen.keys()) - self._cluster_state.checks.keys():
            self._looked.pop(gone, None)
            self._unseen.pop(gone, None)
        return [check for check in tuple(self._cluster_state.checks) if self._look_at(check)]

    def _look_at(self, check: CheckReference) -> bool:
        with self._cluster_state.guard.item("status", check):
            reported, before, now = self.of(check), self._looked.get(check, ALL_SEEN), self._unseen_now(check)
            self._looked[check] = now
            if _reasons(now) == _reasons(reported) or (now != ALL_SEEN and _reasons(now) != _reasons(before)):
                return False
            self._unseen[check] = now
            return True
        return False


def _reasons(unseen: Unseen) -> tuple[object, ...]:
    values = (getattr(unseen, field.name) for field in fields(unseen))
    return tuple(getattr(value, "reason", bool(value)) for value in values)
