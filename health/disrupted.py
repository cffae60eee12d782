"""Disrupted: what an incident does once its target was deleted or marked: it waits, and does nothing twice.

A Machine that was deleted may hang on finalizers for an hour; what its Node says meanwhile changes nothing.
A mark is for another controller, which takes it off in the end; until the detector sees it nothing is marked
again, or a late sight would make a loop of that. A request is kept while its target is neither unhealthy nor
fit, as a Machine is that has no Node, or that is going (A.2.6).
"""

from datetime import datetime

from health.memory import SEEN_AFTER, Memory
from health.moves import Move, Phase, Renew
from health.observation import Observation, TargetState
from health.references import Action
from health.resting import rest, seconds_until


def is_disrupted(seen: Observation, memory: Memory) -> bool:
    """Whether nothing is left to do to the target but to wait."""
    return memory.has_deleted or bool(seen.under_way) or _is_mark_unseen(seen, memory)


def _is_mark_unseen(seen: Observation, memory: Memory) -> bool:
    marks = any(step.action is Action.MARK for step in seen.steps)
    return memory.marked_at is not None and marks and not seen.under_way


def is_in_between(seen: Observation, memory: Memory) -> bool:
    """Whether a target that is not unhealthy is not yet as it ought to be."""
    return seen.state is TargetState.HEALTHY and (
        memory.has_deleted or bool(seen.requests and not seen.is_fit)
    )


def disrupted(seen: Observation, memory: Memory, now: datetime) -> Move:
    """Wait, and keep the Lease meanwhile."""
    details = f"{seen.reason}; {_why(seen, memory)}"
    patience = _patience(seen, memory, now)
    if not memory.may_hold_lease:
        return rest(Phase.REMEDIATING, details, patience)
    renewal = seconds_until(memory.renew_at, now)
    if not renewal:
        return Renew(Phase.REMEDIATING, details)
    return rest(Phase.REMEDIATING, details, renewal, patience)


def _patience(seen: Observation, memory: Memory, now: datetime) -> float | None:
    """How long the mark may still go unseen; None: it is seen, or there is none."""
    if memory.marked_at is None or not _is_mark_unseen(seen, memory):
        return None
    return seconds_until(memory.marked_at + SEEN_AFTER, now)


def _why(seen: Observation, memory: Memory) -> str:
    if seen.under_way:
        return seen.under_way
    if memory.has_deleted:
        return "it was deleted, and is not gone yet"
    if _is_mark_unseen(seen, memory):
        return "it was marked, and is not seen to be yet"
    return "but it does not count as healthy yet"
