"""ClusterContextWatch: watches the cluster context of all checks while the process lives.

The global stop is an annotation on the namespace of the Leases, the policy is a ConfigMap, and a setting
names the kinds whose conditions signal an upgrade (rule 38). Objects that only one kind of check needs are
watched by that kind. Objects of managed clusters that do not decode hold only the kind of checks on such
clusters.

The watch looks every 15 seconds for a kind that the API server does not serve, as most clusters never get it.
Until it is found, an upgrade that it signals holds nothing. With durations from 15 seconds on, no target is
remediated for an effect of that upgrade, since the effect is due only a duration later; a target that failed
before the upgrade is remediated as if the kind had come a moment later. The answer that a kind is not served
ages like any other, and ends when the kind is found.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from detector.feeds.source import Source, all_tried, by_name, first_unread
from detector.registry import WATCHED_KINDS
from health.cluster.global_stop import LeaseNamespace, Stop
from health.cluster.upgrade import (
    ClusterUpgrades,
    Signalled,
    SignallingObject,
    Upgrade,
    UpgradeSignal,
    upgrades,
)
from health.gate.check_holds import NOT_YET, UnreadSource
from health.kinds.registry import CHECK_KINDS
from kube.connection import ClusterConnection
from kube.discovery import KindName
from kube.record import RecordT
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings, patient
from kube.resource import NAMESPACES, Resource
from objects.clusters import MANAGEMENT_CLUSTER
from objects.group_kind import GroupKind, ServedKind
from objects.metadata import ObjectMetadata


class ClusterContextWatch:
    """The reflectors of the context, and the values made of them."""

    def __init__(  # noqa: PLR0913  each says what is watched, and how
        self,
        connection: ClusterConnection,
        lease_namespace: str,
        signals: Sequence[UpgradeSignal],
        kinds: Collection[GroupKind],
        changed: Callable[[], None],
        *,
        reflectors: CurrentSettings = patient,
        others: Iterable[Source] = (),
    ) -> None:
        """`others` are sources of the context that other feeds read."""
        self._transport, self._reflectors = connection.transport, reflectors
        self._signals, self._changed = signals, changed
        watched = {kind: WATCHED_KINDS[kind].cluster_context for kind in kinds}
        self._judged: dict[GroupKind, object] = {}
        """The contexts of kinds as they were last asked for."""
        self._to_judge: set[GroupKind | None] = set()
        """The kinds whose objects changed in this turn of the event loop; None: a signal of upgrades."""
        self._of_kinds = {
            kind: (of_kind, self._watch(of_kind.resource, of_kind.record, partial(self._change_soon, kind)))
            for kind, of_kind in watched.items()
            if of_kind is not None
        }
        soon = partial(self._change_soon, None)
        self._signalling = {kind: self._watch(kind, SignallingObject, soon) for kind in map(_kind, signals)}
        self._lease_namespace = self._watch(NAMESPACES, LeaseNamespace, name=lease_namespace)
        of_kinds = (source for _, source in self._of_kinds.values())
        self.sources = by_name(self._lease_namespace, *of_kinds, *self._signalling.values(), *others)

    def _watch(
        self,
        resource: Resource | ServedKind | KindName,
        record: type[RecordT],
        notify: Callable[[object], None] | None = None,
        name: str | None = None,
    ) -> Reflector[RecordT]:
        notify = notify or (lambda _: self._changed())
        settings = self._reflectors
        return Reflector(self._transport, resource, record, name=name, notify=notify, settings=settings)

    @property
    def served(self) -> dict[str, Source]:
        """The sources of kinds that the API server serves; the others have no objects, and so no age."""
        return {part: source for part, source in self.sources.items() if source.is_served}

    def of_verdicts(self, kind: GroupKind) -> Source | None:
        """The source that gates the verdicts of checks of `kind`; None without one."""
        watched, source = self._of_kinds.get(kind, (None, None))
        return source if watched is not None and watched.gates_verdicts else None

    async def wait_tried(self) -> None:
        """Return when each was read completely, is not served, or could not be read."""
        await all_tried(self.sources.values())

    def unread(self, kind: GroupKind, limit: timedelta) -> UnreadSource | None:
        """Why the cluster context is not fresh enough for checks of `kind`; None if it is."""
        of_others = {source.name for other, (_, source) in self._of_kinds.items() if other != kind}
        of_others |= {
            source.name for name, source in self._signalling.items() if _CLUSTERS_OF.get(name, kind) != kind
        }
        sources = (source for part, source in self.sources.items() if part not in of_others)
        return first_unread(sources, limit)

    def unread_signals(self, limit: timedelta) -> UnreadSource | None:
        """Why the objects that signal upgrades of this cluster are not fresh enough; None if they are."""
        return first_unread(self._signalling_all, limit)

    def serves_signals(self) -> bool:
        """True if the API server serves a kind that can signal an upgrade of this cluster."""
        return any(source.synced and source.is_served for source in self._signalling_all)

    @property
    def _signalling_all(self) -> Sequence[Source]:
        return [source for name, source in self._signalling.items() if name not in _CLUSTERS_OF]

    def upgrades(self) -> tuple[Upgrade, ClusterUpgrades]:
        """The upgrade of this cluster and all clusters managed from here, and those of single clusters."""
        served = [signal for signal in self._signals if self._signalling[_kind(signal)].is_served]
        return upgrades(map(self._signalled, served), _cluster_of)

    def of_kinds(self) -> dict[GroupKind, Any]:
        """By kind of check, the context that only its checks use."""
        self._judged = {kind: self._context_of(kind) for kind in self._of_kinds}
        return self._judged

    def _context_of(self, kind: GroupKind) -> object:
        watched, source = self._of_kinds[kind]
        return watched.judge(tuple(source.store.values()), len(source.undecodable))

    def _change_soon(self, kind: GroupKind | None, _: object) -> None:
        """Have the change of an object judged with all others of this turn of the event loop.

        A first list has thousands of objects, and a judgement reads all of them.
        """
        if not self._to_judge:
            asyncio.get_running_loop().call_soon(self._judge)
        self._to_judge.add(kind)

    def _judge(self) -> None:
        """Report changes of objects only if they change the context of their kind.

        An upgrade changes each of a thousand objects, and no answer with them.
        """
        changed, self._to_judge = self._to_judge, set()
        if any(kind is None or self._context_of(kind) != self._judged.get(kind) for kind in changed):
            self._changed()

    def stop(self) -> Stop | None:
        """The global stop by the annotation of the namespace; None without one."""
        for problem in self._lease_namespace.undecodable.values():
            return Stop(f"the namespace of the Leases cannot be read: {problem}")
        for namespace in self._lease_namespace.store.values():
            return namespace.stop
        return None

    def _signalled(self, signal: UpgradeSignal) -> Signalled:
        source = self._signalling[_kind(signal)]
        return Signalled(
            signal=signal,
            found=tuple(source.store.values()),
            unreadable=tuple(source.undecodable.values()),
            problem=None if source.synced else source.problem or NOT_YET,
            belongs_to_clusters=_kind(signal) in _CLUSTERS_OF,
        )


def _kind(signal: UpgradeSignal) -> KindName:
    return KindName(signal.api_version, signal.kind)


def _cluster_of(metadata: ObjectMetadata) -> str:
    found = (kind.cluster_of(metadata) for kind in CHECK_KINDS.values())
    return next((cluster for cluster in found if cluster != MANAGEMENT_CLUSTER), MANAGEMENT_CLUSTER)


_CLUSTERS_OF = {
    _kind(signal): kind.group_kind for kind in CHECK_KINDS.values() for signal in kind.upgrade_signals
}
"""The kinds whose objects belong to managed clusters, and the kind of the checks on those."""
