"""LeaseGuard: an effect under the Lease of its target, soon after admission and revalidation, or not at all.

How old the facts are is asked twice: before the Lease is taken, as one that is taken too late is another
act's, and right before the effect, as the taking may have lasted. What is written is on its way at once then,
and an act whose answer does not come ends by `ACT.attempt`.

Where it is certain that nothing was done, the Lease is given back, so that others can have the target: but
not if the incident held it before, an earlier request of our own check is still at work, or Temporal may have
given this act up: the one that was tried instead may rest on the same Lease. Where nobody knows, it stays,
and runs out by itself.
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
"""Holds under which something may be at work."""


class LeaseGuard:
    """Takes Leases for acts."""

    def __init__(self, leases: TargetLeases, clock: Clock) -> None:
        self._leases = leases
        self._clock = clock

    def begin(self) -> float:
        """The moment before the revalidation, for `lease`."""
        return self._clock.monotonic()

    @asynccontextmanager
    async def lease(self, asked: ActInput, target: Target, began: float) -> AsyncIterator[datetime]:
        """Have the Lease for what is done inside; answers since when.

        Raises:
            Held: somebody else has it, or the look that began at `began` is too old to act on.
            KubernetesError: the API server could not be asked.

        """
        self.refuse_old_facts(asked, began)
        duration = lease_duration(asked.step)
        try:
            held = await self._leases.take(asked.incident, target, duration, self._clock.now())
            self.refuse_old_facts(asked, began)
            yield held.acquired
        except StepHeld as error:
            if error.hold.reason not in _KEEPING and not self._may_be_given_up(asked, began):
                await self.release(asked, target)
            raise
        except (Forbidden, Invalid, NotFound):
            if not self._may_be_given_up(asked, began):
                await self.release(asked, target)
            raise

    async def release(self, asked: ActInput, target: Target) -> None:
        """Let others have the target, unless the incident held it before."""
        if not asked.holds_lease:
            await self._leases.release(asked.incident, with_lock=target.is_control_plane)

    def refuse_old_facts(self, asked: ActInput, began: float) -> None:
        """Refuse by two clocks, as a process may be frozen, and a machine suspended, at any moment before.

        Raises Held.
        """
        why = self._clock.too_old(asked.seen_at, began)
        if why:
            raise stale(why)

    def _may_be_given_up(self, asked: ActInput, began: float) -> bool:
        """Whether so much time has passed since the admission, and so since the order, by either clock."""
        is_late = asked.seen_at is not None and self._clock.now() - asked.seen_at > ACT.attempt
        return is_late or self._clock.since(began) > ACT.attempt
