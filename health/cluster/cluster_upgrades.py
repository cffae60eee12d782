"""ClusterUpgrades: the upgrades of single clusters that are managed from here.

Rule 38: an object that belongs to one such cluster counts for that cluster, and any other object for all. If
objects of a kind always belong to a cluster, an unreadable one may belong to any of them: the upgrade of
each managed cluster is then unknown, and checks of the management cluster go on. At the end of an upgrade
only the clocks of the targets of that cluster restart (rule 37).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from health.cluster.upgrade import (
    NEVER_UPGRADED,
    Signaller,
    SignallingObject,
    Upgrade,
    UpgradePhase,
    UpgradeSignal,
    gravest,
    upgrade,
)
from objects.clusters import MANAGEMENT_CLUSTER
from objects.metadata import ObjectMetadata

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
    problem: str = ""
    """Why no object could be read yet."""
    belongs_to_clusters: bool = False
    """Whether objects of the kind always belong to a managed cluster."""


def upgrades(kinds: Iterable[Signalled], cluster_of: ClusterOf) -> tuple[Upgrade, ClusterUpgrades]:
    """The upgrade of all clusters, and those of single clusters, by all signals."""
    of_all, of_each, by_cluster = [], [], defaultdict(list)
    for signalled in kinds:
        if signalled.belongs_to_clusters:
            of_each.append(_unread(signalled))
        elif signalled.problem:
            of_all.append(_unread(signalled))
            continue
        by_owner = _by_cluster(signalled.found, cluster_of)
        general = by_owner.pop(MANAGEMENT_CLUSTER, [])
        unreadable = () if signalled.belongs_to_clusters else signalled.unreadable
        of_all.append(upgrade(signalled.signal, general, unreadable=unreadable))
        for cluster, found in by_owner.items():
            by_cluster[cluster].append(upgrade(signalled.signal, found))
    single = {cluster: gravest(found_upgrades) for cluster, found_upgrades in by_cluster.items()}
    return gravest(of_all), ClusterUpgrades(single, gravest(of_each))


def _unread(signalled: Signalled) -> Upgrade:
    if signalled.problem:
        return Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown=signalled.problem)
    return upgrade(signalled.signal, (), unreadable=signalled.unreadable)


def _by_cluster(
    found: Iterable[SignallingObject], cluster_of: ClusterOf
) -> dict[str, list[SignallingObject]]:
    grouped = defaultdict(list)
    for signalling in found:
        grouped[cluster_of(signalling.metadata)].append(signalling)
    return grouped
