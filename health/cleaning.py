"""Cleaning: how an incident removes what it made, and waits for what cannot go yet. Pure.

Everything is deleted by itself: what hangs on a finalizer or fails keeps nothing else. While a request is
there its remediator may be at work, so the Lease of the target stays until it runs out; it is not renewed for
a target that nobody remediates any more (semantics 2.6). What remains is tried again when the detector sees
other requests than before, each minute where a finalizer keeps it, and by its back-off where it failed.
"""

from datetime import datetime

from health.chores import Chore
from health.memory import Memory
from health.moves import CleanUp, Phase, Rest
from health.observation import Observation, TargetState
from health.resting import rest, seconds_until


def cleaning(seen: Observation, memory: Memory, now: datetime, details: str) -> CleanUp | Rest:
    """Clean up now, or wait until that is tried again."""
    if _is_due(seen, memory, now):
        return CleanUp(details)
    words = "; ".join(part for part in (details, _hanging(memory)) if part)
    return rest(Phase.CLEANING_UP, words, seconds_until(memory.clean_up_at, now))


def _is_due(seen: Observation, memory: Memory, now: datetime) -> bool:
    if memory.clean_up_at is None or now >= memory.clean_up_at:
        return True
    was_asked = seen.state is not TargetState.UNKNOWN or seen.hold is not None
    return was_asked and memory.cleaned_up != tuple(sorted(one.uid for one in seen.requests))


def _hanging(memory: Memory) -> str:
    failed = {note.subject for note in memory.notes if note.chore is Chore.CLEAN_UP}
    hanging = [str(one) for one in memory.requests if one.uid not in failed]
    return f"{', '.join(hanging)} hangs on a finalizer" if hanging else ""
