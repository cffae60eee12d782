"""LeaseMemory: what an incident remembers of the Lease of its target, and when it is overdue. Pure.

The running step sets the duration of the Lease, which is renewed at half of that time. A remediation is
overdue (NHC 2.5, rule 13) after three times that duration plus the timeouts of the earlier steps, counted
from the acquisition of the Lease. A request that the incident made gets three durations of its own under the
Lease that it was made under, so time lost to a deleted request (rule 9) or to an old Lease of ours is not
charged to it. For a request that the incident found, or whose Lease has another acquisition time now, only
the Lease counts.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from health.model.request_snapshot import RequestSnapshot
from health.runbook.chores import LeftBehind
from health.runbook.escalation import CLASSIC_LEASE, Plan
from objects.frozen import Frozen, OpenEnum

OVERDUE_AFTER = 3
"""Multiples of the Lease duration."""


class LeaseState(StrEnum):
    """The state of the Lease, as far as the incident knows."""

    NOT_TAKEN = "NotTaken"
    HELD = "Held"
    """Held, or possibly held because an act was ordered. The Lease of an act that broke off is released too.
    """
    RELEASED = "Released"
    """The remediation is overdue; the next act acquires the Lease again."""


class LeaseMemory(Frozen):
    """The Lease of one target, and the control-plane lock if it needs one."""

    state: OpenEnum[LeaseState] = LeaseState.NOT_TAKEN
    duration_seconds: float = CLASSIC_LEASE.total_seconds()
    acquired_at: datetime | None = None
    observed_at: datetime | None = None
    """The acquisition time that the detector saw last, if it differs from ours."""
    request_acquired_at: datetime | None = None
    """The acquisition time for the latest request; None: the incident found that request."""
    renew_at: datetime | None = None
    """When to renew next; None: now, or nothing to renew."""
    is_of_control_plane: bool = False

    @property
    def may_be_held(self) -> bool:
        """True if the Lease must be released before the incident may end."""
        return self.state is LeaseState.HELD

    @property
    def is_held(self) -> bool:
        """True if the Lease was certainly acquired and not released."""
        return self.may_be_held and self.acquired_at is not None

    @property
    def duration(self) -> timedelta:
        return timedelta(seconds=self.duration_seconds)

    def is_due(self, now: datetime) -> bool:
        return self.renew_at is None or now >= self.renew_at

    def overdue_at(self, plan: Plan, latest: RequestSnapshot) -> datetime:
        """When the remediation with this latest request is overdue.

        With an unknown acquisition time, the creation of the request counts.
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
        """The same after an act acquired it.

        An act that found a request does not know the acquisition time.
        """
        return self._with(
            state=LeaseState.HELD,
            duration_seconds=duration.total_seconds(),
            acquired_at=acquired or self.acquired_at,
            renew_at=renew_at,
        )

    def for_request(self, request: RequestSnapshot) -> Self:
        """The same as the Lease that the latest request was made under."""
        return self._with(
            request_acquired_at=self.acquired_at, is_of_control_plane=request.is_of_control_plane
        )

    def adopted(self, duration_seconds: float | None, now: datetime, *, is_of_control_plane: bool) -> Self:
        """The same while requests exist; the end of the Lease of a request that was found is unknown."""
        return self._with(
            state=self.state if self.state is LeaseState.RELEASED else LeaseState.HELD,
            duration_seconds=duration_seconds or self.duration_seconds,
            renew_at=self.renew_at or now,
            is_of_control_plane=self.is_of_control_plane or is_of_control_plane,
        )

    def observed(self, acquired: datetime | None, now: datetime) -> Self:
        """The same after the detector saw another acquisition time, which the next renewal verifies."""
        if acquired is None or acquired in (self.acquired_at, self.observed_at):
            return self
        return self._with(observed_at=acquired, renew_at=now)

    def renewed(self, acquired: datetime | None, now: datetime) -> Self:
        return self._with(acquired_at=acquired or self.acquired_at, renew_at=now + self.duration / 2)

    def renewed_later(self, at: datetime | None) -> Self:
        """The same after a failed renewal, with the time of the next try."""
        return self._with(renew_at=at)

    def released(self) -> Self:
        """The same after its release while requests stay."""
        return self._with(state=LeaseState.RELEASED, acquired_at=None)

    def after_clean_up(self, left: LeftBehind) -> Self:
        """The same after a clean-up that left `left` behind."""
        if left.has_lease:
            return self
        stays_released = self.state is LeaseState.RELEASED and bool(left.requests)
        state = LeaseState.RELEASED if stays_released else LeaseState.NOT_TAKEN
        return self._with(state=state, acquired_at=None, renew_at=None)

    def _with(self, **changes: object) -> Self:
        return self.model_copy(update=changes)
