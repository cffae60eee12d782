"""WaitingIncident: how an incident waits: in which phase, with which words, and for how long at most."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from health.model.moves import Phase, Wait
from health.model.observation import Observation
from objects.durations import in_words

LONGEST_REST = timedelta(days=7)
"""A timer that is longer asks again in between: no clock is trusted with the centuries of a bad timestamp."""
A_HAIR = 0.001
"""What is over is strictly after its time."""


def seconds_until(time: datetime | None, now: datetime) -> float | None:
    """How long until `time`; None where there is none."""
    return None if time is None else soonest([(time - now).total_seconds()])


def seconds_until_after(time: datetime | None, now: datetime) -> float | None:
    """How long until just after `time`; None where there is none."""
    return None if time is None else max(0.0, (time - now).total_seconds()) + A_HAIR


def soonest(seconds: Iterable[float | None]) -> float:
    """The shortest of some waits, LONGEST_REST at the most; None is no wait."""
    return max(0.0, min([one for one in seconds if one is not None] + [LONGEST_REST.total_seconds()]))


def rest(phase: Phase, details: str, *waits: float | None) -> Wait:
    """Wait until the first of some waits is over."""
    return Wait(phase, details, soonest(waits))


def hold(seen: Observation) -> Wait:
    """Wait because the detector says no."""
    if seen.hold is None:
        return Wait(Phase.HELD, seen.reason)
    again = in_words(timedelta(seconds=seen.hold.ask_again_seconds))
    return rest(
        Phase.HELD, f"{seen.reason}; {seen.hold} (asks again in {again})", seen.hold.ask_again_seconds
    )
