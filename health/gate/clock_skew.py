"""ClockSkew: with a wrong clock nothing can be said of a deadline (rule 3).

Deadlines are judged by the detector's clock, and begin with timestamps of the API server's side
(rule 41). So the two are compared: over 5 s is a warning, and over 30 s every answer that rests on time is a
hold. What is healthy, gone or released does not rest on it, and is cleaned up as ever; but for a healthy
target that has its recovery still to prove, which takes time.

Temporal's clock is a third one: by it an incident tells that a step is over, which began by the API server's.
So an answer is compared with it, too: with a Temporal that is ahead, each step would be over as it begins.
When that clock is right again nobody but the next question sees it: each incident asks again after a minute.

A clock that was set back is a hold of its own, however right it is now: what was judged right before was
judged by another time, and where something steps a clock once, a second step is likely. The hold ends when
the clock has run for 30 s without another step, and an answer of the API server since then could be compared
with it; from there on the skew alone counts. Nothing that was judged by the old time outlives that: what the
detector tells is judged anew by each question, and an admission is acted on within seconds or not at all.

Conditions of Nodes in a workload cluster are stamped by the clock of that one, and judged by the management
cluster's: where the two are over 30 s apart, what rests on time is a hold for the checks of that cluster.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from health.model.observation import Hold, HoldReason, Observation, TargetState
from objects.durations import in_words

WARNED = timedelta(seconds=5)
HELD = timedelta(seconds=30)
STEADY = timedelta(seconds=30)
"""How long a clock that was set back has to run without another step."""
ASK_AGAIN_SECONDS = 60.0
"""All are woken when the detector's clock is right again; nobody when Temporal's is."""


@dataclass(frozen=True)
class ClockReading:
    """The detector's clock beside the API server's, at one moment."""

    skew: timedelta | None = None
    """By how much it is ahead; negative where it is behind, None where the API server does not tell."""
    age: timedelta | None = None
    """How long ago the API server told its time last; None: never."""
    set_back: timedelta = timedelta(0)
    """By how much it was set back the last time."""
    set_back_age: timedelta | None = None
    """How long ago that was; None: never."""


def clock_hold(reading: ClockReading) -> Hold | None:
    """Why nothing that rests on time can be told; None where it can."""
    message = _skewed(reading, HELD) or _set_back(reading)
    return _hold(message) if message else None


def by_temporals_clock(seen: Observation, answered: datetime) -> Observation:
    """What was `seen`, by the API server's clock, as it is `answered` at that moment by Temporal's.

    Unknown where the two are apart: the incident compares times of the cluster with its own.
    """
    if seen.seen_at is None or not (seen.is_unhealthy or _may_count_as_unhealthy(seen)):
        return seen
    skew = answered - seen.seen_at
    if abs(skew) <= HELD:
        return seen
    return Observation(
        state=TargetState.UNKNOWN,
        reason=seen.subject,
        hold=_hold(f"Temporal's clock is {skew_in_words(skew)}, more than {in_words(HELD)}"),
        requests=seen.requests,
        is_shadow=seen.is_shadow,
        seen_at=seen.seen_at,
    )


def _may_count_as_unhealthy(seen: Observation) -> bool:
    """Whether a healthy target may be none to its incident, which lets steps time out then (ADR 38)."""
    is_proof_asked = seen.proven_recovery_seconds > 0 and not seen.is_confirmed
    return seen.state is TargetState.HEALTHY and is_proof_asked and bool(seen.requests)


def workload_skew(known: timedelta | None, told: timedelta | None) -> timedelta | None:
    """By how much a workload cluster's clock is ahead of the management cluster's, where that is too much.

    `known` is what both tell now, None where one tells nothing; `told` is what was said last. While nothing
    is known that goes on, and what moves by little is not told anew.
    """
    if known is None:
        return told
    if abs(known) <= HELD:
        return None
    return known if told is None or abs(known - told) > WARNED else told


def workload_clock_hold(cluster: str, skew: timedelta) -> Hold:
    """Why nothing that rests on time can be told of the Nodes of a workload cluster."""
    return _hold(
        f"the clock of the workload cluster {cluster} is {_apart(skew)} the management cluster's, "
        f"more than {in_words(HELD)}"
    )


def clock_warning(reading: ClockReading) -> str:
    """What is wrong with the clock that holds nothing yet; "" where nothing is."""
    return _skewed(reading, WARNED)


def skew_in_words(skew: timedelta) -> str:
    """`skew` for people: "40s ahead of the API server's"."""
    return f"{_apart(skew)} the API server's"


def _apart(skew: timedelta) -> str:
    return f"{in_words(abs(skew))} {'ahead of' if skew > timedelta(0) else 'behind'}"


def _hold(message: str) -> Hold:
    return Hold(reason=HoldReason.CLOCK_SKEW, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)


def _skewed(reading: ClockReading, limit: timedelta) -> str:
    if reading.skew is None or abs(reading.skew) <= limit:
        return ""
    return f"the detector's clock is {skew_in_words(reading.skew)}, more than {in_words(limit)}"


def _set_back(reading: ClockReading) -> str:
    if reading.set_back_age is None or _is_steady(reading, reading.set_back_age):
        return ""
    by, ago = in_words(reading.set_back), in_words(reading.set_back_age)
    return f"the detector's clock was set back by {by}, {ago} ago, and has to run {in_words(STEADY)} steadily"


def _is_steady(reading: ClockReading, set_back_age: timedelta) -> bool:
    is_compared = reading.age is None or reading.age < set_back_age
    return set_back_age >= STEADY and is_compared
