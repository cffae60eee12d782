"""Is the cluster being upgraded? By the signals of upgrades and the configuration of its nodes.

Rule (NHC 2.1/10, rules 36 to 38): an object whose condition has the status of a signal holds new
remediations; so does a condition that is Unknown, an unreadable object, and a missing object of a signal
that always has one. A kind that is not served signals nothing. Several upgrades at once count as one, which
begins with the first and ends with the last. At the end, the clocks of unhealthy targets restart. A check
that was paused for the upgrade is held by the pause alone (rule 46). A change of the configuration of one
Node holds that Node alone (`health/model/owner_signs.py`).

An object that belongs to one cluster that is managed from here counts for that cluster, and any other object
for all (rule 38). If objects of a kind always belong to a cluster, an unreadable one may belong to any of
them: the upgrade of each managed cluster is then unknown, and checks of the management cluster go on. At the
end of an upgrade only the clocks of the targets of that cluster restart (rule 37).

A signal is written `apiVersion/kind/condition=status`, for example
`config.openshift.io/v1/ClusterVersion/Progressing=True`.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, Self, TypeAlias

from pydantic import Field

from health.model.node import NodeCondition
from health.model.observation import Hold, HoldReason
from objects.clusters import MANAGEMENT_CLUSTER
from objects.frozen import Frozen, FrozenObject
from objects.metadata import ObjectMetadata
from objects.timestamps import stamp

_FORM = re.compile(
    r"(?P<api_version>(?:[a-z0-9][-a-z0-9.]*/)?v[a-z0-9]*)"
    r"/(?P<kind>[A-Z][A-Za-z0-9]*)"
    r"/(?P<condition>[A-Za-z0-9][-A-Za-z0-9_./]*)"
    r"=(?P<status>True|False|Unknown)"
)
UNKNOWN_ASK_AGAIN_SECONDS = 60.0
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_NOT_YET = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class UpgradeSignal:
    """While the condition of an object has this status, the cluster is being upgraded."""

    api_version: str
    kind: str
    condition: str
    status: str

    @classmethod
    def parse(cls, text: str) -> Self:
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not apiVersion/kind/condition=status")
        return cls(**found.groupdict())

    @property
    def is_always_given(self) -> bool:
        """True if an object with the condition exists wherever the kind is served.

        OpenShift always has one, so its absence means an unknown state (rule 36). Other controllers may set
        the condition at the first upgrade only.
        """
        return self.api_version.partition("/")[0] == "config.openshift.io" and self.kind == "ClusterVersion"

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}/{self.condition}={self.status}"


CLUSTER_VERSION = UpgradeSignal("config.openshift.io/v1", "ClusterVersion", "Progressing", "True")
"""The signal of OpenShift upgrades."""


class Conditions(FrozenObject):
    """A part of a status that has conditions."""

    conditions: tuple[NodeCondition, ...] = ()


class SignallingStatus(Conditions):
    """The part of an object's status that we read."""

    v1beta2: Conditions = Field(default=Conditions(), alias="v1beta2")
    """Conditions of the next API version: RollingOut of v1beta1 is here."""


class SignallingObject(FrozenObject):
    """An object of any kind whose conditions may signal an upgrade."""

    metadata: ObjectMetadata
    status: SignallingStatus = SignallingStatus()

    def condition(self, type_: str) -> NodeCondition | None:
        found = (*self.status.conditions, *self.status.v1beta2.conditions)
        return next((condition for condition in found if condition.type == type_), None)


class Signaller(NamedTuple):
    """An object whose condition signals an upgrade of its cluster."""

    kind: str
    name: str


class UpgradePhase(StrEnum):
    """The state of an upgrade of the cluster."""

    NEVER = "Never"
    """No signal exists here."""
    UNKNOWN = "Unknown"
    UNDER_WAY = "UnderWay"
    OVER = "Over"


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """The upgrade of the cluster, as far as known."""

    phase: UpgradePhase = UpgradePhase.NEVER
    since: datetime | None = None
    """The transition of the condition: the first one while under way, the latest once over."""
    also_since: tuple[datetime, ...] = ()
    """The transitions of other signals that are also under way."""
    why_unknown: str = ""
    sign: str = ""
    """The condition that signals the upgrade."""
    signallers: frozenset[Signaller] = frozenset()
    """The objects that signal it while it is under way."""

    @property
    def transitions(self) -> frozenset[datetime]:
        """The transitions of all signals under way; while one of them stays, it is the same upgrade."""
        if self.phase is not UpgradePhase.UNDER_WAY:
            return frozenset()
        return frozenset(self.also_since if self.since is None else (self.since, *self.also_since))

    @property
    def ended(self) -> datetime | None:
        """When the last upgrade ended; clocks of targets count from then at the earliest."""
        return self.since if self.phase is UpgradePhase.OVER else None


NEVER_UPGRADED = Upgrade()
_GRAVITY = (UpgradePhase.NEVER, UpgradePhase.OVER, UpgradePhase.UNKNOWN, UpgradePhase.UNDER_WAY)


def gravest(of_signals: Iterable[Upgrade]) -> Upgrade:
    """All signals together: the most severe phase, the latest end, and all beginnings."""
    upgrades = tuple(of_signals)
    under_way = [upgrade for upgrade in upgrades if upgrade.phase is UpgradePhase.UNDER_WAY]
    if not under_way:

        def rank(upgrade: Upgrade) -> tuple[int, datetime, str]:
            words = upgrade.sign or upgrade.why_unknown
            return _GRAVITY.index(upgrade.phase), upgrade.since or _LONG_AGO, words

        return max(upgrades, key=rank, default=NEVER_UPGRADED)
    first = min(under_way, key=lambda upgrade: (upgrade.since or _NOT_YET, upgrade.sign))
    transitions = frozenset[datetime]().union(*(upgrade.transitions for upgrade in under_way))
    signallers = frozenset[Signaller]().union(*(upgrade.signallers for upgrade in under_way))
    return replace(first, also_since=tuple(sorted(transitions - {first.since})), signallers=signallers)


def upgrade(
    signal: UpgradeSignal, found: Sequence[SignallingObject], *, unreadable: Iterable[str] = ()
) -> Upgrade:
    """The upgrade by the objects of a served kind; `unreadable` are the problems of other objects."""
    upgrades = [_unknown(f"a {signal.kind} cannot be read: {problem}") for problem in unreadable]
    if signal.is_always_given and not found and not upgrades:
        upgrades = [_unknown(f"there is no {signal.kind}")]
    for signalling in found:
        condition, metadata = signalling.condition(signal.condition), signalling.metadata
        if condition is None and not signal.is_always_given:
            continue
        name = "/".join(part for part in (signal.kind, metadata.namespace, metadata.name) if part)
        if condition is None or condition.status not in (signal.status, "True", "False"):
            upgrades.append(_unknown(f"{name} does not say whether {signal.condition} is {signal.status}"))
        elif condition.status == signal.status:
            upgrades.append(
                Upgrade(
                    phase=UpgradePhase.UNDER_WAY,
                    since=condition.last_transition_time,
                    sign=f"{name}: {signal.condition}={signal.status}",
                    signallers=frozenset({Signaller(signal.kind, metadata.name)}),
                )
            )
        else:
            upgrades.append(Upgrade(phase=UpgradePhase.OVER, since=condition.last_transition_time))
    return gravest(upgrades)


def _unknown(why: str) -> Upgrade:
    return Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown=why)


def upgrade_hold(upgrade: Upgrade, *, is_handled: bool = False) -> Hold | None:
    """The hold of a check for upgrades; `is_handled`: the pause for the upgrade has handled it (rule 46)."""
    match upgrade.phase:
        case UpgradePhase.NEVER | UpgradePhase.OVER:
            return None
        case UpgradePhase.UNKNOWN:
            message = f"it is unknown whether the cluster is being upgraded: {upgrade.why_unknown}"
            return Hold(
                reason=HoldReason.UPGRADE_UNKNOWN,
                message=message,
                ask_again_seconds=UNKNOWN_ASK_AGAIN_SECONDS,
            )
        case UpgradePhase.UNDER_WAY:
            if is_handled:
                return None
            since = f" since {stamp(upgrade.since)}" if upgrade.since else ""
            message = f"the cluster is being upgraded{since}, says {upgrade.sign}"
            return Hold(reason=HoldReason.UPGRADING, message=message)


ClusterOf: TypeAlias = Callable[[ObjectMetadata], str]
"""The managed cluster that an object belongs to; MANAGEMENT_CLUSTER if none."""


@dataclass(frozen=True)
class ClusterUpgrades:
    """Known upgrades of managed clusters, each on its own."""

    by_cluster: Mapping[str, Upgrade] = field(default_factory=dict)
    of_each: Upgrade = NEVER_UPGRADED
    """An unknown upgrade that may be of any of them."""

    def of(self, cluster: str, is_awaited: Callable[[Signaller], bool] | None = None) -> Upgrade:
        """The upgrade of one managed cluster; never one of the management cluster.

        `is_awaited`: whether the upgrade that an object signals waits for a target. An upgrade that waits for
        it by all its signals does not count: the target would wait for an upgrade that waits for it.
        """
        if cluster == MANAGEMENT_CLUSTER:
            return NEVER_UPGRADED
        own = self.by_cluster.get(cluster, NEVER_UPGRADED)
        if is_awaited is not None and own.signallers and all(map(is_awaited, own.signallers)):
            own = NEVER_UPGRADED
        return gravest((self.of_each, own))


@dataclass(frozen=True, kw_only=True)
class Signalled:
    """The objects of one signal, where their kind is served."""

    signal: UpgradeSignal
    found: Sequence[SignallingObject] = ()
    unreadable: Sequence[str] = ()
    """Problems of objects that cannot be read."""
    problem: str | None = None
    """Why no object could be read yet; None: they were read."""
    belongs_to_clusters: bool = False
    """True: objects of the kind always belong to a managed cluster."""


def upgrades(kinds: Iterable[Signalled], cluster_of: ClusterOf) -> tuple[Upgrade, ClusterUpgrades]:
    """The upgrade of all clusters, and those of single clusters, by all signals."""
    of_all, of_each = [], []
    by_cluster: defaultdict[str, list[Upgrade]] = defaultdict(list)
    for signalled in kinds:
        unreadable = signalled.unreadable
        if signalled.belongs_to_clusters:
            unread = upgrade(signalled.signal, (), unreadable=unreadable)
            of_each.append(unread if signalled.problem is None else _unknown(signalled.problem))
            unreadable = ()
        elif signalled.problem is not None:
            of_all.append(_unknown(signalled.problem))
            continue
        by_owner: defaultdict[str, list[SignallingObject]] = defaultdict(list)
        for signalling in signalled.found:
            by_owner[cluster_of(signalling.metadata)].append(signalling)
        general = by_owner.pop(MANAGEMENT_CLUSTER, [])
        of_all.append(upgrade(signalled.signal, general, unreadable=unreadable))
        for cluster, found in by_owner.items():
            by_cluster[cluster].append(upgrade(signalled.signal, found))
    single = {cluster: gravest(found_upgrades) for cluster, found_upgrades in by_cluster.items()}
    return gravest(of_all), ClusterUpgrades(single, gravest(of_each))


class PauseProgress(Frozen):
    """Which checks the upgrade pause has handled (rule 46); by default none, as when a detector starts.

    The annotation holds a check of a kind that is paused for upgrades, not the upgrade itself, so that a
    check which an administrator unpauses works at once. Until the pause has handled a check, the upgrade
    holds it.
    """

    transitions: tuple[datetime, ...] = ()
    """The upgrade, by the transitions of its signals at the last look."""
    handled_until: datetime | None = None
    """The checks created before were handled, except the pending ones; None: no check was."""
    pending: tuple[str, ...] = ()
    """The uids of the checks whose latest write failed."""

    def has_handled(self, check: ObjectMetadata, transitions: Collection[datetime]) -> bool:
        """True if the check was handled in the upgrade with these transitions."""
        is_same = set(transitions) == set(self.transitions) or not set(transitions).isdisjoint(
            self.transitions
        )
        is_before = self.handled_until is not None and check.creation_timestamp < self.handled_until
        return is_same and is_before and check.uid not in self.pending
