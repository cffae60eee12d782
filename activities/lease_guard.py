"""LeaseGuard: runs an effect under the Lease of its target, soon after admission and revalidation.

The age of the facts is tested twice: before the Lease is acquired, because a Lease acquired too late would
belong to another act, and right before the effect, because the acquisition takes time. The write is then
sent at once, and an act without an answer ends by `ACT.attempt`.

If certainly nothing was done, the Lease is released so that others can have the target, except if the
incident held it before, an earlier request of the check is still active, or Temporal may have timed this act
out: the act that replaced it may use the same Lease. If the result is unknown the Lease stays and expires.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from activities.fact_age import Clock
from activities.revalidation import stale
from activities.step_result import StepHeld
from activities.target_lease import TargetLeases
from health.model.observation import HoldReason
from health.model.target import Target
from health.runbook.escalation import lease_duration
from kube.errors import Forbidden, Invalid, NotFound
from workflows.contracts import ACT, ActInput

_KEEPING = frozenset({HoldReason.EARLIER_REQUEST, HoldReason.FAILED})
"""Holds under which a remediator may be working."""


class LeaseGuard:
    """Acquires the Leases of targets for acts, and releases them."""

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
        except (Forbidden, Invalid, NotFound):
            if not self._may_be_given_up(act, began):
                await self.release(act, target)
            raise

    async def release(self, act: ActInput, target: Target) -> None:
        """Release the Lease, unless the incident held it before."""
        if not act.holds_lease:
            await self._leases.release(act.incident, with_lock=target.is_control_plane)

    def refuse_old_facts(self, act: ActInput, began: float) -> None:
        """Refuse by two clocks, as a process may be frozen, and a machine suspended, at any moment before.

        Raises Held.
        """
        why = self._clock.too_old(act.seen_at, began)
        if why:
            raise stale(why)

    def _may_be_given_up(self, act: ActInput, began: float) -> bool:
        """True if Temporal may have timed the act out, by either clock since its admission."""
        is_late = act.seen_at is not None and self._clock.now() - act.seen_at > ACT.attempt
        return is_late or self._clock.since(began) > ACT.attempt
