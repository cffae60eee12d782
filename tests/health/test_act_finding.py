"""The finding of an act is reported while it is true; an unrelated hold does not hide it."""

import pytest

from health.model.observation import Hold, HoldReason, Observation, TargetState, failed
from health.model.references import Action, Step
from health.runbook.failures import finding
from health.runbook.learn import learned
from health.runbook.state import Memory
from tests.support.values.builders import NOW, request_snapshot

SILENT = {HoldReason.FAILED, HoldReason.NOT_TRUE, HoldReason.STALE_FACTS, HoldReason.STOPPED}
TOLD = {
    HoldReason.NO_CONTROLLER,
    HoldReason.TAKEN,
    HoldReason.TAKEN_BY_REQUEST,
    HoldReason.CONTROL_PLANE,
    HoldReason.EARLIER_REQUEST,
    HoldReason.TEMPLATE,
    HoldReason.REFUSED,
}
EARLIER = Hold(reason=HoldReason.CONTROL_PLANE, message="etcd")


@pytest.mark.parametrize("reason", sorted(TOLD))
def test_finding_of_an_act_replaces_the_one_before(reason: HoldReason) -> None:
    hold = Hold(reason=reason, message="now")
    assert finding(EARLIER, hold) == hold


@pytest.mark.parametrize("reason", sorted(SILENT))
def test_an_act_that_says_nothing_of_it_leaves_what_was_found_before(reason: HoldReason) -> None:
    assert finding(EARLIER, Hold(reason=reason, message="now")) == EARLIER
    assert finding(None, Hold(reason=reason, message="now")) is None


@pytest.mark.rule("rule 27")
def test_a_request_that_could_not_be_created_is_found_also_where_the_act_is_tried_again_at_once() -> None:
    hold = failed("500: the webhook is away").model_copy(update={"request_error": "500: the webhook is away"})
    assert finding(EARLIER, hold) == hold


def test_nothing_is_found_after_an_act_that_did_its_step() -> None:
    found = Memory(found=EARLIER)
    seen = Observation(state=TargetState.EXPIRED, reason="")
    assert found.after_request(Step(), request_snapshot(), NOW, NOW).found is None
    assert found.after_disruption(Step(action=Action.DELETE), seen, NOW, NOW).found is None


@pytest.mark.parametrize("state", TargetState)
def test_finding_is_kept_while_the_target_is_unhealthy_or_unknown(state: TargetState) -> None:
    memory = learned(Memory(found=EARLIER), Observation(state=state, reason=""), NOW)
    is_kept = state in (TargetState.EXPIRED, TargetState.UNKNOWN)
    assert memory.found == (EARLIER if is_kept else None)
