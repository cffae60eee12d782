"""ProvenRecovery: whether a target that is healthy after a step counts as recovered. Pure (ADR 38).

This applies if the check requires it, once a step was taken, and without an abort, a person's confirmation
or shadow. The first row that matches wins:

| its boot ID                         | it counts as recovered                         | until then          |
|-------------------------------------|------------------------------------------------|---------------------|
| is that from before the first step  | never                                          | it is unhealthy     |
| is another one                      | when it is healthy for the time, without a gap | requests are kept   |
| is unknown, now or before           | the same: only the time counts                 | requests are kept   |

A target that counts as unhealthy follows the rest of the runbook: its step runs until its timeout, then comes
the next one, and after the last one the incident waits for `resume`. While requests are kept no step times
out; if the target fails again meanwhile, the age of its step has not changed.
"""

from datetime import datetime, timedelta

from health.model.observation import Observation, TargetState
from health.runbook.memory import Memory
from health.runbook.recovery_memory import RecoveryMemory
from objects.bounds import bounded_seconds
from objects.durations import in_words
from objects.timestamps import stamp


def with_proof(seen: Observation, memory: Memory) -> Observation:
    """The observation, in which a healthy target that did not boot counts as unhealthy."""
    if not _has_not_booted(seen, memory):
        return seen
    return seen.model_copy(update={"state": TargetState.EXPIRED, "reason": _same_boot(seen, memory)})


def with_proof_of_requests(seen: Observation) -> Observation:
    """The same without a memory: the oldest request counts as the first step."""
    first = min(seen.requests, key=lambda request: request.created, default=None)
    if first is None:
        return seen
    return with_proof(seen, Memory(recovery=RecoveryMemory(boot_id_before=first.boot_id)))


def proven_at(seen: Observation, memory: Memory, now: datetime) -> datetime | None:
    """When time alone proves the recovery of a healthy target; None: it is proven, or not by time."""
    if not _is_asked(seen, memory) or _has_not_booted(seen, memory):
        return None
    at = (memory.recovery.healthy_since or now) + _time(seen)
    return at if at > now else None


def lasting_words(seen: Observation, memory: Memory, now: datetime) -> str:
    """The required time and its start, for a reader at any later time."""
    since = stamp(memory.recovery.healthy_since or now)
    return f"{_with_which_boot(seen, memory)} since {since}, proven after {in_words(_time(seen))}"


def words(seen: Observation, memory: Memory, now: datetime) -> str:
    """The progress of the proof at `now`; "": it is complete, or not running."""
    if proven_at(seen, memory, now) is None:
        return ""
    lasted = in_words(now - (memory.recovery.healthy_since or now))
    return f"{_with_which_boot(seen, memory)} for {lasted} of {in_words(_time(seen))}"


def _is_asked(seen: Observation, memory: Memory) -> bool:
    is_owed = seen.proven_recovery_seconds > 0 and memory.recovery.boot_id_before is not None
    is_let_off = seen.is_confirmed or memory.left_alone is not None or memory.is_shadow
    is_let_off = is_let_off or _is_begun_anew(seen, memory)
    return seen.state is TargetState.HEALTHY and is_owed and not is_let_off


def _is_begun_anew(seen: Observation, memory: Memory) -> bool:
    """True if all is cleaned up for a restart: no act would take a step that the cluster does not show."""
    return memory.starts_over is not None and not memory.owns_something and not seen.requests


def _has_not_booted(seen: Observation, memory: Memory) -> bool:
    return _is_asked(seen, memory) and bool(seen.boot_id) and seen.boot_id == memory.recovery.boot_id_before


def _same_boot(seen: Observation, memory: Memory) -> str:
    since = memory.recovery.healthy_since
    when = f" since {stamp(since)}" if since else ""
    return f"healthy{when}, but its boot ID {seen.boot_id} is the same as before the step"


def _with_which_boot(seen: Observation, memory: Memory) -> str:
    if not seen.boot_id:
        return "healthy, with no boot ID to tell whether it booted,"
    if not memory.recovery.boot_id_before:
        return "healthy, with no boot ID known from before the step,"
    return "healthy with a new boot ID"


def _time(seen: Observation) -> timedelta:
    return timedelta(seconds=bounded_seconds(seen.proven_recovery_seconds))
