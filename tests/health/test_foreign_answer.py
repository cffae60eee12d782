"""An answer of a detector of another version, as it comes over the wire: what is not understood holds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.moves import TakeStep, Wait
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import Action
from health.runbook.decide import next_move
from health.runbook.state import Memory
from objects.frozen import OTHER, label
from tests.support.values.builders import NOW, fact, seen

ADMITTED = seen(reason="Ready is Unknown", fact=fact(), answered_at=NOW)
QUARANTINE = {"reason": "Quarantine", "message": "rack 7 is quarantined", "ask_again_seconds": 60.0}
WORDS = st.text(min_size=1).filter(lambda word: word not in {*TargetState, *HoldReason, *Action})


def received(**changed: Any) -> Observation:
    """An admission of another version, with a further field, as this version decodes it."""
    wire = ADMITTED.model_dump(mode="json") | changed
    return Observation.model_validate_json(json.dumps(wire))


def with_action(action: object) -> list[dict[str, Any]]:
    (first, *others) = ADMITTED.model_dump(mode="json")["steps"]
    return [first, *({**step, "action": action} for step in [*others, first])]


def test_admission_of_this_version_is_acted_on() -> None:
    assert isinstance(next_move(received(), Memory(), NOW), TakeStep)


def test_hold_for_a_reason_that_is_not_known_holds_and_is_shown() -> None:
    observation = received(hold=QUARANTINE)
    assert str(observation.hold) == "Quarantine: rack 7 is quarantined"
    move = next_move(observation, Memory(), NOW)
    assert isinstance(move, Wait)
    assert "Quarantine: rack 7 is quarantined" in str(move.details)


def test_state_that_is_not_known_is_none() -> None:
    observation = received(state="Hibernating")
    assert observation.state is TargetState.UNKNOWN
    assert observation.hold is not None
    assert observation.hold.reason is HoldReason.OTHER_VERSION
    assert "the state Hibernating of the target is not known here" in observation.hold.message


def test_action_that_is_not_known_holds_the_incident() -> None:
    observation = received(steps=with_action("Drain"))
    assert observation.state is TargetState.EXPIRED
    assert observation.hold is not None
    assert observation.hold.reason is HoldReason.OTHER_VERSION
    assert "the action Drain of a step is not known here" in observation.hold.message


def test_hold_that_the_detector_gave_is_kept() -> None:
    hold = received(steps=with_action("Drain"), hold=QUARANTINE).hold
    assert hold is not None
    assert hold.reason == "Quarantine"


@given(WORDS)
def test_no_word_of_another_version_is_an_admission(word: str) -> None:
    hold = QUARANTINE | {"reason": word}
    for observation in (received(state=word), received(steps=with_action(word)), received(hold=hold)):
        assert not observation.is_admitted
        assert isinstance(next_move(observation, Memory(), NOW), Wait)
        assert Observation.model_validate_json(observation.model_dump_json()) == observation


@pytest.mark.parametrize("steps", [None, [None], "x", [{"action": 7}]])
def test_undecodable_answer_is_refused(steps: object) -> None:
    with pytest.raises(ValueError, match="steps"):
        received(steps=steps)


def test_reasons_that_are_not_known_are_one_label_of_a_metric() -> None:
    assert label(HoldReason.STORM, HoldReason) == "Storm"
    assert label("Quarantine", HoldReason) == OTHER


def test_hold_keeps_its_reason_on_the_way() -> None:
    hold = Hold(reason="Quarantine", message="")
    assert Hold.model_validate_json(hold.model_dump_json()) == hold
    assert Hold.model_validate_json('{"reason": "Storm", "message": ""}').reason is HoldReason.STORM
