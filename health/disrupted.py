"""Disrupted: what an incident does once its target was deleted or marked: it waits, and does nothing twice.

A Machine that was deleted may hang on finalizers for an hour; what its Node says meanwhile changes nothing.
A mark is for another controller, which takes it off in the end.
"""

from datetime import datetime

from health.memory import Memory
from health.moves import Move, Phase, Renew
from health.observation import Observation
from health.resting import rest, seconds_until


def is_disrupted(seen: Observation, memory: Memory) -> bool:
    """Whether nothing is left to do to the target but to wait."""
    return memory.has_deleted or bool(seen.under_way)


def disrupted(seen: Observation, memory: Memory, now: datetime) -> Move:
    """Wait, and keep the Lease meanwhile."""
    details = f"{seen.reason}; {seen.under_way or 'it was deleted, and is not gone yet'}"
    if not memory.may_hold_lease:
        return rest(Phase.REMEDIATING, details)
    renewal = seconds_until(memory.renew_at, now)
    return rest(Phase.REMEDIATING, details, renewal) if renewal else Renew(Phase.REMEDIATING, details)
