"""Each field of Observation declares whether its change wakes the incident, and needs_wake_up keeps to it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.admission import Admission
from health.model.annotations import AnnotatedAnswer
from health.model.approval import RequiredApproval
from health.model.evidence import EvidenceStore
from health.model.notification import DEFAULT_EVENTS, WantedEvents
from health.model.observation import HoldReason, Observation, TargetState
from health.model.wake_rule import WakeRule, wake_rules
from health.runbook.wake_up import NAMED_RULES, needs_wake_up
from objects.frozen import Frozen
from tests.health.test_totality import OBSERVATIONS, REQUEST_SNAPSHOTS
from tests.support.values.builders import ESCALATION, HOLD, NOW, fact, request_snapshot
from tests.support.values.extremes import TEXTS, TIMES, sometimes
from tests.support.values.remediation_orders import ORDER

ANSWER = AnnotatedAnswer(is_approval=True, question="1f0c93ab", place="it")

RULES = wake_rules(Observation)
SILENT = [field for field, rules in RULES.items() if rules == (WakeRule.NEVER,)]
WANTED = WantedEvents(receiver="oncall", events=DEFAULT_EVENTS, held_for_seconds=1800)
LATER = NOW + timedelta(minutes=1)
MORE: dict[str, st.SearchStrategy[Any]] = {
    "subject": TEXTS,
    "admission": sometimes(st.builds(Admission)),
    "requests": st.lists(REQUEST_SNAPSHOTS, max_size=2, unique_by=lambda one: one.uid).map(tuple),
    "generation": st.integers(0, 1),
    "replaced_by": TEXTS,
    "templates": st.sampled_from(["a", "b"]),
    "is_shadow": sometimes(st.booleans()),
    "approval": sometimes(st.builds(RequiredApproval, steps=st.sampled_from([(0,), (1,)]))),
    "evidence": sometimes(st.sampled_from(EvidenceStore)),
    "answers": st.sampled_from([(), (ANSWER,)]),
    "order": sometimes(st.just(ORDER)),
    "notifies": st.sampled_from([(), (WANTED,)]),
    "seen_at": sometimes(TIMES),
}
WHOLE = st.builds(
    lambda observation, more: observation.model_copy(update=more), OBSERVATIONS, st.fixed_dictionaries(MORE)
)
PROVING: Mapping[str, Any] = {"state": TargetState.HEALTHY, "proven_recovery_seconds": 60.0}
CHANGES: Mapping[str, tuple[Mapping[str, Any], Any]] = {
    "state": ({}, TargetState.HEALTHY),
    "fact": ({"fact": fact()}, fact(LATER)),
    "hold": ({"hold": HOLD}, None),
    "under_way": ({"under_way": "a reboot"}, ""),
    "requests": ({"requests": (request_snapshot(),)}, ()),
    "lease_acquired_at": ({"lease_acquired_at": NOW}, LATER),
    "is_replaced": ({"state": TargetState.GONE}, True),
    "counts_as_healthy": ({}, False),
    "is_confirmed": ({}, True),
    "generation": ({}, 2),
    "templates": ({"templates": "a"}, "b"),
    "proven_recovery_seconds": ({}, 60.0),
    "boot_id": ({**PROVING, "boot_id": "a"}, "b"),
    "last_transition": ({**PROVING, "last_transition": NOW}, LATER),
    "is_shadow": ({}, True),
    "order": ({}, ORDER),
    "answers": ({}, (ANSWER,)),
    "approval": ({"steps": ESCALATION}, RequiredApproval(steps=(0,))),
    "notifies": ({}, (WANTED,)),
}
"""For each field that may wake: the other fields, and a change of this field alone that wakes."""


class _Answer(Frozen):
    declared: Annotated[int, WakeRule.ON_CHANGE] = 0
    forgotten: int = 0


def test_each_field_of_an_observation_declares_its_wake_rule() -> None:
    assert set(RULES) == set(Observation.model_fields)
    assert all(rules == (WakeRule.NEVER,) or WakeRule.NEVER not in rules for rules in RULES.values())


def test_a_field_without_a_wake_rule_is_refused_by_its_name() -> None:
    with pytest.raises(TypeError, match=r"^_Answer: no WakeRule for forgotten$"):
        wake_rules(_Answer)


def test_each_wake_rule_has_a_function_and_a_field_that_declares_it() -> None:
    assert set(NAMED_RULES) == set(WakeRule) - {WakeRule.NEVER, WakeRule.ON_CHANGE}
    assert {rule for rules in RULES.values() for rule in rules} == set(WakeRule)


def test_each_field_is_either_silent_or_has_a_change_that_wakes() -> None:
    assert {*SILENT, *CHANGES} == set(RULES)


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_of_a_waking_field_alone_wakes_the_incident(field: str) -> None:
    others, changed = CHANGES[field]
    last = Observation.model_validate({"state": TargetState.EXPIRED, "reason": "", **others})

    assert needs_wake_up(last, last.model_copy(update={field: changed}))


@given(WHOLE, WHOLE)
def test_changes_of_the_silent_fields_alone_never_wake_the_incident(
    last: Observation, other: Observation
) -> None:
    now = last.model_copy(update={field: getattr(other, field) for field in SILENT})

    assert not needs_wake_up(last, now)


def test_another_oldest_remediation_in_the_words_of_a_limit_wakes_no_incident_that_waits_for_it() -> None:
    last, now = (
        Observation(
            state=TargetState.EXPIRED,
            reason="",
            hold=HOLD.model_copy(update={"reason": HoldReason.LIMIT, "message": words}),
        )
        for words in (
            "1 is under way; the oldest, of node-1, ...",
            "1 is under way; the oldest, of node-2, ...",
        )
    )
    assert not needs_wake_up(last, now)
