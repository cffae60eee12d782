"""The answer to a question: an admission only where the question asked for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.gate.admission import answered
from health.model.admission import Admission, Intent
from health.model.observation import NO_ADMISSION, Hold, HoldReason, Observation, TargetState
from tests.support.values.builders import HOLD, seen
from tests.support.values.proving import NEW, OLD, healthy

pytestmark = pytest.mark.rule("rule 49")

SLOT = Admission(policy_limits="maxInFlight=1")
FULL = Hold(reason=HoldReason.LIMIT, message="1 remediation is under way", ask_again_seconds=1800)
FULL_FOR_A_SECOND = FULL.model_copy(update={"ask_again_seconds": 1.0})
BACK_OFF = Hold(reason=HoldReason.BACK_OFF, message="due later")
WOULD, WOULD_NOT = Intent(), Intent(would_act=False)
SKIPS = Intent(skips_back_off=True)
RAW = seen(admission=None)


def unproven(boot: str) -> Observation:
    return healthy(boot_id=boot, admission=None)


def of(state: TargetState, hold: Hold | None = None) -> Observation:
    return seen(state=state, hold=hold, admission=None)


@pytest.mark.parametrize(
    ("observation", "intent", "answer"),
    [
        pytest.param(RAW, WOULD, RAW.admitted(SLOT), id="it asks to act"),
        pytest.param(RAW, WOULD_NOT, RAW.held_by(NO_ADMISSION), id="it does not ask to act"),
        pytest.param(seen(hold=HOLD), SKIPS, seen(hold=HOLD), id="something holds it"),
        pytest.param(seen(hold=FULL), WOULD, seen(hold=FULL), id="it waits for its turn"),
        pytest.param(
            seen(hold=FULL), WOULD_NOT, seen(hold=FULL_FOR_A_SECOND), id="it waits for no turn as it asks"
        ),
        pytest.param(seen(hold=BACK_OFF), WOULD, seen(hold=BACK_OFF), id="back-off holds it"),
        pytest.param(seen(hold=BACK_OFF), SKIPS, RAW.admitted(SLOT), id="a person skips the back-off"),
        pytest.param(
            seen(hold=BACK_OFF),
            Intent(would_act=False, skips_back_off=True),
            seen(hold=BACK_OFF),
            id="a person skips the back-off, and something else keeps it from acting",
        ),
        pytest.param(of(TargetState.WAITING), WOULD, of(TargetState.WAITING), id="a timer runs"),
        pytest.param(of(TargetState.GONE), WOULD, of(TargetState.GONE), id="it is gone"),
        pytest.param(
            unproven(OLD),
            Intent(unproven_boot=OLD),
            unproven(OLD).admitted(SLOT),
            id="healthy with its old boot",
        ),
        pytest.param(
            unproven(NEW),
            Intent(unproven_boot=OLD),
            unproven(NEW).held_by(NO_ADMISSION),
            id="healthy with another boot",
        ),
        pytest.param(
            unproven(OLD),
            WOULD,
            unproven(OLD).held_by(NO_ADMISSION),
            id="healthy, and its incident knows no boot before",
        ),
    ],
)
def test_answer(observation: Observation, intent: Intent, answer: Observation) -> None:
    assert answered(observation, intent, lambda: SLOT) == answer


def test_limit_that_is_reached_holds() -> None:
    assert answered(RAW, WOULD, lambda: FULL) == seen(hold=FULL)
    assert answered(seen(hold=BACK_OFF), SKIPS, lambda: FULL) == seen(hold=FULL)


OBSERVATIONS = st.builds(
    lambda state, hold, is_shadow, boot: unproven(boot).model_copy(
        update={"state": state, "hold": hold, "is_shadow": is_shadow}
    ),
    st.sampled_from(TargetState),
    st.sampled_from([None, HOLD, BACK_OFF, FULL]),
    st.sampled_from([None, False, True]),
    st.sampled_from(["", OLD, NEW]),
)
INTENTS = st.builds(Intent, would_act=st.booleans(), skips_back_off=st.booleans(), unproven_boot=st.just(OLD))


@given(OBSERVATIONS, INTENTS, st.sampled_from([SLOT, FULL]))
def test_admission_is_for_the_question_that_asked_and_never_beside_a_hold(
    observation: Observation, intent: Intent, outcome: Admission | Hold
) -> None:
    asked = 0

    def admit() -> Admission | Hold:
        nonlocal asked
        asked += 1
        return outcome

    answer = answered(observation, intent, admit)
    assert answer.is_admitted is (asked == 1 and outcome is SLOT)
    assert not (answer.is_admitted and (answer.hold or observation.is_shadow or not intent.would_act))


@pytest.mark.rule("rule 49/versions")
@given(OBSERVATIONS, INTENTS)
def test_worker_that_knows_no_admission_reads_a_hold_where_none_was_asked_for(
    observation: Observation, intent: Intent
) -> None:
    answer = answered(observation, intent, lambda: FULL)
    acts_by_an_older_version = answer.state is TargetState.EXPIRED and answer.hold is None
    assert not acts_by_an_older_version or answer.is_shadow


def test_answer_with_a_hold_and_an_admission_is_read_as_the_hold() -> None:
    wire = RAW.admitted(SLOT).model_dump(mode="json") | {"hold": HOLD.model_dump(mode="json")}
    assert Observation.model_validate(wire) == seen(hold=HOLD)


def test_admission_survives_the_way_through_temporal() -> None:
    answer = RAW.admitted(SLOT)
    assert Observation.model_validate_json(answer.model_dump_json()) == answer
