"""renew: keep the Lease of the target, and the control-plane lock, while the remediator works."""

from collections.abc import Callable
from datetime import datetime, timedelta

from temporalio import activity

from activities.chore_attempt import ChoreAttempt
from activities.target_lease import TargetLeases
from health.runbook.chores import OF_LEASE, renewing_lease
from workflows.contracts import RENEW, RenewInput, RenewResult


class Renew:
    """The activity `renew`."""

    def __init__(self, leases: TargetLeases, now: Callable[[], datetime]) -> None:
        self._leases = leases
        self._now = now

    @activity.defn(name=RENEW.name)
    async def renew(self, asked: RenewInput) -> RenewResult:
        """Renew the Lease if it is ours; one that is missing or foreign is left as it is (NHC 2.5)."""
        attempt, duration = ChoreAttempt(RENEW), timedelta(seconds=asked.duration_seconds)
        keeping = self._leases.keep(
            asked.incident, duration, self._now(), with_lock=asked.is_of_control_plane
        )
        held = await attempt.item(OF_LEASE, renewing_lease(asked.incident.target), keeping)
        return RenewResult(acquired_at=held.acquired if held else None, failures=attempt.failures)
