"""TargetLease: the Lease of an incident's target, and for a control-plane node the control-plane lock.

The lock is one Lease for the whole cluster, for all checks and kinds of requests (rule 21): its holder is
the only control-plane node being remediated. Both are acquired before a request is made, renewed while its
remediator works, and released together.

A Node has no namespace, so it owns its Lease, which is deleted with it. The Lease of a Machine, in another
namespace, is only released by its incident, or expires. Both name the uid that they are held for: an
incident neither renews nor releases a Lease for another target of the same name, and waits until it is
released or expires.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from activities.fact_age import Clock
from activities.revalidation import stale
from activities.step_result import ASK_AGAIN_SECONDS, StepHeld
from health.kinds.registry import CHECK_KINDS
from health.model.observation import HoldReason
from health.model.references import IncidentReference, TargetReference
from health.model.target import Target
from health.runbook.escalation import lease_duration
from kube.client import Client
from kube.errors import LeaseTaken, NotFound, RequestRefused
from kube.held_lease import HeldLeases, LeaseHeld
from kube.lease import CONTROL_PLANE_LOCK, LeaseHolder, name_for
from objects.metadata import OwnerReference
from workflows.contracts import ACT, ActInput

_KEEPING = frozenset({HoldReason.EARLIER_REQUEST, HoldReason.FAILED})
"""Holds under which a remediator may be working."""


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


class LeaseGuard:
    """Runs an effect under the Lease of its target, soon after admission and revalidation.

    The age of the facts is tested twice: before the Lease is acquired, because a Lease acquired too late
    would belong to another act, and right before the effect, because the acquisition takes time. The write is
    then sent at once, and an act without an answer ends by `ACT.attempt`.

    If certainly nothing was done, the Lease is released so that others can have the target, except if the
    incident held it before, an earlier request of the check is still active, or Temporal may have timed this
    act out: the act that replaced it may use the same Lease. If the result is unknown the Lease stays and
    expires.
    """

    def __init__(self, leases: TargetLeases, clock: Clock) -> None:
        self._leases = leases
        self._clock = clock

    def begin(self) -> float:
        """The moment before the revalidation, for `lease`."""
        return self._clock.monotonic()

    @asynccontextmanager
    async def lease(self, act: ActInput, target: Target, began: float) -> AsyncIterator[datetime]:
        """Hold the Lease for the body; yields when it was acquired.

        Raises:
            StepHeld: another holder has it, or the revalidation that began at `began` is too old.
            KubernetesError: the API server could not be asked.

        """
        self.refuse_old_facts(act, began)
        duration = lease_duration(act.step)
        try:
            held = await self._leases.take(act.incident, target, duration, self._clock.now())
            self.refuse_old_facts(act, began)
            yield held.acquired
        except StepHeld as error:
            if error.hold.reason not in _KEEPING and not self._may_be_given_up(act, began):
                await self.release(act, target)
            raise
        except (RequestRefused, NotFound):
            if not self._may_be_given_up(act, began):
                await self.release(act, target)
            raise

    async def release(self, act: ActInput, target: Target) -> None:
        """Release the Lease, unless the incident held it before."""
        if not act.holds_lease:
            await self._leases.release(act.incident, with_lock=target.is_control_plane)

    def refuse_old_facts(self, act: ActInput, began: float) -> None:
        """Refuse by two clocks, as a process may be frozen, and a machine suspended, at any moment before.

        Raises StepHeld.
        """
        why = self._clock.too_old(act.seen_at, began)
        if why:
            raise stale(why)

    def _may_be_given_up(self, act: ActInput, began: float) -> bool:
        """True if Temporal may have timed the act out, by either clock since its admission."""
        is_late = act.seen_at is not None and self._clock.now() - act.seen_at > ACT.attempt
        return is_late or self._clock.since(began) > ACT.attempt
