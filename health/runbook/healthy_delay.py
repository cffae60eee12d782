"""HealthyDelay: how long the requests of a recovered target are kept, and what is done meanwhile.

Rule (NHC 2.6, rule 19): without a delay, or with zero, the requests are deleted at once; with a negative
delay they stay until a person confirms that the target is healthy; otherwise they are deleted when the
target has been healthy for that long. The time counts from the latest recovery: a target that fails again
starts over. A changed delay applies at once. The confirmation overrides any delay. Meanwhile the requests
are annotated with the time of recovery, requests of another operator are adopted, old ones are flagged, and
the Lease is renewed.

A recovery that must be proven (`health.runbook.proven_recovery`) keeps the requests in the same way, for the
longer of both times and without an annotation. Without requests the incident waits for the target.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from health.model.details import Details
from health.model.moves import (
    AnnotateRequests,
    AnnotationPatch,
    Move,
    NextTransition,
    Phase,
    RenewLease,
    Until,
)
from health.model.observation import Observation, TargetState
from health.model.request_snapshot import RequestSnapshot
from health.runbook.annotations import adopted, grows_old_at, healthy, old
from health.runbook.chores import Chore, is_put_off
from health.runbook.memory import Memory
from health.runbook.proven_recovery import lasting_words, proven_at
from health.runbook.waiting import chore, wait
from objects.durations import in_words

CONFIRMED = NextTransition(what="when a person confirms that it is healthy")


@dataclass(frozen=True)
class Delay:
    """The delay of the check, and whether a person confirmed the target as healthy."""

    seconds: float
    is_confirmed: bool = False

    @classmethod
    def of(cls, seen: Observation) -> Self:
        """The delay of the check at this observation."""
        return cls(seen.healthy_delay_seconds, seen.is_confirmed)

    @property
    def keeps_requests(self) -> bool:
        """True if the requests of a healthy target are kept at all."""
        return self.seconds != 0 and not self.is_confirmed

    @property
    def is_for_good(self) -> bool:
        """True if only a person ends the delay."""
        return self.keeps_requests and self.seconds < 0

    def is_running(self, request: RequestSnapshot, now: datetime) -> bool:
        """True if `request` is to be kept at `now`."""
        if not self.keeps_requests:
            return False
        return self.is_for_good or request.healthy_since is None or now < self._end(request.healthy_since)

    def remaining(self, request: RequestSnapshot, now: datetime) -> timedelta | None:
        """How long `request` is still kept; None: until a person confirms."""
        if self.is_for_good:
            return None
        since = request.healthy_since or now
        return max(timedelta(), self._end(since) - now)

    def _end(self, since: datetime) -> datetime:
        return since + timedelta(seconds=self.seconds)

    def __str__(self) -> str:
        if self.is_for_good:
            return "healthyDelay is negative: kept until a person confirms that it is healthy"
        return f"healthyDelay of {in_words(timedelta(seconds=self.seconds))}"


def delaying(seen: Observation, memory: Memory, now: datetime) -> Move | None:
    """The move while a healthyDelay runs or a recovery is being proven; None otherwise."""
    delay, lease, proven = Delay.of(seen), memory.lease, proven_at(seen, memory, now)
    there = [one for one in seen.requests if not one.is_being_deleted]
    kept = [one for one in there if proven is not None or delay.is_running(one, now)]
    is_awaited = bool(kept) or (proven is not None and not seen.requests)
    if seen.state is not TargetState.HEALTHY or not is_awaited:
        return None
    chores = [chore(grows_old_at(one, now)) for one in kept]
    renewal = lease.renew_at if lease.may_be_held and (kept or seen.is_marked) else None
    lasting = "" if proven is None else lasting_words(seen, memory, now)
    details, ends = _details(delay, seen, lasting, now), _end(delay, kept, proven, now)
    waiting = wait(Phase.HEALTHY_DELAY, details, now, ends, chore(renewal), *chores, otherwise=CONFIRMED)
    if patches := _patches(delay, kept, memory, now):
        return AnnotateRequests(patches, waiting.phase, details, waiting.next_transition)
    if renewal is not None and now >= renewal:
        return RenewLease(waiting.phase, details, waiting.next_transition)
    return waiting


def _details(delay: Delay, seen: Observation, lasting: str, now: datetime) -> Details:
    is_kept = any(delay.is_running(one, now) for one in seen.requests)
    details = seen.details(*((str(delay),) if is_kept else ()))
    return details.model_copy(update={"reason": lasting}) if lasting else details


def _patches(
    delay: Delay, kept: list[RequestSnapshot], memory: Memory, now: datetime
) -> tuple[AnnotationPatch, ...]:
    is_stamped = delay.keeps_requests and not delay.is_for_good
    since = (healthy(one, now) for one in kept) if is_stamped else ()
    of_each = (patch for one in kept for patch in (adopted(one), old(one, now)))
    due = (patch for patch in (*since, *of_each) if patch is not None)
    return tuple(one for one in due if not is_put_off(memory.notes, Chore.ANNOTATE, one.subject, now))


def _end(delay: Delay, kept: list[RequestSnapshot], proven: datetime | None, now: datetime) -> Until | None:
    """When both have ended; None: not before a person confirms."""
    if kept and delay.is_for_good:
        return None
    left = [rest for one in kept if delay.keeps_requests and (rest := delay.remaining(one, now)) is not None]
    delayed = now + max(left, default=timedelta())
    then = ", and the requests are deleted" if kept else ""
    if proven is not None and proven >= delayed:
        return Until(proven, f"its recovery is proven{then}")
    return Until(delayed, f"healthyDelay ends{then}")
