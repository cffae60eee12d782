"""Decides which objects in a cluster are Paramedic's when it leaves, and what becomes of each. Pure.

| object                   | it is ours if                           | without `--hand-over`             |
|--------------------------|-----------------------------------------|-----------------------------------|
| a request                | its annotation names an incident of     | deleted                           |
|                          | this cluster, or an open incident says  |                                   |
|                          | that it adopted it                      |                                   |
| the Lease of a target,   | its holder is an incident, and our      | deleted, once its request is gone |
| the control-plane lock   | worker wrote it last; without Temporal, |                                   |
|                          | incidents are unknown, and the last     |                                   |
|                          | writer alone decides                    |                                   |
| the pause of a check for | our mark stands beside it               | both are removed, once the        |
| an upgrade               |                                         | upgrade is over                   |
| the Leases of detectors  | name and label match, unless the        | deleted, in either case           |
|                          | leader's Lease names another cluster    |                                   |
| an annotation that gives | its name; another installation in the   | removed, in either case           |
| an order                 | cluster takes it, too                   |                                   |
| a mark on a target       | unknown                                 | left to the target's owner        |

With `--hand-over` the other objects stay as they are: the operators would have written the same (rule 39).
The command waits for an object that a finalizer keeps. While a request exists its remediator may be at work,
so the Lease of its target stays with it (NHC 2.6).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cli.shared.installations import FoundInstallation, named_by_leases
from health.kinds.check_kind import CheckKind
from health.model.annotations import ON_TARGETS
from health.model.references import CheckReference, IncidentReference
from health.model.remediation_request import INCIDENT, RemediationRequest
from health.upgrade.pausable_check import PausableCheck, PauseAction
from kube.lease import LeaseRecord, holder_is_valid, is_lock, name_for
from kube.resource import LEASES, Object, Resource
from objects.metadata import ManagedFields, ObjectMetadata
from runtime.listed_incidents import incident_of
from runtime.process_names import LEADER_LEASE, WORKER


class Disposition(StrEnum):
    """The action on one of our objects."""

    DELETE = "delete"
    UNPAUSE = "unpause"
    REMOVE_ORDERS = "remove the orders on"
    """A later installation would obey them, although their reason may be gone."""
    AWAIT = "wait for"
    """It is being removed, and a finalizer or another object delays that."""
    LEAVE = "leave"


@dataclass(frozen=True)
class Stored:
    """An object as the API server stores it."""

    resource: Resource
    body: Object

    @property
    def metadata(self) -> ObjectMetadata:
        return ObjectMetadata.model_validate(self.body["metadata"])


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """All objects of a cluster that may be ours, at one moment."""

    now: datetime
    requests: tuple[Stored, ...] = ()
    """Requests of all kinds, from all creators."""
    target_leases: tuple[Object, ...] = ()
    own_leases: tuple[Object, ...] = ()
    """The Leases in the namespace of our processes."""
    installed: tuple[FoundInstallation, ...] = ()
    """Installations of this name and of others."""
    pausable: tuple[tuple[CheckKind, Stored], ...] = ()
    ordered: tuple[Stored, ...] = ()
    """Nodes, Machines and checks with annotations that give orders."""
    markable: tuple[tuple[CheckKind, Stored], ...] = ()
    """Targets that may have been marked for their owner."""
    upgrading: str = ""
    """Why checks that are paused for an upgrade must stay paused; "" if there is no upgrade."""


@dataclass(frozen=True, kw_only=True)
class Ownership:
    """Decides by incidents and adopted requests which objects are ours."""

    cluster: str
    """The identity of this cluster; another name of it is another installation."""
    incidents: frozenset[IncidentReference] = frozenset()
    """The incidents that were open."""
    earlier: frozenset[IncidentReference] = frozenset()
    """Incidents that were terminated earlier. Only a Lease of theirs is ours; an operator may own the
    rest."""
    adopted: Mapping[str, IncidentReference] = field(default_factory=dict)
    """By uid, requests of operators that an open incident adopted; none in shadow."""
    is_handed_over: bool = False
    is_without_temporal: bool = False
    """No incident is known, so only its last writer shows that a Lease is ours."""


@dataclass(frozen=True)
class OwnedObject:
    """One of our objects, the action on it, and the reason."""

    stored: Stored
    disposal: Disposition
    why: str
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    """The patch of annotations that unpauses a check, or removes orders."""

    @property
    def name(self) -> str:
        metadata = self.stored.metadata
        return "/".join(
            part for part in (self.stored.resource.kind, metadata.namespace, metadata.name) if part
        )

    def __str__(self) -> str:
        return f"{self.disposal} {self.name}: {self.why}"


def owned_objects(snapshot: Snapshot, ownership: Ownership) -> tuple[OwnedObject, ...]:
    """All objects of ours, and the marks that stay for their owners."""
    owned = [
        (request, incident) for request in snapshot.requests if (incident := _incident_of(request, ownership))
    ]
    ours = [(request, incident) for request, incident in owned if incident.cluster == ownership.cluster]
    of_others = [incident for _, incident in owned if incident.cluster != ownership.cluster]
    incidents = frozenset(incident for _, incident in ours)
    return (
        *(_request(request, ownership) for request, _ in ours),
        *(_of_another(request, incident) for request, incident in owned if incident not in incidents),
        *_leases(snapshot, ownership, incidents, frozenset(map(_sign, of_others))),
        *_pauses(snapshot, ownership),
        *_own_leases(snapshot, ownership.cluster),
        *_orders(snapshot, ownership.cluster),
        *_marks(snapshot.markable),
    )


def running_detectors(leases: Iterable[Object], now: datetime) -> tuple[str, ...]:
    """The detector that leads, by the Leases in the namespace of our processes."""
    records = [LeaseRecord.read(body) for body in leases if body["metadata"]["name"] == LEADER_LEASE]
    return tuple(record.spec.holder_identity or "" for record in records if holder_is_valid(record, now))


def is_scaled_up(deployment: Object) -> bool:
    """True if a Deployment has Pods, or is to have some."""
    wanted = deployment["spec"].get("replicas", 1)
    return bool(wanted or (deployment.get("status") or {}).get("replicas"))


def running_operators(kinds: Iterable[CheckKind], leases: Sequence[LeaseRecord], now: datetime) -> list[str]:
    """The running operators that Paramedic replaces, by Leases in all namespaces."""
    return [
        f"the {kind.operator} runs: {lease.spec.holder_identity!r} holds the Lease "
        f"{lease.metadata.namespace}/{lease.metadata.name}"
        for kind in kinds
        for lease in leases
        if lease.metadata.name == kind.operator_lease and not kind.operator_guide
        if holder_is_valid(lease, now)
    ]


def _incident_of(stored: Stored, ownership: Ownership) -> IncidentReference | None:
    """The incident of a request, in any cluster; None if the request is not ours."""
    return incident_on(stored) or ownership.adopted.get(stored.metadata.uid)


def incident_on(stored: Stored) -> IncidentReference | None:
    """The incident in the request's annotation, in any cluster; None without the annotation."""
    request = RemediationRequest.model_validate({"metadata": stored.body["metadata"]})
    if request.is_unsigned:
        return None
    return incident_of(request.metadata.annotations[INCIDENT])


def _request(stored: Stored, ownership: Ownership) -> OwnedObject:
    if ownership.is_handed_over:
        return OwnedObject(stored, Disposition.LEAVE, "its operator goes on with it")
    if stored.metadata.deletion_timestamp is None:
        return OwnedObject(stored, Disposition.DELETE, "Paramedic made or adopted it")
    finalizers = ", ".join(stored.body["metadata"].get("finalizers") or ()) or "the API server"
    return OwnedObject(stored, Disposition.AWAIT, f"it is being deleted, and waits for {finalizers}")


def _of_another(stored: Stored, incident: IncidentReference) -> OwnedObject:
    name = incident.cluster.rpartition("-")[0] or incident.cluster
    why = f"another installation made it, as cluster {incident.cluster}: `paramedic retire --cluster {name}`"
    return OwnedObject(stored, Disposition.LEAVE, why)


def _leases(
    snapshot: Snapshot,
    ownership: Ownership,
    in_use: frozenset[IncidentReference],
    of_others: frozenset[tuple[str, str]],
) -> Iterator[OwnedObject]:
    incidents = (*ownership.incidents, *ownership.earlier, *in_use)
    signed = {_sign(incident) for incident in incidents}
    locks = {incident.check.lock_holder(incident.target.name) for incident in incidents}
    busy = {name for name, _ in map(_sign, in_use)}
    busy_locks = {incident.check.lock_holder(incident.target.name) for incident in in_use}
    for body in snapshot.target_leases:
        stored, lease = Stored(LEASES, body), LeaseRecord.read(body)
        name, holder = lease.metadata.name, lease.spec.holder_identity or ""
        is_signed = (name, holder) in signed or (is_lock(name) and holder in locks)
        is_known = is_signed or (ownership.is_without_temporal and (name, holder) not in of_others)
        if not is_known:
            continue
        if not _is_of_worker(body):  # the operator uses the same holder identity, and may hold it by now
            continue
        if ownership.is_handed_over:
            why = "it runs out by itself" if is_lock(name) else f"{holder} goes on to hold it"
            yield OwnedObject(stored, Disposition.LEAVE, why)
        elif name in busy or (is_lock(name) and holder in busy_locks):
            yield OwnedObject(stored, Disposition.AWAIT, "the request of its target is not gone yet")
        else:
            yield OwnedObject(stored, Disposition.DELETE, f"{holder} holds it, and remediates no more")


def _is_of_worker(lease: Object) -> bool:
    """True if our worker alone wrote it last; the API server records whole seconds."""
    entries = [ManagedFields.model_validate(entry) for entry in lease["metadata"].get("managedFields") or ()]
    times = [entry.time for entry in entries if entry.time is not None]
    return {entry.manager for entry in entries if times and entry.time == max(times)} == {WORKER}


def _sign(incident: IncidentReference) -> tuple[str, str]:
    """The name of the target's Lease, and the incident's holder identity in it."""
    target = incident.target
    return name_for(target.kind_name, target.namespace, target.name), incident.check.lease_holder


def _pauses(snapshot: Snapshot, ownership: Ownership) -> Iterator[OwnedObject]:
    for kind, stored in snapshot.pausable:
        annotations = kind.upgrade_pause
        if annotations is None:
            continue
        named = stored.metadata
        reference = CheckReference(
            kind=kind.kind, group=kind.group, namespace=named.namespace, name=named.name
        )
        check = PausableCheck.of(reference, named, annotations)
        if not check.is_marked or check.is_going:
            continue
        if ownership.is_handed_over or snapshot.upgrading:
            is_left = ownership.is_handed_over or not check.is_paused
            why = snapshot.upgrading or "it was paused for an upgrade"
            advice = f"take {annotations.paused} and {annotations.mark} off when no upgrade goes on"
            yield OwnedObject(stored, Disposition.LEAVE if is_left else Disposition.AWAIT, f"{why}; {advice}")
            continue
        action = PauseAction.UNPAUSE if check.is_paused else PauseAction.REMOVE_MARK
        patch = annotations.patch(action)
        yield OwnedObject(stored, Disposition.UNPAUSE, "it was paused for an upgrade", patch)


def _own_leases(snapshot: Snapshot, cluster: str) -> Iterator[OwnedObject]:
    own = [lease for lease in snapshot.own_leases if lease["metadata"]["name"] == LEADER_LEASE]
    others = {lease.installation.cluster for lease in named_by_leases(own)} - {cluster}
    for body in own:
        if others:
            yield OwnedObject(
                Stored(LEASES, body), Disposition.LEAVE, f"it is of the cluster {', '.join(others)}"
            )
        else:
            yield OwnedObject(Stored(LEASES, body), Disposition.DELETE, "no detector leads by it any more")


def orders_on(body: Object) -> tuple[str, ...]:
    """The annotations of an object that give orders, as far as there are any."""
    annotations = ObjectMetadata.model_validate(body["metadata"]).annotations
    return tuple(name for name in sorted(ON_TARGETS) if name in annotations)


def _orders(snapshot: Snapshot, cluster: str) -> Iterator[OwnedObject]:
    others = sorted({installed.installation.cluster for installed in snapshot.installed} - {cluster})
    for stored in snapshot.ordered:
        names = orders_on(stored.body)
        if others:
            why = f"{', '.join(names)}: the installation {', '.join(others)} takes orders, too"
            yield OwnedObject(stored, Disposition.LEAVE, why)
        else:
            why = f"no detector takes {', '.join(names)} any more"
            yield OwnedObject(stored, Disposition.REMOVE_ORDERS, why, dict.fromkeys(names))


def _marks(targets: Iterable[tuple[CheckKind, Stored]]) -> Iterator[OwnedObject]:
    """Only the owner takes a mark off: without it, the owner would forget a target that is powered off."""
    for kind, stored in targets:
        mark = kind.mark_on(stored.body) if kind.mark_on else ""
        if mark:
            why = f"its owner remediates it because of the mark {mark}, and takes that off"
            yield OwnedObject(stored, Disposition.LEAVE, why)
