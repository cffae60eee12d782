"""The outage guard: when so many Nodes fall silent at once, what sees them is suspected, and not they.

Rule: of the Nodes of a group (a cluster, or one of its zones) at least `minimum_nodes` and `percentage`
turned Ready=Unknown within `window`, and are still so, or gone while a Machine expects them. What was silent
before that window tells nothing, and counts neither way. So one more silent Node never ends a suspicion, and
fewer than the minimum never begin one. It ends when fewer are silent; then the clocks of unhealthy targets of
the group restart (rule 37). An outage that is real would hold for ever: `hold_limit` after it began the guard
gives way, and no clock restarts, as those Nodes were silent all the time (ADR 34). Each window is given way
to by itself: where enough fell silent within one that began later, the group is held until that one is given
way to, as well.
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
    """The numbers of the policy; the defaults are those of a guard that is on."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    minimum_nodes: Annotated[StrictInt, Field(ge=2)] = 3
    percentage: Annotated[StrictInt, Field(ge=1, le=100)] = 60
    window: Annotated[WrittenDuration, within(SHORTEST_WINDOW, LONGEST_WINDOW)] = timedelta(minutes=5)
    """Within how long they have to turn Unknown."""
    hold_limit: Annotated[WrittenDuration, within(timedelta(), LONGEST_HOLD)] = timedelta(hours=1)
    """How long an outage holds at most; zero: until it ends."""

    def are_enough(self, silent: int, seen: int) -> bool:
        """Whether so many of those that could be seen are an outage."""
        return silent >= self.enough_of(seen)

    def enough_of(self, seen: int) -> int:
        """How many of those that could be seen are an outage."""
        return max(self.minimum_nodes, -(-self.percentage * seen // 100))

    def gives_way(self, began: datetime) -> datetime | None:
        """When an outage that began then holds no longer; None: never by itself."""
        return began + self.hold_limit if self.hold_limit else None

    def given_way_until(self, now: datetime) -> datetime | None:
        """The latest beginning of an outage that does not hold any more; None: there is none."""
        return now - self.hold_limit if self.hold_limit else None


def _said(value: object) -> object:
    if value is None:
        raise ValueError("must be a mapping: {} turns it on with its defaults, without the field it is off")
    return value


WrittenGuard = Annotated[OutageGuard | None, BeforeValidator(_said)]
"""As the policy says it: one that is not named is off."""


class NodeGroup(NamedTuple):
    """Nodes that are seen, or not, by the same way: those of a cluster, or of one of its zones."""

    cluster: str = MANAGEMENT_CLUSTER
    zone: str = ""
    """As `topology.kubernetes.io/zone` says; "": all zones of the cluster."""

    @property
    def key(self) -> str:
        """One word for it; no zone has a slash in its name."""
        return f"{self.cluster}/{self.zone}"

    def __str__(self) -> str:
        cluster = f"the workload cluster {self.cluster}" if self.cluster else "the cluster"
        return f"the zone {self.zone} of {cluster}" if self.zone else cluster


def is_group_key(key: str) -> bool:
    """Whether it is the key of a group; a cluster, as `namespace/name` or "", has a slash less."""
    return key.startswith("/") or key.endswith("/") or key.count("/") > 1


@dataclass(frozen=True)
class SuspectedOutage:
    """That so many fell silent; the numbers are those of the moment in which it was suspected first."""

    group: NodeGroup
    silent: int
    seen: int
    """Of so many Nodes that were not silent before."""
    began: datetime
    """When the first of them turned Unknown."""
    lasted: timedelta
    """Within how long the others did."""

    @property
    def hold(self) -> Hold:
        """What it means for an incident."""
        within_words = f" within {in_words(self.lasted)}" if self.lasted else " at once"
        message = (
            f"{self.silent} of {self.seen} Nodes of {self.group} turned Ready=Unknown{within_words}, "
            f"from {stamp(self.began)} on: what sees them is suspected, not they"
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
    """All windows in which enough of the Nodes fell silent that still are, the earliest first.

    Of `total` Nodes those are Unknown, since then. Windows that began until `given_way` are left out.
    """
    times = sorted(unknown_since)
    for window in _windows(guard, times, given_way):
        if guard.are_enough(window.silent, total - window.before):
            began, last = times[window.before], times[window.before + window.silent - 1]
            yield SuspectedOutage(group, window.silent, total - window.before, began, last - began)


def lacking(
    guard: OutageGuard, total: int, unknown_since: Iterable[datetime], given_way: datetime | None = None
) -> int:
    """How many Nodes must change before there can be an outage where there is none, as of `suspicions`.

    Each that falls silent or goes adds one to a window, or takes one from those that it is compared with.
    """
    times = sorted(unknown_since)
    windows = [*_windows(guard, times, given_way), _Window(len(times), 0)]
    return max(1, min(guard.enough_of(total - window.before) - window.silent for window in windows))


class _Window(NamedTuple):
    """Nodes that fell silent within the time of the guard."""

    before: int
    """How many were silent before."""
    silent: int


def _windows(guard: OutageGuard, times: Sequence[datetime], given_way: datetime | None) -> Iterator[_Window]:
    """One from each time on, but for those that the guard gave way to."""
    end = 0
    for before, first in enumerate(times):
        if given_way is not None and first <= given_way:
            continue
        while end < len(times) and times[end] - first <= guard.window:
            end += 1
        yield _Window(before, end - before)


@dataclass(frozen=True)
class GroupOutage:
    """What is known of the outages of one group."""

    suspected: SuspectedOutage | None = None
    """The one that holds now."""
    ended: datetime | None = None
    """When the last one ended that held."""
    was_noted: bool = False
    """Whether an earlier process noted that one holds, and nobody has looked since."""
    gives_way: datetime | None = field(default=None, compare=False)
    """When the guard gives way to the first window that holds now, which may be later than `suspected`."""

    @property
    def is_suspected(self) -> bool:
        """Whether one holds, or did when anybody looked last."""
        return self.suspected is not None or self.was_noted

    def after(
        self,
        guard: OutageGuard | None,
        group: NodeGroup,
        total: int,
        unknown_since: Collection[datetime],
        now: datetime,
    ) -> "GroupOutage":
        """What is known at `now`, when of `total` Nodes those are Unknown, since then.

        Whoever turns the guard off wants no more of it: no clock restarts by that.
        """
        if guard is None:
            return GroupOutage(None, self.ended)
        given_way = guard.given_way_until(now)
        holding = next(suspicions(guard, group, total, unknown_since, given_way), None)
        if holding is not None:
            # The words stay: ten thousand incidents need not be told of each Node.
            suspected, gives_way = self.suspected or holding, guard.gives_way(holding.began)
            return GroupOutage(suspected, self.ended, gives_way=gives_way)
        goes_on = any(True for _ in suspicions(guard, group, total, unknown_since))
        return GroupOutage(None, now if self.is_suspected and not goes_on else self.ended)


NO_OUTAGE = GroupOutage()


@dataclass(frozen=True)
class Outages:
    """Those of all groups at one moment."""

    by_group: Mapping[NodeGroup, GroupOutage] = field(default_factory=dict)
    """What is known of each of which anything is."""
    zones_of_gone: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By cluster and name, the zone in which a Node was that is gone and counts as silent."""

    def zone_of(self, cluster: str, node: str) -> str:
        """The zone in which a Node was that is gone; "" where that is not known."""
        return self.zones_of_gone.get((cluster, node), "")

    def hold(self, cluster: str, zone: str = "") -> Hold | None:
        """Why nothing is done to targets whose Nodes are in just this group."""
        suspected = self._of(cluster, zone).suspected
        return None if suspected is None else suspected.hold

    def ended(self, cluster: str, zone: str = "") -> datetime | None:
        """When the last outage ended that concerned Nodes of a zone, or those of no zone."""
        ends = (self._of(cluster, group).ended for group in {"", zone})
        return max((end for end in ends if end is not None), default=None)

    @property
    def suspected(self) -> list[SuspectedOutage]:
        """Those that hold now."""
        return [one.suspected for one in self.by_group.values() if one.suspected is not None]

    def _of(self, cluster: str, zone: str) -> GroupOutage:
        return self.by_group.get(NodeGroup(cluster, zone), NO_OUTAGE)


NO_OUTAGES = Outages()
