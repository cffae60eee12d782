"""renew: keep the Lease of a target while a remediator works on it."""

from collections.abc import Callable
from datetime import datetime, timedelta

from temporalio import activity

from activities.asking_again import no_earlier_than_told
from activities.target_lease import TargetLeases
from workflows.contracts import RENEW, RenewInput, RenewResult


class Renew:
    """The activity `renew`."""

    def __init__(self, leases: TargetLeases, now: Callable[[], datetime]) -> None:
        self._leases = leases
        self._now = now

    @activity.defn(name=RENEW.name)
    @no_earlier_than_told
    async def renew(self, asked: RenewInput) -> RenewResult:
        """Renew the Lease if it is ours; one that is missing or foreign is left as it is (semantics 2.5)."""
        duration = timedelta(seconds=asked.duration_seconds)
        held = await self._leases.keep(
            asked.incident, duration, self._now(), with_turn=asked.is_of_control_plane
        )
        return RenewResult(acquired_at=held.acquired if held else None)
