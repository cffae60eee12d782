"""TargetLease: the Lease of an incident's target, and for a control-plane node the control-plane lock.

The lock is one Lease for the whole cluster, for all checks and kinds of requests (rule 21): its holder is
the only control-plane node being remediated. Both are acquired before a request is made, renewed while its
remediator works, and released together.

A Node has no namespace, so it owns its Lease, which is deleted with it. The Lease of a Machine, in another
namespace, is only released by its incident, or expires. Both name the uid that they are held for: an
incident neither renews nor releases a Lease for another target of the same name, and waits until it is
released or expires.
"""

from datetime import datetime, timedelta

from activities.step_result import ASK_AGAIN_SECONDS, StepHeld
from health.kinds.registry import CHECK_KINDS
from health.model.observation import HoldReason
from health.model.references import IncidentReference, TargetReference
from health.model.target import Target
from kube.client import Client
from kube.errors import LeaseTaken
from kube.held_lease import HeldLeases, LeaseHeld
from kube.lease import CONTROL_PLANE_LOCK, LeaseHolder, name_for
from objects.metadata import OwnerReference


class TargetLeases:
    """The Leases of targets in one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._leases = HeldLeases(client, namespace)

    async def take(
        self, incident: IncidentReference, target: Target, duration: timedelta, now: datetime
    ) -> LeaseHeld:
        """Acquire the Lease of the target, and the lock.

        Raises:
            StepHeld: another holder has one of them; the other may be ours by now.
            KubernetesError: as the client does.

        """
        name, owner = _name(incident.target), _owner(incident)
        try:
            held = await self._leases.obtain(name, _holder(incident), duration, now, owner)
        except LeaseTaken as error:
            message = f"{error.holder} holds its Lease"
            raise StepHeld.because(HoldReason.TAKEN, message, ask_again_seconds=ASK_AGAIN_SECONDS) from error
        if target.is_control_plane:
            await self._take_lock(incident, duration, now)
        return held

    async def keep(
        self, incident: IncidentReference, duration: timedelta, now: datetime, *, with_lock: bool
    ) -> LeaseHeld | None:
        """Renew the Leases that are ours; a missing or foreign one is left unchanged (NHC 2.5)."""
        if with_lock:
            await self._leases.renew(CONTROL_PLANE_LOCK, _lock_holder(incident), duration, now)
        return await self._leases.renew(_name(incident.target), _holder(incident), duration, now)

    async def is_held(self, incident: IncidentReference) -> bool:
        """True if the check holds the Lease of this target and uid, expired or not."""
        return await self._leases.is_held(_name(incident.target), _holder(incident))

    async def release(self, incident: IncidentReference, *, with_lock: bool) -> None:
        """Release the Lease of the target, and the lock."""
        await self._leases.release(_name(incident.target), _holder(incident))
        if with_lock:
            await self._leases.release(CONTROL_PLANE_LOCK, _lock_holder(incident))

    async def _take_lock(self, incident: IncidentReference, duration: timedelta, now: datetime) -> None:
        try:
            await self._leases.obtain(CONTROL_PLANE_LOCK, _lock_holder(incident), duration, now)
        except LeaseTaken as error:
            message = f"one control-plane node at a time: {error.holder} has the lock"
            raise StepHeld.because(
                HoldReason.CONTROL_PLANE, message, ask_again_seconds=ASK_AGAIN_SECONDS
            ) from error


def _name(target: TargetReference) -> str:
    return name_for(target.kind_name, target.namespace, target.name)


def _owner(incident: IncidentReference) -> OwnerReference | None:
    """The Node as owner of its Lease; an owner must be cluster-scoped or in the same namespace."""
    target = incident.target
    if target.namespace:
        return None
    api_version = CHECK_KINDS[incident.check.group_kind].targets.api_version
    return OwnerReference(api_version=api_version, kind=target.kind, name=target.name, uid=target.uid)


def _holder(incident: IncidentReference) -> LeaseHolder:
    return LeaseHolder(incident.check.lease_holder, incident.target.uid)


def _lock_holder(incident: IncidentReference) -> LeaseHolder:
    return LeaseHolder(incident.check.lock_holder(incident.target.name), incident.target.uid)
