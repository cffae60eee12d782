"""TargetLease: the Lease of an incident's target, and for a member of a quorum the control-plane lock.

The lock is one Lease for each cluster of Nodes, for all checks, kinds and actions (rules 21 and 61): its
holder is the only member being remediated. The Lease of the target names it. Both are acquired before an act,
renewed while the target is remediated or replaced, and released together.

A Node has no namespace, so it owns its Lease, which is deleted with it. The Lease of a Machine, in another
namespace, is only released by its incident, or expires. Both name the uid that they are held for: an
incident neither renews nor releases a Lease for another target of the same name, and waits until it is
released or expires.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from activities.attempt import StepHeld
from activities.kind_activities import ConfirmedStep
from activities.revalidation import CheckT, TargetT
from health.gate.admission import ONE_AT_A_TIME
from health.kinds.registry import CHECK_KINDS
from health.model.observation import HoldReason
from health.model.references import IncidentReference, TargetReference
from health.runbook.escalation import lease_duration
from kube.client import Client
from kube.errors import LeaseTaken, NotFound, RequestRefused
from kube.held_lease import HeldLeases, LeaseHeld
from kube.lease import CONTROL_PLANE_LOCK, LeaseHolder, lock_of, name_for
from objects.metadata import OwnerReference

REPLACEMENT_APPEARS_WITHIN = timedelta(minutes=1)
_KEEPING = frozenset({HoldReason.EARLIER_REQUEST, HoldReason.FAILED})
"""Holds under which a remediator may be working."""


class TargetLeases:
    """The Leases of targets in one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._leases = HeldLeases(client, namespace)

    @asynccontextmanager
    async def held(self, step: ConfirmedStep[CheckT, TargetT]) -> AsyncIterator[datetime]:
        """Hold the Lease for the write in the body; yields when it was acquired.

        The age of the facts is tested twice: before the Lease is acquired, because a Lease acquired too late
        would belong to another act, and right before the write, because the acquisition takes time. The write
        is then sent at once, and an act without an answer ends by `ACT.attempt`.

        If certainly nothing was done, the Lease is released so that others can have the target, except if the
        incident held it before, an earlier request of the check is still active, or Temporal may have timed
        this act out: the act that replaced it may use the same Lease. If the result is unknown the Lease
        stays and expires.

        Raises:
            StepHeld: another holder has the Lease, or the facts are too old.
            KubernetesError: the API server could not be asked.

        """
        act, age = step.act, step.age
        age.refuse_old()
        lock = lock_of(step.confirmed.quorum) if step.confirmed.takes_turns(act) else None
        try:
            held = await self._acquire(act.incident, lock, lease_duration(act.step), age.clock.now())
            age.refuse_old()
            yield held.acquired
        except (StepHeld, RequestRefused, NotFound) as error:
            may_work = isinstance(error, StepHeld) and error.hold.reason in _KEEPING
            if not (may_work or act.holds_lease or age.may_be_timed_out):
                await self.release(act.incident)
            raise

    async def _acquire(
        self, incident: IncidentReference, lock: str | None, duration: timedelta, now: datetime
    ) -> LeaseHeld:
        """Acquire the Lease of the target, and the lock if it needs one.

        Raises StepHeld: another holder has one of them; the other may be ours by now.
        """
        target, owner = incident.target, None
        if not target.namespace:  # an owner must be cluster-scoped or in the same namespace
            api_version = CHECK_KINDS[incident.check.group_kind].targets.api_version
            owner = OwnerReference(
                api_version=api_version, kind=target.kind, name=target.name, uid=target.uid
            )
        name, holder = _name(target), replace(_holder(incident), lock=lock)
        try:
            held = await self._leases.obtain(name, holder, duration, now, owner)
        except LeaseTaken as error:
            message = f"{error.holder} holds its Lease"
            raise StepHeld.because(HoldReason.TAKEN, message) from error
        if lock is None:
            return held
        try:
            await self._leases.obtain(lock, _lock_holder(incident), duration, now)
        except LeaseTaken as error:
            message = f"{ONE_AT_A_TIME}: {error.holder} has the lock"
            raise StepHeld.because(HoldReason.CONTROL_PLANE, message) from error
        return held

    async def keep(self, incident: IncidentReference, duration: timedelta, now: datetime) -> LeaseHeld | None:
        """Renew the Leases that are ours; a missing or foreign one is left unchanged (NHC 2.5)."""
        name, holder = _name(incident.target), _holder(incident)
        return await self._leases.renew(name, holder, duration, now, _lock_holder(incident))

    async def is_held(self, incident: IncidentReference) -> bool:
        """True if the check holds the Lease of this target and uid, expired or not."""
        return await self._leases.is_held(_name(incident.target), _holder(incident))

    async def release(self, incident: IncidentReference, gone_at: datetime | None = None) -> None:
        """Release the lock, then the Lease of the target.

        The lock of a target that is gone expires a little later, because its owner may create the replacement
        only then.
        """

        async def release_lock(lock: str) -> None:
            if gone_at is None:
                await self._leases.release(lock, _lock_holder(incident))
            else:
                await self._leases.shorten(lock, _lock_holder(incident), REPLACEMENT_APPEARS_WITHIN, gone_at)

        was_held = await self._leases.release(_name(incident.target), _holder(incident), release_lock)
        if not was_held and not incident.target.namespace:
            # The Lease of a Node is deleted with the Node, and the lock is not.
            await release_lock(CONTROL_PLANE_LOCK)


def _name(target: TargetReference) -> str:
    return name_for(target.kind_name, target.namespace, target.name)


def _holder(incident: IncidentReference) -> LeaseHolder:
    return LeaseHolder(incident.check.lease_holder, incident.target.uid)


def _lock_holder(incident: IncidentReference) -> LeaseHolder:
    return LeaseHolder(incident.check.lock_holder(incident.target.name), incident.target.uid)
