"""The possible observations of the one node of these tests."""

from datetime import UTC, datetime, timedelta

from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import Step
from tests.support.values.builders import fact, template

FIVE_MINUTES = timedelta(minutes=5)
FACT = fact(datetime(2025, 1, 1, tzinfo=UTC), "False")


def step(name: str, timeout_seconds: float | None = None) -> Step:
    return Step(template=template(name, namespace="ns"), timeout_seconds=timeout_seconds)


STEP = step("t")
FIRST, SECOND, THIRD = step("first", 300), step("second", 120), step("third", 600)
ESCALATION = (FIRST, SECOND, THIRD)


def waiting(remaining: timedelta = FIVE_MINUTES) -> Observation:
    seconds = remaining.total_seconds()
    return _unhealthy(TargetState.WAITING).model_copy(update={"remaining_seconds": seconds})


def expired() -> Observation:
    return _unhealthy(TargetState.EXPIRED)


def held(reason: HoldReason = HoldReason.THRESHOLD, again: timedelta = timedelta(minutes=30)) -> Observation:
    return expired().model_copy(update={"hold": hold(reason, again)})


def unknown(again: timedelta = timedelta(minutes=30)) -> Observation:
    observation = _ended(TargetState.UNKNOWN, "Node/node-1")
    return observation.model_copy(update={"hold": hold(HoldReason.STALE_CACHE, again)})


def healthy() -> Observation:
    return _ended(TargetState.HEALTHY, "Node/node-1 is healthy")


def recovered(delay: timedelta, *, is_confirmed: bool = False) -> Observation:
    """Healthy, under a check with a healthyDelay."""
    says = {"healthy_delay_seconds": delay.total_seconds(), "is_confirmed": is_confirmed}
    return healthy().model_copy(update=says)


def escalating(observation: Observation | None = None, *steps: Step) -> Observation:
    """An observation of a node whose check has several steps; by default the node is expired."""
    return (observation or expired()).model_copy(update={"steps": steps or ESCALATION})


def gone() -> Observation:
    return _ended(TargetState.GONE, "Node/node-1 is gone")


def replaced() -> Observation:
    other = _ended(TargetState.GONE, "Node/node-1 has another uid now")
    return other.model_copy(update={"is_replaced": True})


def released() -> Observation:
    return _ended(TargetState.RELEASED, "NodeHealthCheck/workers no longer selects Node/node-1")


def hold(reason: HoldReason, again: timedelta = timedelta(minutes=30)) -> Hold:
    return Hold(reason=reason, message="not now", ask_again_seconds=again.total_seconds())


def _unhealthy(state: TargetState) -> Observation:
    return Observation(
        state=state,
        subject="Node/node-1",
        reason="Ready is False",
        fact=FACT,
        deadline=FACT.since + FIVE_MINUTES,
        steps=(STEP,),
        generation=1,
    )


def _ended(state: TargetState, reason: str) -> Observation:
    return Observation(state=state, reason=reason)
