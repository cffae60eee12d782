"""The outage guard: if many Nodes fall silent at once, their monitoring is suspected, not the Nodes.

Rule: of the Nodes of a group (a cluster, or one of its zones) at least `minimum_nodes` and `percentage`
turned Ready=Unknown within `window`, and are still silent, or gone while a Machine expects them. Nodes that
were silent before the window prove nothing and are left out of both numbers. So one more silent Node never
ends a suspicion, and fewer than the minimum never start one. It ends when fewer are silent; then the clocks
of unhealthy targets of the group restart (rule 37). A real outage would hold for ever: `hold_limit` after
its start the guard gives way, and no clock restarts, because those Nodes were silent all the time (ADR 34).
The guard gives way to each window separately: if enough Nodes fell silent in a later window, the group is
held until the limit of that one has passed too.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field, StrictInt
from pydantic.alias_generators import to_camel

from health.model.observation import Hold, HoldReason
from objects.bounds import Bounded
from objects.clusters import MANAGEMENT_CLUSTER
from objects.durations import WrittenDuration, in_words, within
from objects.timestamps import stamp

SHORTEST_WINDOW, LONGEST_WINDOW = timedelta(seconds=10), timedelta(hours=1)
LONGEST_HOLD = timedelta(days=366)
ASK_AGAIN_SECONDS = 60.0


class OutageGuard(Bounded):
    """The settings of the guard; the defaults apply once the guard is on."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    minimum_nodes: Annotated[StrictInt, Field(ge=2)] = 3
    percentage: Annotated[StrictInt, Field(ge=1, le=100)] = 60
    window: Annotated[WrittenDuration, within(SHORTEST_WINDOW, LONGEST_WINDOW)] = timedelta(minutes=5)
    """The time within which the Nodes must turn Unknown."""
    hold_limit: Annotated[WrittenDuration, within(timedelta(), LONGEST_HOLD)] = timedelta(hours=1)
    """How long an outage holds at most; zero: until it ends."""

    def are_enough(self, silent: int, seen: int) -> bool:
        """True if that many of the visible Nodes are an outage."""
        return silent >= self.enough_of(seen)

    def enough_of(self, seen: int) -> int:
        """The number of silent Nodes, of the visible ones, that is an outage."""
        return max(self.minimum_nodes, -(-self.percentage * seen // 100))

    def gives_way(self, began: datetime) -> datetime | None:
        """When an outage that began then stops holding; None: never by itself."""
        return began + self.hold_limit if self.hold_limit else None

    def given_way_until(self, now: datetime) -> datetime | None:
        """The latest beginning of an outage that no longer holds; None: there is no limit."""
        return now - self.hold_limit if self.hold_limit else None


def _said(value: object) -> object:
    if value is None:
        raise ValueError("must be a mapping: {} turns it on with its defaults, without the field it is off")
    return value


WrittenGuard = Annotated[OutageGuard | None, BeforeValidator(_said)]
"""The field of the policy; without it the guard is off."""


class NodeGroup(NamedTuple):
    """Nodes that share one path of monitoring: those of a cluster, or of one of its zones."""

    cluster: str = MANAGEMENT_CLUSTER
    zone: str = ""
    """The label `topology.kubernetes.io/zone`; "": all zones of the cluster."""

    @property
    def key(self) -> str:
        """A unique string; names of zones contain no slash."""
        return f"{self.cluster}/{self.zone}"

    def __str__(self) -> str:
        cluster = f"the workload cluster {self.cluster}" if self.cluster else "the cluster"
        return f"the zone {self.zone} of {cluster}" if self.zone else cluster


def is_group_key(key: str) -> bool:
    """True for the key of a group; a cluster (`namespace/name` or "") has one slash less."""
    return key.startswith("/") or key.endswith("/") or key.count("/") > 1


@dataclass(frozen=True, kw_only=True)
class SuspectedOutage:
    """Many Nodes that fell silent together, with the numbers of the first suspicion."""

    group: NodeGroup
    silent: int
    seen: int
    """How many Nodes were not silent before."""
    began: datetime
    """When the first of them turned Unknown."""
    lasted: timedelta
    """The time from the first to the last of them."""

    @property
    def hold(self) -> Hold:
        within_words = f" within {in_words(self.lasted)}" if self.lasted else " at once"
        message = (
            f"{self.silent} of {self.seen} Nodes of {self.group} turned Ready=Unknown{within_words}, "
            f"from {stamp(self.began)} on: their monitoring is suspected, not the Nodes"
        )
        reason = HoldReason.SUSPECTED_OUTAGE
        return Hold(reason=reason, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)


def suspicions(
    guard: OutageGuard,
    group: NodeGroup,
    total: int,
    unknown_since: Iterable[datetime],
    given_way: datetime | None = None,
) -> Iterator[SuspectedOutage]:
    """The windows in which enough of the Nodes that are still silent fell silent, the earliest first.

    `unknown_since` has the times of the Unknown Nodes of `total`. Windows that began until `given_way` are
    left out.
    """
    times = sorted(unknown_since)
    for window in _windows(guard, times, given_way):
        if guard.are_enough(window.silent, total - window.before):
            began, last = times[window.before], times[window.before + window.silent - 1]
            yield SuspectedOutage(
                group=group,
                silent=window.silent,
                seen=total - window.before,
                began=began,
                lasted=last - began,
            )


def lacking(
    guard: OutageGuard, total: int, unknown_since: Iterable[datetime], given_way: datetime | None = None
) -> int:
    """How many Nodes must change before an outage is possible, by the rule of `suspicions`.

    Each Node that falls silent or disappears adds one to a window, or reduces the number that it is compared
    with.
    """
    times = sorted(unknown_since)
    windows = [*_windows(guard, times, given_way), _Window(len(times), 0)]
    return max(1, min(guard.enough_of(total - window.before) - window.silent for window in windows))


class _Window(NamedTuple):
    """Nodes that fell silent within the window of the guard."""

    before: int
    """How many were silent before."""
    silent: int


def _windows(guard: OutageGuard, times: Sequence[datetime], given_way: datetime | None) -> Iterator[_Window]:
    """One window from each time on, except those that the guard gave way to."""
    end = 0
    for before, first in enumerate(times):
        if given_way is not None and first <= given_way:
            continue
        while end < len(times) and times[end] - first <= guard.window:
            end += 1
        yield _Window(before, end - before)


@dataclass(frozen=True)
class GroupOutage:
    """The outages of one group, present and past."""

    suspected: SuspectedOutage | None = None
    """The outage that holds now."""
    ended: datetime | None = None
    """When the last outage that held ended."""
    was_noted: bool = False
    """Whether an earlier process recorded an outage, and this one has not looked yet."""
    gives_way: datetime | None = field(default=None, compare=False)
    """When the guard gives way to the first window that holds now, which may be later than `suspected`."""

    @property
    def is_suspected(self) -> bool:
        """True if an outage holds, or did at the last look."""
        return self.suspected is not None or self.was_noted

    def after(
        self,
        guard: OutageGuard | None,
        group: NodeGroup,
        total: int,
        unknown_since: Collection[datetime],
        now: datetime,
    ) -> "GroupOutage":
        """The state at `now`, when these of `total` Nodes are Unknown.

        Turning the guard off ends a hold without restarting any clock.
        """
        if guard is None:
            return GroupOutage(None, self.ended)
        given_way = guard.given_way_until(now)
        holding = next(suspicions(guard, group, total, unknown_since, given_way), None)
        if holding is not None:
            # The message stays the same, so that ten thousand incidents are not woken for each Node.
            suspected, gives_way = self.suspected or holding, guard.gives_way(holding.began)
            return GroupOutage(suspected, self.ended, gives_way=gives_way)
        goes_on = any(True for _ in suspicions(guard, group, total, unknown_since))
        return GroupOutage(None, now if self.is_suspected and not goes_on else self.ended)


NO_OUTAGE = GroupOutage()


@dataclass(frozen=True)
class Outages:
    """The outages of all groups at one moment."""

    by_group: Mapping[NodeGroup, GroupOutage] = field(default_factory=dict)
    """The state of each group with an outage, present or past."""
    zones_of_gone: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By cluster and name, the zone of a Node that is gone and counts as silent."""

    def zone_of(self, cluster: str, node: str) -> str:
        """The zone of a Node that is gone; "": unknown."""
        return self.zones_of_gone.get((cluster, node), "")

    def hold(self, cluster: str, zone: str = "") -> Hold | None:
        """The hold of targets whose Nodes are in exactly this group."""
        suspected = self._of(cluster, zone).suspected
        return None if suspected is None else suspected.hold

    def ended(self, cluster: str, zone: str = "") -> datetime | None:
        """When the last outage ended that affected a zone, or the Nodes without a zone."""
        ends = (self._of(cluster, group).ended for group in {"", zone})
        return max((end for end in ends if end is not None), default=None)

    def changed_clusters(self, before: "Outages") -> frozenset[str]:
        """The clusters whose entries differ from those of `before`."""
        groups = self.by_group.items() ^ before.by_group.items()
        gone = self.zones_of_gone.items() ^ before.zones_of_gone.items()
        return frozenset({group.cluster for group, _ in groups} | {cluster for (cluster, _), _ in gone})

    @property
    def suspected(self) -> list[SuspectedOutage]:
        """The outages that hold now, one per group."""
        return [outage.suspected for outage in self.by_group.values() if outage.suspected is not None]

    def _of(self, cluster: str, zone: str) -> GroupOutage:
        return self.by_group.get(NodeGroup(cluster, zone), NO_OUTAGE)


NO_OUTAGES = Outages()
