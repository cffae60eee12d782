"""BackOff: how long a remediation waits that follows the end of an earlier one of its target (rule 14).

The n-th in a row waits none, 1, 2, 4, … minutes from the end of the one before, up to a limit; a limit of 0
turns it off. The count begins anew when the target was healthy for as long as the limit before it failed.
Targets that fail side by side do not wait for each other.

A request that somebody deleted while its target is unhealthy counts, too; but it is no earlier incident: the
incident that lost it waits by itself, and tells of it, as it alone knows that it did not delete it itself.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from health.model.observation import Hold, HoldReason
from health.model.references import IncidentReference
from objects.timestamps import stamp

FIRST = timedelta(minutes=1)
_MOST_DOUBLINGS = 40
"""Far over any limit; more of them no duration can hold."""
UNREAD_ASK_AGAIN_SECONDS = 10.0


def delay(earlier: int, limit: timedelta) -> timedelta:
    """How long a remediation waits that comes after `earlier` ones in a row."""
    if earlier < 1:
        return timedelta()
    doublings = min(earlier - 1, _MOST_DOUBLINGS)
    return timedelta(seconds=min(FIRST.total_seconds() * 2**doublings, limit.total_seconds()))


def after_a_loss(due: datetime, lost: str = "request") -> str:
    """Why nothing is done until `due`, where somebody removed the request or mark of an unhealthy target."""
    return f"{HoldReason.BACK_OFF}: its {lost} was removed by somebody, the next one is due at {stamp(due)}"


@dataclass(frozen=True)
class EndedAttempt:
    """A remediation that has ended, whatever became of its target."""

    number: int
    """Which one in a row it was; the first is 1."""
    ended: datetime
    requested: datetime | None = None
    """When its request was made; None where the failure that it was made for is known to have ended, too."""
    coexisting: frozenset[str] = frozenset()
    """Uids that were there when it ended, though whole seconds may tell otherwise."""


@dataclass(frozen=True)
class BackOff:
    """What is known of the latest remediation of one target."""

    limit: timedelta
    latest: EndedAttempt | None = None
    unread: str = ""
    """Why it is not known what there was."""

    def earlier(self, failed: datetime) -> int:
        """Remediations in a row before the incident of a target that is unhealthy since `failed`.

        A failure that is no younger than the latest request, in whole seconds, is the one it was made for.
        """
        if self.latest is None or failed - self.latest.ended >= self.limit:
            return 0
        is_another_failure = self.latest.requested is None or failed > self.latest.requested
        return self.latest.number if is_another_failure else 0

    def hold(self, failed: datetime, now: datetime, *, is_under_way: bool = False) -> Hold | None:
        """Why that incident may not make its first request at `now`.

        What has a request or a mark is under way: no new remediation, and its next step is none either.
        """
        if is_under_way or not self.limit:
            return None
        if self.unread:
            return _hold(self.unread, UNREAD_ASK_AGAIN_SECONDS)
        earlier = self.earlier(failed)
        if self.latest is None or not earlier:
            return None
        due = self.latest.ended + delay(earlier, self.limit)
        if now >= due:
            return None
        words = f"{_ordinal(earlier + 1)} remediation in a row, due at {stamp(due)}"
        return _hold(words, (due - now).total_seconds())


NO_BACK_OFF = BackOff(timedelta())


def _hold(message: str, ask_again_seconds: float) -> Hold:
    return Hold(reason=HoldReason.BACK_OFF, message=message, ask_again_seconds=ask_again_seconds)


def _ordinal(number: int) -> str:
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


@dataclass(frozen=True)
class LostRequest:
    """One loss; of several requests that went together it is one."""

    incident: IncidentReference
    run_id: str
    """The run of the incident's workflow."""
    uids: tuple[str, ...]
    """The requests: an attempt that is made again finds the same ones lost, and tells nothing twice."""
    due: datetime
    """When the next one is due."""
    check_uid: str
    node_name: str
    """The Node that the target is or is linked to; "" where it has none."""

    @property
    def words(self) -> str:
        """Why nothing is done until then; the same as the incident says."""
        return after_a_loss(self.due)

    @property
    def seed(self) -> str:
        """Tells it from every other loss."""
        return "\n".join((self.incident.workflow_id, self.run_id, "lost", *self.uids))
