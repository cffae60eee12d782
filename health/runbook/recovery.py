"""Recovery: whether a healthy target counts as recovered, and how long its requests are kept. Pure.

Proof of recovery (ADR 38) applies if the check requires it, once a step was taken, and without an abort, a
person's confirmation or shadow. The first row that matches wins:

| its boot ID                         | it counts as recovered                         | until then          |
|-------------------------------------|------------------------------------------------|---------------------|
| is that from before the first step  | never                                          | it is unhealthy     |
| is another one                      | when it is healthy for the time, without a gap | requests are kept   |
| is unknown, now or before           | the same: only the time counts                 | requests are kept   |

A target that counts as unhealthy follows the rest of the runbook: its step runs until its timeout, then comes
the next one, and after the last one the incident waits for `resume`. While requests are kept no step times
out; if the target fails again meanwhile, the age of its step has not changed.

healthyDelay (NHC 2.6, rule 19): without a delay, or with zero, the requests are deleted at once; with a
negative delay they stay until a person confirms that the target is healthy; otherwise they are deleted when
the target has been healthy for that long. The time counts from the latest recovery: a target that fails again
starts over. A changed delay applies at once. The confirmation overrides any delay. Meanwhile the requests
are annotated with the time of recovery, requests of another operator are adopted, old ones are flagged, and
the Lease is renewed. A proof keeps the requests in the same way, for the longer of both times and without an
annotation. Without requests the incident waits for the target.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from health.model.boot import boot_id_of, is_same_boot
from health.model.observation import Observation, TargetState
from health.model.request_snapshot import RequestSnapshot
from health.runbook.by_order import without_ended_order
from health.runbook.memory_parts import RecoveryMemory
from health.runbook.state import Memory
from objects.bounds import bounded_seconds
from objects.durations import in_words
from objects.timestamps import stamp


def with_proof(observation: Observation, memory: Memory) -> Observation:
    """The observation, in which a healthy target that did not boot counts as unhealthy.

    A target that only an ended order makes unhealthy counts as healthy before.
    """
    observation = without_ended_order(observation, memory)
    if not _has_not_booted(observation, memory):
        return observation
    since, boot = memory.recovery.healthy_since, boot_id_of(observation.boot_id)
    when = f" since {stamp(since)}" if since else ""
    reason = f"healthy{when}, but its boot ID {boot} is the same as before the step"
    return observation.model_copy(update={"state": TargetState.EXPIRED, "reason": reason})


def with_proof_of_requests(observation: Observation) -> Observation:
    """The same without a memory: the oldest request counts as the first step."""
    first = min(observation.requests, key=lambda request: request.created, default=None)
    if first is None:
        return observation
    return with_proof(observation, Memory(recovery=RecoveryMemory(boot_id_before=first.boot_id)))


def proven_at(observation: Observation, memory: Memory, now: datetime) -> datetime | None:
    """When time alone proves the recovery of a healthy target; None: it is proven, or not by time."""
    if not _is_asked(observation, memory) or _has_not_booted(observation, memory):
        return None
    at = (memory.recovery.healthy_since or now) + _time(observation)
    return at if at > now else None


def lasting_words(observation: Observation, memory: Memory, now: datetime) -> str:
    """The required time and its start, for a reader at any later time."""
    since = stamp(memory.recovery.healthy_since or now)
    return (
        f"{_with_which_boot(observation, memory)} since {since}, proven after {in_words(_time(observation))}"
    )


def words(observation: Observation, memory: Memory, now: datetime) -> str:
    """The progress of the proof at `now`; "": it is complete, or not running."""
    if proven_at(observation, memory, now) is None:
        return ""
    lasted = in_words(now - (memory.recovery.healthy_since or now))
    return f"{_with_which_boot(observation, memory)} for {lasted} of {in_words(_time(observation))}"


def _is_asked(observation: Observation, memory: Memory) -> bool:
    is_owed = observation.proven_recovery_seconds > 0 and memory.recovery.boot_id_before is not None
    # All is cleaned up for a restart: no act would take a step that the cluster does not show.
    is_begun_anew = memory.starts_over and not memory.owns_something and not observation.requests
    is_let_off = observation.is_confirmed or memory.left_alone or memory.is_shadow or is_begun_anew
    return observation.state is TargetState.HEALTHY and is_owed and not is_let_off


def _has_not_booted(observation: Observation, memory: Memory) -> bool:
    before = memory.recovery.boot_id_before or ""
    return _is_asked(observation, memory) and is_same_boot(observation.boot_id, before)


def _with_which_boot(observation: Observation, memory: Memory) -> str:
    if not observation.boot_id:
        return "healthy, with no boot ID to tell whether it booted,"
    if not memory.recovery.boot_id_before:
        return "healthy, with no boot ID known from before the step,"
    return "healthy with a new boot ID"


def _time(observation: Observation) -> timedelta:
    return timedelta(seconds=bounded_seconds(observation.proven_recovery_seconds))


@dataclass(frozen=True)
class Delay:
    """The delay of the check, and whether a person confirmed the target as healthy."""

    seconds: float
    is_confirmed: bool = False

    @classmethod
    def of(cls, observation: Observation) -> Self:
        """The delay of the check at this observation."""
        return cls(observation.healthy_delay_seconds, observation.is_confirmed)

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
