"""LeaseMemory: what an incident remembers of the Lease of its target, and when it is overdue. Pure.

The Lease is taken for as long as the step that runs says, and renewed at half of that time. Overdue (NHC 2.5,
rule 13) is a remediation after three times that duration, and the timeouts of the steps before, counted from
when the Lease was acquired. A request that the incident made has three durations of its own under the Lease
that it was made under: it does not pay for one that somebody deleted (rule 9), nor for an old Lease of ours.
One that it found, and one whose Lease says another time by now, counts by the Lease alone.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from health.model.request_snapshot import RequestSnapshot
from health.runbook.chores import LeftBehind
from health.runbook.escalation import CLASSIC_LEASE, Plan
from objects.frozen import Frozen, OpenEnum

OVERDUE_AFTER = 3
"""Durations of the Lease."""


class LeaseState(StrEnum):
    """Whose the Lease is, as far as the incident knows."""

    NOT_TAKEN = "NotTaken"
    HELD = "Held"
    """Or it may be: an act was ordered, and what one leaves behind that broke off is released, too."""
    RELEASED = "Released"
    """The remediation is overdue; the next act takes it anew."""


class LeaseMemory(Frozen):
    """The Lease of one target, and the control-plane lock that goes with it."""

    state: OpenEnum[LeaseState] = LeaseState.NOT_TAKEN
    duration_seconds: float = CLASSIC_LEASE.total_seconds()
    acquired_at: datetime | None = None
    observed_at: datetime | None = None
    """Since when it was held, as the detector saw it last where that was something else."""
    request_acquired_at: datetime | None = None
    """When it was acquired for the latest request; None if the incident found that one."""
    renew_at: datetime | None = None
    """When it is to be renewed next; None while that is due, or where nothing is to be renewed."""
    is_of_control_plane: bool = False

    @property
    def may_be_held(self) -> bool:
        """Whether it must be released before the incident may end."""
        return self.state is LeaseState.HELD

    @property
    def is_held(self) -> bool:
        """Whether it surely was taken, and not released."""
        return self.may_be_held and self.acquired_at is not None

    @property
    def duration(self) -> timedelta:
        """How long it is taken for."""
        return timedelta(seconds=self.duration_seconds)

    def is_due(self, now: datetime) -> bool:
        """Whether it is to be renewed."""
        return self.renew_at is None or now >= self.renew_at

    def overdue_at(self, plan: Plan, latest: RequestSnapshot) -> datetime:
        """When the remediation is overdue whose latest request this is.

        Where nobody knows since when the Lease is held, it counts from the creation of the request.
        """
        longest = OVERDUE_AFTER * self.duration
        if self.acquired_at is None:
            return latest.created + longest
        step = plan.step_of(latest.reference)
        began = self.acquired_at + (plan.time_before(step) if step else timedelta())
        is_made_under_it = self.acquired_at == self.request_acquired_at
        return (max(began, latest.created) if is_made_under_it else began) + longest

    def ordered(self) -> Self:
        """The same from the moment that an act is ordered."""
        return self._with(state=LeaseState.HELD)

    def taken(self, duration: timedelta, acquired: datetime | None, renew_at: datetime) -> Self:
        """The same once an act took it; where that found a request, nobody says since when it is held."""
        return self._with(
            state=LeaseState.HELD,
            duration_seconds=duration.total_seconds(),
            acquired_at=acquired or self.acquired_at,
            renew_at=renew_at,
        )

    def for_request(self, request: RequestSnapshot) -> Self:
        """The same as the one that the latest request was made under."""
        return self._with(
            request_acquired_at=self.acquired_at, is_of_control_plane=request.is_of_control_plane
        )

    def adopted(self, duration_seconds: float | None, now: datetime, *, is_of_control_plane: bool) -> Self:
        """The same while requests are seen: nobody knows until when the Lease of one runs that was found."""
        return self._with(
            state=self.state if self.state is LeaseState.RELEASED else LeaseState.HELD,
            duration_seconds=duration_seconds or self.duration_seconds,
            renew_at=self.renew_at or now,
            is_of_control_plane=self.is_of_control_plane or is_of_control_plane,
        )

    def observed(self, acquired: datetime | None, now: datetime) -> Self:
        """The same once the detector saw it: another time is read again, what was seen may be old itself."""
        if acquired is None or acquired in (self.acquired_at, self.observed_at):
            return self
        return self._with(observed_at=acquired, renew_at=now)

    def renewed(self, acquired: datetime | None, now: datetime) -> Self:
        """The same once it was renewed."""
        return self._with(acquired_at=acquired or self.acquired_at, renew_at=now + self.duration / 2)

    def renewed_later(self, at: datetime | None) -> Self:
        """The same once it could not be renewed."""
        return self._with(renew_at=at)

    def released(self) -> Self:
        """The same once it was released while requests stay."""
        return self._with(state=LeaseState.RELEASED, acquired_at=None)

    def after_clean_up(self, left: LeftBehind) -> Self:
        """The same once all was cleaned up but what is `left`."""
        if left.has_lease:
            return self
        stays_released = self.state is LeaseState.RELEASED and bool(left.requests)
        state = LeaseState.RELEASED if stays_released else LeaseState.NOT_TAKEN
        return self._with(state=state, acquired_at=None, renew_at=None)

    def _with(self, **changes: object) -> Self:
        return self.model_copy(update=changes)
