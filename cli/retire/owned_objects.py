"""Decides what becomes of the objects of an installation when it leaves. Pure.

| object                      | it is ours if                     | without `--hand-over`                 |
|-----------------------------|-----------------------------------|---------------------------------------|
| a request                   | it has our label, and names its   | deleted                               |
|                             | incident                          |                                       |
| the Lease of a target, the  | it has our label, and our worker  | deleted, once all requests are gone   |
| lock of a control plane     | wrote it last                     |                                       |
| annotations on a check: a   | our mark stands beside it         | removed, once the upgrade is over     |
| pause for an upgrade        |                                   |                                       |
| annotations that give       | their names                       | removed, in either case               |
| orders                      |                                   |                                       |
| the leader Lease, the       | the label of the Lease, and the   | deleted at the end, in either case    |
| ParamedicStatus             | name in the status                |                                       |

Annotations stay while another installation is in the cluster, because it obeys them, too. With `--hand-over`
the other objects stay as they are: the operators would have written the same (rule 39). While a request
exists its remediator may be at work, so the Leases stay with it (NHC 2.6).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cli.shared.errors import NotFoundError
from cli.shared.installations import FoundInstallation, named_by_leases, named_by_statuses
from health.kinds.check_kind import CheckKind
from health.model.annotations import ON_TARGETS
from health.model.remediation_request import INCIDENT
from kube.lease import LeaseRecord, holder_is_valid
from kube.resource import LEASES, Object, Resource
from objects.clusters import INSTALLATION_LABEL, of_one_cluster
from objects.metadata import ManagedFields, ObjectMetadata
from runtime.paramedic_status import PARAMEDIC_STATUSES, ParamedicStatusDocument
from runtime.process_names import LEADER_LEASE, WORKER
from runtime.settings import Settings

UNCHANGED = "nothing was changed"


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

    @property
    def installation(self) -> str | None:
        """The identity of the cluster of the installation that it belongs to; None if it names none."""
        if self.resource == PARAMEDIC_STATUSES:  # the leader writes its present name there
            return ParamedicStatusDocument.read(self.body).installation.cluster
        return self.metadata.labels.get(INSTALLATION_LABEL) or None

    @property
    def is_proof(self) -> bool:
        """True for an object that shows by itself that an installation was there."""
        is_leader = self.resource == LEASES and self.metadata.name == LEADER_LEASE
        return is_leader or self.resource == PARAMEDIC_STATUSES

    @property
    def is_request(self) -> bool:
        """True for a request that an incident made or adopted; a person may set a label on any object."""
        return self.resource not in (LEASES, PARAMEDIC_STATUSES) and INCIDENT in self.metadata.annotations


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """All objects of a cluster that may be ours, at one moment."""

    now: datetime
    labelled: tuple[Stored, ...] = ()
    """Requests and Leases with the label of any installation, and all ParamedicStatuses."""
    pausable: tuple[tuple[CheckKind, Stored], ...] = ()
    ordered: tuple[Stored, ...] = ()
    """Nodes, Machines and checks with annotations that give orders."""
    upgrading: str | None = None
    """Why checks that are paused for an upgrade must stay paused; None if there is no upgrade."""

    @property
    def installed(self) -> tuple[FoundInstallation, ...]:
        """The installations that a ParamedicStatus or a leader Lease proves, of any cluster."""
        proofs = [stored for stored in self.labelled if stored.is_proof]
        leases = [stored.body for stored in proofs if stored.resource == LEASES]
        statuses = [stored.body for stored in proofs if stored.resource != LEASES]
        return (*named_by_statuses(statuses), *named_by_leases(leases))

    def names(self, identity: str) -> frozenset[str]:
        """The installations in the cluster of `identity`; objects of another one may have been restored."""
        # A Lease alone is no trace: it may stay, because another controller holds it.
        traces = (stored for stored in self.labelled if stored.is_request or stored.is_proof)
        return of_one_cluster(identity, filter(None, (stored.installation for stored in traces)))


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


def is_installed(identity: str, snapshot: Snapshot, at_work: Iterable[str]) -> bool:
    """True if the installation has left anything in this cluster; False if there is nothing of any.

    `at_work` are the clusters that have open workflows.

    Raises:
        NotFoundError: only installations of other names have.

    """
    names = snapshot.names(identity) | of_one_cluster(identity, at_work)
    if names and identity not in names:
        there = ", ".join(sorted(names))
        raise NotFoundError(
            f"this cluster has no installation called {identity}, {UNCHANGED}: it has {there}"
        )
    return bool(names)


def refuse_other_place(identity: str, snapshot: Snapshot, settings: Settings, temporal: str) -> None:
    """Refuse namespaces other than those that the installation itself names.

    `temporal` is the given Temporal namespace, "" if Temporal is not asked.

    Raises:
        NotFoundError: the message names the installation's namespace.

    """
    for found in snapshot.installed:
        if found.cluster != identity:
            continue
        for variable, setting, stored in (
            ("PARAMEDIC_NAMESPACE", settings.namespace, found.namespace),
            ("PARAMEDIC_LEASE_NAMESPACE", settings.lease_namespace, found.lease_namespace),
            ("TEMPORAL_NAMESPACE", temporal, found.temporal_namespace),
        ):
            if setting and stored and setting != stored:
                raise NotFoundError(
                    f"{found.source} says that {identity} has {variable}={stored}, and {setting} is given, "
                    f"{UNCHANGED}"
                )


def owned_objects(snapshot: Snapshot, identity: str, *, is_handed_over: bool) -> tuple[OwnedObject, ...]:
    """All objects of the installation; what proves that it was there goes in the last round."""
    ours = [stored for stored in snapshot.labelled if stored.installation == identity]
    proofs = [stored for stored in ours if stored.is_proof]
    leases = [stored for stored in ours if stored.resource == LEASES and not stored.is_proof]
    requests = [stored for stored in ours if stored.is_request]
    found: list[OwnedObject] = []
    for stored in requests:
        disposal, why = Disposition.DELETE, "Paramedic made or adopted it"
        if is_handed_over:
            disposal, why = Disposition.LEAVE, "its operator goes on with it"
        elif stored.metadata.deletion_timestamp is not None:
            finalizers = ", ".join(stored.body["metadata"].get("finalizers") or ()) or "the API server"
            disposal, why = Disposition.AWAIT, f"it is being deleted, and waits for {finalizers}"
        found.append(OwnedObject(stored, disposal, why))
    for stored in leases:
        holder = LeaseRecord.read(stored.body).spec.holder_identity or ""
        entries = map(ManagedFields.model_validate, stored.body["metadata"].get("managedFields") or ())
        written = [(entry.time, entry.manager) for entry in entries if entry.time is not None]
        disposal, why = Disposition.DELETE, f"{holder} holds it, and remediates no more"
        # The API server records whole seconds, so several may have written it last. An operator uses the same
        # holder identity, and may hold it by now.
        latest = max((time for time, _ in written), default=None)
        if {manager for time, manager in written if time == latest} != {WORKER}:
            disposal, why = Disposition.LEAVE, f"another controller wrote it last, as {holder}"
        elif is_handed_over:
            disposal, why = Disposition.LEAVE, f"{holder} goes on to hold it, or it runs out"
        elif requests:
            disposal, why = Disposition.AWAIT, "the requests are not gone yet"
        found.append(OwnedObject(stored, disposal, why))
    found += _annotated(snapshot, identity, is_handed_over=is_handed_over)
    if all(owned.disposal is Disposition.LEAVE for owned in found):
        found += [OwnedObject(stored, Disposition.DELETE, "nobody writes it any more") for stored in proofs]
    return tuple(found)


def _annotated(snapshot: Snapshot, identity: str, *, is_handed_over: bool) -> Iterator[OwnedObject]:
    installed = (found.cluster for found in snapshot.installed)
    others = ", ".join(sorted(of_one_cluster(identity, installed) - {identity}))
    for kind, stored in snapshot.pausable:
        pause, metadata = kind.upgrade_pause, stored.metadata
        if pause is None or pause.mark not in metadata.annotations or metadata.deletion_timestamp:
            continue
        why, off = "it was paused for an upgrade", {pause.paused: None, pause.mark: None}
        if not (is_handed_over or others or snapshot.upgrading):
            yield OwnedObject(stored, Disposition.UNPAUSE, why, off)
            continue
        waits = not (is_handed_over or others) and pause.paused in metadata.annotations
        why = f"{snapshot.upgrading or why}; take {' and '.join(off)} off when no upgrade goes on"
        yield OwnedObject(stored, Disposition.AWAIT if waits else Disposition.LEAVE, why)
    for stored in snapshot.ordered:
        names = orders_on(stored.body)
        if others:
            why = f"{', '.join(names)}: the installation {others} takes orders, too"
            yield OwnedObject(stored, Disposition.LEAVE, why)
        else:
            why = f"no detector takes {', '.join(names)} any more"
            yield OwnedObject(stored, Disposition.REMOVE_ORDERS, why, dict.fromkeys(names))


def orders_on(body: Object) -> tuple[str, ...]:
    """The annotations of an object that give orders, as far as there are any."""
    annotations = ObjectMetadata.model_validate(body["metadata"]).annotations
    return tuple(name for name in sorted(ON_TARGETS) if name in annotations)


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
