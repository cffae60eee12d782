"""ClockSkew: with a wrong clock no deadline can be judged (rule 3).

The detector judges deadlines by its own clock, and they begin with timestamps of the API server's side (rule
41). Clock and API server are compared: a difference over 5 s is a warning; over 30 s each answer that
depends on time is a hold. Targets that are healthy, gone or released do not depend on time and are cleaned
up, except a healthy target whose recovery is still to be proven. Temporal's clock is compared too: an
incident measures the time of a step by it, and with Temporal ahead each step would time out at once. No
component notices when Temporal's clock is right again, so incidents ask again after a minute.

A clock that was set back is a hold of its own, even if it is right now: earlier decisions used another time,
and a second jump is likely. The hold ends when the clock ran for 30 s without another jump and was compared
with an answer of the API server since. Decisions made by the wrong time do not survive: each question is
answered afresh, and an admission is used within seconds or not at all.

The clock of a workload cluster stamps the conditions of its Nodes, which are judged by the management
cluster's clock. A difference over 30 s holds the checks of that workload cluster.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from health.model.observation import Hold, HoldReason, Observation, TargetState
from objects.durations import in_words

WARNED = timedelta(seconds=5)
HELD = timedelta(seconds=30)
STEADY = timedelta(seconds=30)
"""How long a clock that was set back must run without another jump."""
ASK_AGAIN_SECONDS = 60.0
"""All incidents are woken when the detector's clock is right again, but not when Temporal's is."""


@dataclass(frozen=True)
class ClockReading:
    """The detector's clock beside the API server's, at one moment."""

    skew: timedelta | None = None
    """How far the detector's clock is ahead; negative: behind, None: the API server's time is unknown."""
    age: timedelta | None = None
    """Time since the API server's last timestamp; None: there was none."""
    set_back: timedelta = timedelta(0)
    """How far the clock was set back the last time."""
    set_back_age: timedelta | None = None
    """Time since then; None: it never was."""


def clock_hold(reading: ClockReading) -> Hold | None:
    """The hold while no deadline can be judged; None otherwise."""
    message, set_back = _skewed(reading, HELD), reading.set_back_age
    is_compared = set_back is not None and (reading.age is None or reading.age < set_back)
    if message is None and set_back is not None and (set_back < STEADY or not is_compared):
        by, ago, steady = in_words(reading.set_back), in_words(set_back), in_words(STEADY)
        message = f"the detector's clock was set back by {by}, {ago} ago, and has to run {steady} steadily"
    return None if message is None else _hold(message)


def by_temporals_clock(observation: Observation, answered: datetime) -> Observation:
    """`observation` by the API server's clock, as answered at `answered` by Temporal's clock.

    The state becomes Unknown if the two differ too much, because an incident compares times of both.
    """
    # The incident may count a healthy target as unhealthy, and let its steps time out (ADR 38).
    is_proof_asked = observation.proven_recovery_seconds > 0 and not observation.is_confirmed
    may_be_unproven = observation.state is TargetState.HEALTHY and is_proof_asked and observation.requests
    if observation.seen_at is None or not (observation.is_unhealthy or may_be_unproven):
        return observation
    skew = answered - observation.seen_at
    if abs(skew) <= HELD:
        return observation
    return Observation(
        state=TargetState.UNKNOWN,
        reason=observation.subject,
        hold=_hold(f"Temporal's clock is {skew_in_words(skew)}, more than {in_words(HELD)}"),
        requests=observation.requests,
        is_shadow=observation.is_shadow,
        seen_at=observation.seen_at,
    )


def workload_skew(known: timedelta | None, last: timedelta | None) -> timedelta | None:
    """How far a workload cluster's clock is ahead of the management cluster's, if too far.

    `known` is the skew now, None if unknown; `last` is the last reported one. An unknown skew keeps the last
    report, and small changes are not reported.
    """
    if known is None:
        return last
    if abs(known) <= HELD:
        return None
    return known if last is None or abs(known - last) > WARNED else last


def workload_clock_hold(cluster: str, skew: timedelta) -> Hold:
    """The hold while conditions of Nodes of a workload cluster cannot be judged by time."""
    return _hold(
        f"the clock of the workload cluster {cluster} is {_apart(skew)} the management cluster's, "
        f"more than {in_words(HELD)}"
    )


def clock_warning(reading: ClockReading) -> str | None:
    """A warning about a skew that does not hold yet; None without one."""
    return _skewed(reading, WARNED)


def skew_in_words(skew: timedelta) -> str:
    """`skew` in words: "40s ahead of the API server's"."""
    return f"{_apart(skew)} the API server's"


def _apart(skew: timedelta) -> str:
    return f"{in_words(abs(skew))} {'ahead of' if skew > timedelta(0) else 'behind'}"


def _hold(message: str) -> Hold:
    return Hold(reason=HoldReason.CLOCK_SKEW, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)


def _skewed(reading: ClockReading, limit: timedelta) -> str | None:
    if reading.skew is None or abs(reading.skew) <= limit:
        return None
    return f"the detector's clock is {skew_in_words(reading.skew)}, more than {in_words(limit)}"
