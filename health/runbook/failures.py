"""Failures: failed attempts of maintenance tasks and of acts, and when the next attempt is due. Pure.

Rule: a failed attempt is never remembered as done (rule 47). A maintenance task is tried again after 2, 4, 8,
… 300 s with jitter, and no earlier than the API server asks. A refusal (400, 403 or 422) counts as an
ordinary failure for half a minute, because kube-apiserver answers 403 to ServiceAccounts right after its
start; after that it is reported as a refusal.

The wait between acts that fail in the same way is 5, 10, 20, … 300 s with jitter, and at least the time of
the hold if the API server refuses. An act that was too late is repeated at once after a new question, and a
403 after a second or two. An edit of the check or of a template, a new fact about the target, and a person's
`resume` end the row: the next act is due at once.

The findings of an act that no watch shows go into status and Events (rules 13 and 27, NHC 1.5). Examples are
the disruption budget of etcd, a Lease taken a moment ago, and the API server's answer to a request. An act
that broke off, or that met other facts than those of its admission, has no such finding; the finding of an
earlier act then stays.
"""

from datetime import datetime, timedelta

from health.model.observation import Hold, HoldReason, Observation
from objects.backoff import EQUAL_JITTER, Backoff
from objects.frozen import Frozen

RETRIES = Backoff(timedelta(seconds=2), timedelta(minutes=5), jitter=EQUAL_JITTER)
FORBIDDEN_GRACE = timedelta(seconds=30)
"""How long a 403 may come from an API server that has just started."""


def retry_delay(failures: int, retry_after_seconds: float, spread: float) -> timedelta:
    """The wait after this many failures in a row; `spread` is a random number between 0 and 1.

    Between half and all of 2, 4, 8, … 300 s, and no earlier than the API server asks.
    """
    requested = timedelta(seconds=min(max(retry_after_seconds, 0), RETRIES.longest.total_seconds()))
    return requested + RETRIES.wait(failures, spread)


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

    def delays(self, observation: Observation, now: datetime) -> bool:
        """True if the next act would have the same inputs, and is not due yet."""
        return self.goes_on(observation) and now < self.next_act

    def goes_on(self, observation: Observation) -> bool:
        """True if the next act would have the same inputs."""
        return self.basis == _basis_of(observation)


def _basis_of(observation: Observation) -> str:
    """The inputs of an act besides its target."""
    fact = observation.fact.identity if observation.fact else ""
    return f"{observation.generation}/{observation.templates}/{fact}"


def after_failure(
    before: FailingActs | None, hold: Hold, observation: Observation, now: datetime, spread: float
) -> FailingActs | None:
    """The row after an act held by `hold`; None: no failure. `spread` is between 0 and 1."""
    if hold.reason not in _FAILING:
        return None
    is_of_the_row = before is not None and before.hold.reason == hold.reason and before.goes_on(observation)
    row = before if is_of_the_row else None
    count = row.count + 1 if row else 1
    return FailingActs(
        count=count,
        since=row.since if row else now,
        hold=hold,
        next_act=now + _delay(count, hold, spread),
        basis=_basis_of(observation),
    )


def lasts(failing: FailingActs | None, now: datetime) -> bool:
    """True if a row of 403s has lasted for longer than the start of an API server explains."""
    return failing is not None and now - failing.since >= FORBIDDEN_GRACE


def _delay(count: int, hold: Hold, spread: float) -> timedelta:
    # A broken act may mean an overloaded server; the other failures are often momentary.
    failures = count if hold.reason == HoldReason.FAILED else count - 1
    of_the_hold = min(timedelta(seconds=hold.ask_again_seconds), REPEATS.longest)
    return REPEATS.spread(max(REPEATS.limit(failures), of_the_hold), spread)


_FOUND = frozenset(
    {
        HoldReason.NO_CONTROLLER,
        HoldReason.TAKEN,
        HoldReason.TAKEN_BY_REQUEST,
        HoldReason.CONTROL_PLANE,
        HoldReason.EARLIER_REQUEST,
        HoldReason.TEMPLATE,
        HoldReason.REFUSED,
    }
)


def is_new(before: Hold | None, found: Hold | None) -> bool:
    """True if the finding needs a new report; the words of the same finding may differ at each act."""
    return found is not None and (before is None or _kind_of(before) != _kind_of(found))


def _kind_of(found: Hold) -> tuple[str, bool]:
    return found.reason, bool(found.request_error)


def finding(before: Hold | None, hold: Hold | None) -> Hold | None:
    """The latest finding after an act that `hold` stopped, or nothing did; `before` is the earlier one."""
    if hold is None or hold.reason in _FOUND or hold.request_error:
        return hold
    return before
