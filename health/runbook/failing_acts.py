"""FailingActs: how an incident backs off while its acts fail in a row. Pure.

Rule: the wait between acts that fail in the same way is 5, 10, 20, … 300 s with jitter, and at least the
time of the hold if the API server refuses. An act that was too late is repeated at once after a new
question. A 403 is repeated after a second or two, because kube-apiserver answers so right after its start;
once it lasts half a minute it is reported to the detector (rule 47) and waits like the others. An edit of
the check or of a template, a new fact about the target, and a person's `resume` end the row: the next act is
due at once.
"""

from datetime import datetime, timedelta

from health.model.observation import Hold, HoldReason, Observation
from health.runbook.failed_attempts import FORBIDDEN_GRACE
from objects.backoff import Backoff
from objects.frozen import Frozen
from objects.timestamps import stamp

REPEATS = Backoff(timedelta(seconds=5), timedelta(minutes=5), jitter=(1.0, 1.2))
AT_ONCE = timedelta(seconds=1.5)
"""The wait before the second attempt, for failures that are often momentary."""
_FAILING = frozenset({HoldReason.FAILED, HoldReason.REFUSED, HoldReason.STALE_FACTS, HoldReason.NOT_TRUE})


class FailingActs(Frozen):
    """A row of failed acts with the same inputs and reason."""

    count: int = 1
    since: datetime
    hold: Hold
    """Why the latest of them failed."""
    next_act: datetime
    basis: str = ""
    """The inputs of these acts: another fact, check generation or template starts a new row."""

    @property
    def words(self) -> str:
        """Why the next act waits, in words."""
        row = f"{self.count} times in a row, " if self.count > 1 else ""
        return f"{self.hold} ({row}the next attempt is due at {stamp(self.next_act)})"

    def delays(self, seen: Observation, now: datetime) -> bool:
        """True if the next act would have the same inputs, and is not due yet."""
        return self.goes_on(seen) and now < self.next_act

    def goes_on(self, seen: Observation) -> bool:
        """True if the next act would have the same inputs."""
        return self.basis == _basis_of(seen)


def _basis_of(seen: Observation) -> str:
    """The inputs of an act besides its target."""
    fact = seen.fact.identity if seen.fact else ""
    return f"{seen.generation}/{seen.templates}/{fact}"


def after_failure(
    before: FailingActs | None, hold: Hold, seen: Observation, now: datetime, spread: float
) -> FailingActs | None:
    """The row after an act held by `hold`; None: no failure. `spread` is between 0 and 1."""
    if hold.reason not in _FAILING:
        return None
    is_of_the_row = before is not None and before.hold.reason == hold.reason and before.goes_on(seen)
    row = before if is_of_the_row else None
    count = row.count + 1 if row else 1
    return FailingActs(
        count=count,
        since=row.since if row else now,
        hold=hold,
        next_act=now + _delay(count, hold, spread),
        basis=_basis_of(seen),
    )


def lasts(failing: FailingActs | None, now: datetime) -> bool:
    """True if a row of 403s has lasted for longer than the start of an API server explains."""
    return failing is not None and now - failing.since >= FORBIDDEN_GRACE


def _delay(count: int, hold: Hold, spread: float) -> timedelta:
    # A broken act may mean an overloaded server; the other failures are often momentary.
    failures = count if hold.reason == HoldReason.FAILED else count - 1
    of_the_hold = min(timedelta(seconds=hold.ask_again_seconds), REPEATS.longest)
    return REPEATS.spread(max(REPEATS.limit(failures), of_the_hold), spread)
