"""The phase of an open incident, derived from the answers that it got."""

import pytest

from detector.metrics.live_metrics import ObservedPhase, observed_hold, observed_phase
from health.model.approval import Progress
from health.model.moves import Phase
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import Step
from tests.support.values import proving
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    MINUTE,
    NOW,
    REBOOT,
    SECOND,
    THIRD,
    classic,
    request_of,
    request_snapshot,
    seen,
    with_steps_tried,
)
from tests.support.values.memories import ACTED, move

HOLD = Hold(reason=HoldReason.THRESHOLD, message="too many")
AT_WORK = request_of(SECOND)
ANOTHER = Step(template=REBOOT.model_copy(update={"name": "another"}), timeout_seconds=60)
TRIED = with_steps_tried(*ESCALATION)
TIMED_OUT = request_of(THIRD, 11 * MINUTE)
"""Its step has a timeout of ten minutes."""
AS_THE_RUNBOOK_SAYS = {
    Phase.WAITING: ObservedPhase.WAITING,
    Phase.HELD: ObservedPhase.HELD,
    Phase.ACTING: ObservedPhase.ADMITTED,
    Phase.EXHAUSTED: ObservedPhase.EXHAUSTED,
}


def told(state: TargetState, *, held: bool = False, requested: bool = False) -> Observation:
    requests = (request_snapshot(),) if requested else ()
    return Observation(state=state, reason="so it is", hold=HOLD if held else None, requests=requests)


@pytest.mark.parametrize(
    ("observation", "phase"),
    [
        (None, ObservedPhase.UNKNOWN),
        (told(TargetState.WAITING), ObservedPhase.WAITING),
        (told(TargetState.EXPIRED), ObservedPhase.ADMITTED),
        (told(TargetState.EXPIRED, held=True), ObservedPhase.HELD),
        (told(TargetState.UNKNOWN, held=True), ObservedPhase.HELD),
        (told(TargetState.EXPIRED, requested=True), ObservedPhase.REQUESTED),
        (told(TargetState.UNKNOWN, held=True, requested=True), ObservedPhase.REQUESTED),
        (told(TargetState.HEALTHY, requested=True), ObservedPhase.CLEANING_UP),
        (told(TargetState.GONE, requested=True), ObservedPhase.CLEANING_UP),
        (told(TargetState.HEALTHY), None),
        (told(TargetState.RELEASED), None),
        (seen(under_way="worker-1 is being deleted"), ObservedPhase.UNDER_WAY),
        (seen(under_way="worker-1 is marked for its owner", hold=HOLD), ObservedPhase.UNDER_WAY),
        (seen(*with_steps_tried(FIRST), AT_WORK), ObservedPhase.REQUESTED),
        (seen(*TRIED, state=TargetState.HEALTHY), ObservedPhase.CLEANING_UP),
        (seen(*TRIED, state=TargetState.UNKNOWN), ObservedPhase.REQUESTED),
        (classic(request_of(FIRST, succeeded=False)), ObservedPhase.REQUESTED),
    ],
)
def test_phase_follows_from_what_was_reported(
    observation: Observation | None, phase: ObservedPhase | None
) -> None:
    assert observed_phase(observation, NOW) is phase


@pytest.mark.parametrize(
    ("observation", "phase"),
    [
        pytest.param(seen(*TRIED), ObservedPhase.EXHAUSTED, id="every step failed"),
        pytest.param(seen(*TRIED, hold=HOLD), ObservedPhase.EXHAUSTED, id="and it is held, too"),
        pytest.param(seen(*TRIED[:2], TIMED_OUT), ObservedPhase.EXHAUSTED, id="the last one by its timeout"),
        pytest.param(
            classic(request_of(FIRST, timed_out_at=NOW)),
            ObservedPhase.EXHAUSTED,
            id="the only one is overdue",
        ),
        pytest.param(seen(*TRIED[:2]), ObservedPhase.ADMITTED, id="the next step is due"),
        pytest.param(seen(*TRIED[:2], hold=HOLD), ObservedPhase.HELD, id="the next step is held"),
        pytest.param(seen(*TRIED[:2], state=TargetState.WAITING), ObservedPhase.WAITING, id="a timer runs"),
    ],
)
def test_steps_that_were_tried_in_vain_leave_what_the_runbook_says_is_left(
    observation: Observation, phase: ObservedPhase
) -> None:
    assert observed_phase(observation, NOW) is phase
    assert AS_THE_RUNBOOK_SAYS[move(observation, ACTED).phase] is phase


@pytest.mark.parametrize(
    ("observation", "phase"),
    [
        pytest.param(seen(), ObservedPhase.EXHAUSTED, id="no step is left"),
        pytest.param(seen(hold=HOLD), ObservedPhase.EXHAUSTED, id="and it is held, too"),
        pytest.param(seen(state=TargetState.WAITING), ObservedPhase.WAITING, id="its duration runs"),
        pytest.param(seen(state=TargetState.HEALTHY), None, id="it recovered"),
        pytest.param(seen(steps=(*ESCALATION, CLASSIC[0])), ObservedPhase.EXHAUSTED, id="by its template"),
        pytest.param(seen(steps=(ANOTHER, *ESCALATION)), ObservedPhase.ADMITTED, id="a step is left"),
        pytest.param(seen(steps=(ANOTHER, *ESCALATION), hold=HOLD), ObservedPhase.HELD, id="it is held"),
    ],
)
def test_steps_that_an_incident_reports_as_tried_leave_the_same(
    observation: Observation, phase: ObservedPhase
) -> None:
    progress = Progress(spent=tuple(step.template for step in ESCALATION))
    assert observed_phase(observation, NOW, progress) is phase
    assert (observed_hold(observation, NOW, progress) is not None) is (phase is ObservedPhase.HELD)


def test_step_that_has_time_left_is_not_over_before_that() -> None:
    last = seen(*TRIED[:2], TIMED_OUT)
    assert observed_phase(last, NOW - 2 * MINUTE) is ObservedPhase.REQUESTED
    assert observed_phase(last, NOW) is ObservedPhase.EXHAUSTED


def test_threshold_that_is_broken_while_a_timer_runs_holds_no_target_yet() -> None:
    waiting = told(TargetState.WAITING, held=True)
    assert observed_phase(waiting, NOW) is ObservedPhase.WAITING
    assert observed_hold(waiting, NOW) is None


def test_only_what_is_held_has_a_reason() -> None:
    assert observed_hold(told(TargetState.EXPIRED, held=True), NOW) is HoldReason.THRESHOLD
    assert observed_hold(seen(*TRIED[:2], hold=HOLD), NOW) is HoldReason.THRESHOLD
    assert observed_hold(told(TargetState.EXPIRED, held=True, requested=True), NOW) is None
    assert observed_hold(told(TargetState.EXPIRED), NOW) is None
    assert observed_hold(None, NOW) is None


def test_incident_whose_target_did_not_boot_stands_where_an_unhealthy_one_would() -> None:
    tried = [one.model_copy(update={"boot_id": proving.OLD}) for one in TRIED]
    assert observed_phase(proving.healthy(proving.MADE, boot_id=proving.OLD), NOW) is ObservedPhase.REQUESTED
    assert observed_phase(proving.healthy(*tried, boot_id=proving.OLD), NOW) is ObservedPhase.EXHAUSTED
    next_step = proving.healthy(tried[0], boot_id=proving.OLD, hold=HOLD)
    assert observed_phase(next_step, NOW) is ObservedPhase.HELD
    assert observed_hold(next_step, NOW) == "Threshold"
    assert observed_phase(proving.healthy(proving.MADE), NOW) is ObservedPhase.CLEANING_UP
    assert observed_phase(proving.healthy(), NOW) is None
