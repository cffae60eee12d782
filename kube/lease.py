"""The rules of Leases (coordination.k8s.io/v1) by which controllers agree who acts on a target. Pure.

All medik8s operators use the same Lease for a node, so these rules are theirs. This module builds objects and
patches and sends nothing. Every patch carries the resourceVersion that it was decided on.

holderIdentity names the check, and the name of a Lease names the target. So our Leases also have the uid of
the target in an annotation, which distinguishes it from an earlier target of the same name. A Lease without
it (of another operator, or of an older version) is judged by holderIdentity alone.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationError

from kube.errors import Malformed
from kube.resource import Object
from objects.field_problem import FieldProblem
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata, OwnerReference
from objects.short_text import cut_with_hash
from objects.timestamps import micro_time

_LARGEST = 2**31 - 1  # leaseDurationSeconds and leaseTransitions have 32 bits
_Int32 = Annotated[int, AfterValidator(lambda number: max(-_LARGEST, min(number, _LARGEST)))]

# Clocks of two machines differ. The NodeHealthCheck operator considers a Lease invalid if its renewTime is
# the least bit in the future, and so takes it over from a live holder whose clock is ahead.
_CLOCK_SKEW = timedelta(seconds=60)


_OF_NODE = "node-"
_LONGEST_NAME = 253
SLACK = timedelta(seconds=60)
"""The Lease outlives the remediation's own duration by this much, as in the NodeHealthCheck operator: a live
holder renews it in time, and a dead one does not keep the node for long."""
CONTROL_PLANE_LOCK = "paramedic-control-plane"
"""The Lease whose holder is the only member of its quorum under remediation in the management cluster."""
TARGET_UID = "paramedic.dev/target-uid"
"""The annotation with the uid of the Node or Machine that a Lease is held for."""
LOCK = "paramedic.dev/lock"
"""The annotation with the name of the lock that the holder of a target's Lease needs too."""


class LeaseSpec(FrozenObject):
    """The holder of a Lease, since when and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: _Int32 | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: _Int32 | None = None


class LeaseRecord(FrozenObject):
    """The fields of a Lease that the rules need."""

    metadata: ObjectMetadata
    spec: LeaseSpec = Field(default_factory=LeaseSpec)

    @property
    def target_uid(self) -> str | None:
        """The uid of the target that it was taken for; None if unknown."""
        return self.metadata.annotations.get(TARGET_UID) or None

    @property
    def lock(self) -> str | None:
        """The lock that its holder needs too; None without one."""
        return self.metadata.annotations.get(LOCK) or None

    @classmethod
    def read(cls, body: Object) -> Self:
        """Parse the Lease that the API server returned.

        Raises Malformed: it is invalid.
        """
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            raise Malformed(f"A Lease cannot be read: {FieldProblem.of(error)}.") from error


@dataclass(frozen=True)
class LeaseHolder:
    """The holder of a Lease, and its target."""

    identity: str
    """The value of holderIdentity."""
    target_uid: str | None = None
    lock: str | None = None
    """The lock that it needs too, which the Lease names while it is held."""

    def holds(self, lease: LeaseRecord) -> bool:
        """True if the Lease names this holder, expired or not."""
        is_of_target = lease.target_uid in {None, self.target_uid}
        return lease.spec.holder_identity == self.identity and is_of_target

    def holder_of(self, lease: LeaseRecord) -> str:
        """The holder in words; the same check may hold the Lease for an earlier target."""
        identity = lease.spec.holder_identity or ""
        return f"{identity} (for an earlier target of this name)" if identity == self.identity else identity


def written_duration(duration: timedelta) -> timedelta:
    """The duration in a Lease that is held or renewed for a remediation of this duration."""
    return duration + SLACK


def name_for_node(node_name: str) -> str:
    return name_for("Node", "", node_name)


def lock_of(cluster: str) -> str:
    """The name of the control-plane lock of a cluster: `paramedic-control-plane[.<namespace>.<name>]`."""
    return cut_with_hash(".".join(filter(None, (CONTROL_PLANE_LOCK, *cluster.split("/")))), _LONGEST_NAME)


def is_lock(lease_name: str) -> bool:
    return lease_name.split(".", 1)[0] == CONTROL_PLANE_LOCK


def name_for(kind: str, namespace: str, name: str) -> str:
    """The name of the Lease of a target: `node-<name>`, or `machine-<namespace>.<name>`.

    Namespaces contain no dot, so no two Machines share a Lease. A name that is too long for the API server
    ends with a hash; that of a node never does, because other controllers must find it.
    """
    if not namespace:
        return f"{kind}-{name}".lower()
    return cut_with_hash(f"{kind}-{namespace}.{name}".lower(), _LONGEST_NAME)


def node_of(lease_name: str) -> str | None:
    """The node whose Lease this is, None for any other Lease; names of nodes are lower case."""
    return lease_name.removeprefix(_OF_NODE) if lease_name.startswith(_OF_NODE) else None


def expiry(lease: LeaseRecord) -> datetime | None:
    """When the Lease ends unless it is renewed; None if it was never held properly."""
    if lease.spec.renew_time is None or lease.spec.lease_duration_seconds is None:
        return None
    return lease.spec.renew_time + timedelta(seconds=lease.spec.lease_duration_seconds)


def holder_is_valid(lease: LeaseRecord, now: datetime) -> bool:
    """True if the Lease has a valid holder now.

    The last moment belongs to the holder. A renewTime more than a minute ahead is too far for clock skew and
    is ignored.
    """
    ends = expiry(lease)
    if not lease.spec.holder_identity or lease.spec.renew_time is None or ends is None:
        return False
    return lease.spec.renew_time <= now + _CLOCK_SKEW and now <= ends


def needs_renewal(lease: LeaseRecord, duration: timedelta, now: datetime) -> bool:
    """True if the Lease would end before `duration` from now."""
    ends = expiry(lease)
    return ends is None or ends < now + duration


def new_lease(  # noqa: PLR0913, PLR0917  a Lease has these parts
    name: str,
    namespace: str,
    holder: str,
    duration: timedelta,
    now: datetime,
    owner: OwnerReference | None,
) -> Object:
    """A Lease that `holder` takes now; with `owner` it is deleted after its owner."""
    metadata: Object = {"name": name, "namespace": namespace}
    if owner is not None:
        metadata["ownerReferences"] = [_owner(owner)]
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": _held(holder, duration, now, transitions=0),
    }


def taken_over(
    lease: LeaseRecord, holder: str, duration: timedelta, now: datetime, owner: OwnerReference | None
) -> Object:
    """The merge patch by which `holder` takes over a free or expired Lease."""
    metadata: Object = {"resourceVersion": lease.metadata.resource_version}
    if owner is not None:
        metadata["ownerReferences"] = [_owner(owner)]
    transitions = min((lease.spec.lease_transitions or 0) + 1, _LARGEST)
    return {"metadata": metadata, "spec": _held(holder, duration, now, transitions=transitions)}


def renewed(lease: LeaseRecord, duration: timedelta, now: datetime) -> Object:
    """The merge patch by which the holder renews the Lease; acquireTime stays the same."""
    spec: Object = {"leaseDurationSeconds": _whole_seconds(duration), "renewTime": micro_time(now)}
    if lease.spec.acquire_time is None:
        spec["acquireTime"] = micro_time(now)
    return {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}


def for_target(lease: Object, holder: LeaseHolder, before: LeaseRecord | None = None) -> Object:
    """A new Lease, or a patch of the one `before`, with the annotations of its target and lock."""
    annotations: dict[str, str | None] = {TARGET_UID: holder.target_uid} if holder.target_uid else {}
    if holder.lock != (before.lock if before else None):
        annotations[LOCK] = holder.lock
    return lease | {"metadata": lease["metadata"] | {"annotations": annotations}} if annotations else lease


def released(lease: LeaseRecord, now: datetime) -> Object:
    """The merge patch that releases the Lease, so that the next holder need not wait."""
    return {
        "metadata": {"resourceVersion": lease.metadata.resource_version},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time(now)},
    }


def _held(holder: str, duration: timedelta, now: datetime, transitions: int) -> Object:
    return {
        "holderIdentity": holder,
        "leaseDurationSeconds": _whole_seconds(duration),
        "acquireTime": micro_time(now),
        "renewTime": micro_time(now),
        "leaseTransitions": transitions,
    }


def _whole_seconds(duration: timedelta) -> int:
    return min(max(1, math.ceil(duration.total_seconds())), _LARGEST)


def _owner(owner: OwnerReference) -> Object:
    return {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
