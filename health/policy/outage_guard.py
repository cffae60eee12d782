"""The outage guard: if many Nodes fall silent at once, their monitoring is suspected, not the Nodes.

Rule: of the Nodes of a group (a cluster, or a domain of it) at least `minimum_nodes` and `percentage` turned
Ready=Unknown within `window`, and are still silent, or gone while a Machine expects them. Nodes that were
silent before the window prove nothing and are left out of both numbers. So one more silent Node never ends a
suspicion, and fewer than the minimum never start one. It ends when fewer are silent; then the clocks of
unhealthy targets of the group restart (rule 37). A real outage would hold for ever: `hold_limit` after its
start the guard gives way, and no clock restarts, because those Nodes were silent all the time (ADR 34).
The guard gives way to each window separately: if enough Nodes fell silent in a later window, the group is
held until the limit of that one has passed too.

A group is a cluster, a region or zone of it, or a domain by another label. A zone is the pair of region and
zone, because regions may have zones of the same name. A Node is in all groups that its labels name.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field, StrictInt
from pydantic.alias_generators import to_camel

from health.model.node import REGION_LABEL, ZONE_LABEL
from health.model.observation import Hold, HoldReason
from health.policy.limits import LabelName
from objects.bounds import Bounded
from objects.clusters import MANAGEMENT_CLUSTER
from objects.durations import WrittenDuration, in_words, within
from objects.timestamps import stamp

NO_LABELS: Mapping[str, str] = {}
_DEPRECATED = {
    REGION_LABEL: "failure-domain.beta.kubernetes.io/region",
    ZONE_LABEL: "failure-domain.beta.kubernetes.io/zone",
}


class NodeGroup(NamedTuple):
    """Nodes that share one path of monitoring: those of a cluster, or of one of its domains."""

    cluster: str = MANAGEMENT_CLUSTER
    label: str | None = None
    """The label by which they are a domain; None: all Nodes of the cluster."""
    value: str = ""
    """The value of that label; for a zone in a region `region/zone`."""

    @property
    def domain(self) -> str:
        """The label and its value, as in a selector; "" for a cluster."""
        return "" if self.label is None else f"{self.label}={self.value}"

    @property
    def key(self) -> str:
        """A unique string: a cluster is `namespace/name` or "", and a name of a label has no `=`."""
        return f"{self.cluster}/{self.domain}"

    def __str__(self) -> str:
        cluster = f"the workload cluster {self.cluster}" if self.cluster else "the cluster"
        region, _, zone = self.value.rpartition("/")
        match self.label:
            case None:
                return cluster
            case label if label == REGION_LABEL:
                return f"the region {self.value} of {cluster}"
            case label if label == ZONE_LABEL:
                return f"the zone {zone} of {f'the region {region} of ' if region else ''}{cluster}"
            case label:
                return f"the domain {f'{label}={self.value}' if self.value else label} of {cluster}"


def is_group_key(key: str) -> bool:
    """True for the key of a group; a cluster (`namespace/name` or "") has one slash less."""
    return key.startswith("/") or key.endswith("/") or key.count("/") > 1


def groups_of(cluster: str, labels: Mapping[str, str], others: Iterable[str]) -> tuple[NodeGroup, ...]:
    """All groups of a Node with these labels; `others` names labels of domains beside region and zone."""
    domains = (domain_of(cluster, label, labels) for label in dict.fromkeys((*_DEPRECATED, *others)))
    return (NodeGroup(cluster), *(domain for domain in domains if domain is not None))


def domain_of(cluster: str, label: str, labels: Mapping[str, str]) -> NodeGroup | None:
    """The domain by `label` of a Node with these labels; None without the label."""
    if label not in _DEPRECATED:
        return NodeGroup(cluster, label, labels[label]) if label in labels else None
    value, region = (
        labels.get(name) or labels.get(_DEPRECATED[name]) or "" for name in (label, REGION_LABEL)
    )
    if not value:
        return None
    return NodeGroup(cluster, label, f"{region}/{value}" if region and label == ZONE_LABEL else value)


SHORTEST_WINDOW, LONGEST_WINDOW = timedelta(seconds=10), timedelta(hours=1)
LONGEST_HOLD = timedelta(days=366)
MOST_LABELS = 20
ASK_AGAIN_SECONDS = 60.0
MinimumNodes = Annotated[StrictInt, Field(ge=2)]
"""A single silent Node is no outage."""


class OutageGuard(Bounded):
    """The settings of the guard; the defaults apply once the guard is on."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    minimum_nodes: MinimumNodes = 3
    percentage: Annotated[StrictInt, Field(ge=1, le=100)] = 60
    window: Annotated[WrittenDuration, within(SHORTEST_WINDOW, LONGEST_WINDOW)] = timedelta(minutes=5)
    """The time within which the Nodes must turn Unknown."""
    hold_limit: Annotated[WrittenDuration, within(timedelta(), LONGEST_HOLD)] = timedelta(hours=1)
    """How long an outage holds at most; zero: until it ends."""
    labels: Annotated[Mapping[LabelName, MinimumNodes], Field(max_length=MOST_LABELS)] = Field(
        default_factory=dict
    )
    """The labels whose values are domains beside regions and zones, and `minimum_nodes` for each of them."""

    def judges(self, group: NodeGroup) -> bool:
        """True if an outage of the group holds."""
        return group.label in {None, REGION_LABEL, ZONE_LABEL, *self.labels}

    def are_enough(self, silent: int, seen: int, label: str | None = None) -> bool:
        """True if that many of the visible Nodes of a domain by `label` are an outage."""
        return silent >= self.enough_of(seen, label)

    def enough_of(self, seen: int, label: str | None = None) -> int:
        """The number of silent Nodes, of the visible ones of a domain by `label`, that is an outage."""
        minimum = self.minimum_nodes if label is None else self.labels.get(label, self.minimum_nodes)
        return max(minimum, -(-self.percentage * seen // 100))

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


@dataclass(frozen=True, kw_only=True)
class SuspectedOutage:
    """Many Nodes that fell silent together, with the numbers of the first suspicion."""

    group: NodeGroup
    silent: int
    seen: int
    """How many Nodes were not silent before."""
    total: int
    """How many Nodes there were."""
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
    for before, silent in _windows(guard, times, given_way):
        if guard.are_enough(silent, total - before, group.label):
            yield SuspectedOutage(
                group=group,
                silent=silent,
                seen=total - before,
                total=total,
                began=times[before],
                lasted=times[before + silent - 1] - times[before],
            )


def lacking(
    guard: OutageGuard,
    group: NodeGroup,
    total: int,
    unknown_since: Iterable[datetime],
    given_way: datetime | None = None,
) -> int:
    """How many Nodes must change before an outage is possible, by the rule of `suspicions`.

    Each Node that falls silent or disappears adds one to a window, or reduces the number that it is compared
    with.
    """
    times = sorted(unknown_since)
    windows = [*_windows(guard, times, given_way), (len(times), 0)]
    enough = (guard.enough_of(total - before, group.label) - silent for before, silent in windows)
    return max(1, min(enough))


def _windows(
    guard: OutageGuard, times: Sequence[datetime], given_way: datetime | None
) -> Iterator[tuple[int, int]]:
    """From each time on, except those that the guard gave way to: how many were silent before, and since."""
    end = 0
    for before, first in enumerate(times):
        if given_way is not None and first <= given_way:
            continue
        while end < len(times) and times[end] - first <= guard.window:
            end += 1
        yield before, end - before


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
    def hold(self) -> Hold | None:
        return None if self.suspected is None else self.suspected.hold

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
        # New Nodes that report say nothing about those that are silent.
        then = total if self.suspected is None else self.suspected.total
        total = max(len(unknown_since), min(total, then))
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
    kept_groups: Mapping[tuple[str, str], tuple[NodeGroup, ...]] = field(default_factory=dict)
    """By cluster and name, the groups of a silent Node that is gone, or that has other labels since."""

    def hold(self, cluster: str) -> Hold | None:
        """The hold of all targets whose Nodes are in this cluster."""
        return self.by_group.get(NodeGroup(cluster), NO_OUTAGE).hold

    def hold_of_node(self, cluster: str, node: str, labels: Mapping[str, str]) -> Hold | None:
        """The hold of targets with this Node, by its domains; a Node that is gone has no labels."""
        domains = self._groups_of(cluster, node, labels)
        holds = (self.by_group.get(domain, NO_OUTAGE).hold for domain in domains if domain.label is not None)
        return next((hold for hold in holds if hold is not None), None)

    def ended(
        self, cluster: str, labels: Mapping[str, str] = NO_LABELS, node: str | None = None
    ) -> datetime | None:
        """When the last outage ended that affected this Node of a cluster, or Nodes with these labels."""
        groups = (NodeGroup(cluster), *self._groups_of(cluster, node, labels))
        ends = (self.by_group.get(group, NO_OUTAGE).ended for group in groups)
        return max((end for end in ends if end is not None), default=None)

    def changed_clusters(self, before: "Outages") -> frozenset[str]:
        """The clusters whose entries differ from those of `before`."""
        groups = self.by_group.items() ^ before.by_group.items()
        kept = self.kept_groups.items() ^ before.kept_groups.items()
        return frozenset({group.cluster for group, _ in groups} | {cluster for (cluster, _), _ in kept})

    @property
    def suspected(self) -> list[SuspectedOutage]:
        return [outage.suspected for outage in self.by_group.values() if outage.suspected is not None]

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        """The labels of the domains with an outage, in order; also those that the policy names no longer."""
        labels = {group.label for group in self.by_group if group.label is not None}
        return tuple(sorted(labels, key=lambda label: (label not in {REGION_LABEL, ZONE_LABEL}, label)))

    def _groups_of(self, cluster: str, node: str | None, labels: Mapping[str, str]) -> Iterable[NodeGroup]:
        domains = (domain_of(cluster, label, labels) for label in self._labels)
        kept = None if node is None else self.kept_groups.get((cluster, node))
        return kept or (domain for domain in domains if domain is not None)


NO_OUTAGES = Outages()
