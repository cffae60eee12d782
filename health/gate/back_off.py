"""BackOff: the wait between two remediations in a row of one target (rule 14).

The n-th in a row waits 0, 1, 2, 4, … minutes from the end of the one before, up to a limit; a limit of 0
turns it off. The count starts again when the target was healthy for as long as the limit. Targets do not
wait for each other.

A request that another actor deleted while its target was unhealthy also counts. The incident that lost it
waits and reports the loss itself, because only that incident knows that it did not delete the request.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from health.model.details import HoldWords
from health.model.observation import Hold, HoldReason
from health.model.references import IncidentReference
from objects.backoff import Backoff
from objects.timestamps import stamp

FIRST = timedelta(minutes=1)
UNREAD_ASK_AGAIN_SECONDS = 10.0


def delay(earlier: int, limit: timedelta) -> timedelta:
    """The wait before a remediation that follows `earlier` ones in a row."""
    return Backoff(FIRST, limit).limit(earlier)


def after_a_loss(due: datetime, lost: str = "request", *, since: datetime | None = None) -> HoldWords:
    """The hold until `due` after the loss, at `since`, of a request or mark of an unhealthy target."""
    full = f"its {lost} was removed by another actor, the next one is due at {stamp(due)}"
    return HoldWords(short=HoldReason.BACK_OFF, full=full, since=since)


@dataclass(frozen=True)
class EndedAttempt:
    """A remediation that has ended, with any outcome."""

    number: int
    """Its place in the row; the first is 1."""
    ended: datetime
    requested: datetime | None = None
    """When its request was created; None if the failure behind it is known to have ended too."""
    coexisting: frozenset[str] = frozenset()
    """Uids of targets that existed when it ended, although timestamps in whole seconds may say otherwise."""


@dataclass(frozen=True)
class RemediationBackOff:
    """The latest remediation of one target, and the limit of its back-off."""

    limit: timedelta
    latest: EndedAttempt | None = None
    unread: str = ""
    """Why the earlier remediations are unknown."""

    def earlier(self, failed: datetime) -> int:
        """Remediations in a row before the incident of a target that is unhealthy since `failed`.

        A failure that began no later than the latest request, in whole seconds, is the one behind that
        request.
        """
        if self.latest is None or failed - self.latest.ended >= self.limit:
            return 0
        is_another_failure = self.latest.requested is None or failed > self.latest.requested
        return self.latest.number if is_another_failure else 0

    def hold(self, failed: datetime, now: datetime, *, is_under_way: bool = False) -> Hold | None:
        """The hold on the first request of that incident at `now`.

        A target with a request or a mark is being remediated: its next step is not a new remediation.
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


NO_BACK_OFF = RemediationBackOff(timedelta())


def _hold(message: str, ask_again_seconds: float) -> Hold:
    return Hold(reason=HoldReason.BACK_OFF, message=message, ask_again_seconds=ask_again_seconds)


def _ordinal(number: int) -> str:
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


@dataclass(frozen=True, kw_only=True)
class LostRequest:
    """The loss of one request, or of several that disappeared together."""

    incident: IncidentReference
    run_id: str
    """The run of the incident's workflow."""
    uids: tuple[str, ...]
    """The lost requests. A repeated attempt reports the same ones, so each loss is reported once."""
    due: datetime
    """When the next request is due."""
    check_uid: str
    node_name: str
    """The Node that the target is or is linked to; "" without one."""

    @property
    def words(self) -> HoldWords:
        return after_a_loss(self.due)

    @property
    def seed(self) -> str:
        return "\n".join((self.incident.workflow_id, self.run_id, "lost", *self.uids))
