"""FailingActs: how an incident backs off while one act after another fails. Pure.

Rule: 5, 10, 20, … 300 s, with jitter, between acts that fail in the same way; of what the API server refuses
at least as long as its hold says. One that came too late is made anew at once, after another question; 403 is
tried again after a second or two, because kube-apiserver answers so right after its start, and is told to the
detector once it lasts half a minute (rule 47); only then these wait as the others. An edit of the check
or of a template, another fact of the target, and a person's `resume` end the row: the next act is made at
once.
"""

from datetime import datetime, timedelta

from health.model.observation import Hold, HoldReason, Observation
from health.runbook.failed_attempts import FORBIDDEN_GRACE
from objects.frozen import Frozen
from objects.timestamps import stamp

FIRST = timedelta(seconds=5)
LONGEST = timedelta(minutes=5)
AT_ONCE = timedelta(seconds=1.5)
"""Before the second attempt where a moment may be all that was wrong."""
_MOST_DOUBLINGS = 30
_FAILING = frozenset({HoldReason.FAILED, HoldReason.REFUSED, HoldReason.STALE_FACTS, HoldReason.NOT_TRUE})


class FailingActs(Frozen):
    """A row of acts that failed."""

    count: int = 1
    since: datetime
    hold: Hold
    """Why the latest of them failed."""
    next_act: datetime
    basis: str = ""
    """What they were made by: another fact, generation of the check, or template is another attempt."""

    @property
    def words(self) -> str:
        """Why no act is made before its time."""
        row = f"{self.count} times in a row, " if self.count > 1 else ""
        return f"{self.hold} ({row}the next attempt is due at {stamp(self.next_act)})"

    def goes_on(self, seen: Observation) -> bool:
        """Whether the next act would be made by the same as these were."""
        return self.basis == _basis_of(seen)


def _basis_of(seen: Observation) -> str:
    """What an act is made by, beside its target."""
    fact = seen.fact.identity if seen.fact else ""
    return f"{seen.generation}/{seen.templates}/{fact}"


def after_failure(
    before: FailingActs | None, hold: Hold, seen: Observation, now: datetime, spread: float
) -> FailingActs | None:
    """The row once an act was held by `hold`; None where that is no failure. `spread` is between 0 and 1."""
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
    """Whether a row of 403 has lasted for longer than that of an API server that has just started."""
    return failing is not None and now - failing.since >= FORBIDDEN_GRACE


def _delay(count: int, hold: Hold, spread: float) -> timedelta:
    # What broke off may be a server in trouble; of the others a moment may be all that was wrong.
    failures = count if hold.reason == HoldReason.FAILED else count - 1
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    row = min(FIRST * 2**doublings, LONGEST) if failures else timedelta()
    wait = max(row, min(timedelta(seconds=hold.ask_again_seconds), LONGEST))
    return wait * (1 + spread / 5)
