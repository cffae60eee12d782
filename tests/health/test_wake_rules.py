"""Which change wakes an incident, and which request cannot be its own."""

from collections.abc import Mapping
from datetime import datetime, timedelta
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
from health.runbook.wake_up import NAMED_RULES, admitted_at, appeared, has_late_request, needs_wake_up
from objects.frozen import Frozen
from tests.health.test_totality import OBSERVATIONS, REQUEST_SNAPSHOTS
from tests.support.values.builders import ESCALATION, HOLD, NOW, fact, request_snapshot, seen
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


SECOND = timedelta(seconds=1)
WITHIN = 8 * SECOND


def answer(
    state: TargetState = TargetState.EXPIRED, *requests: str, at: datetime = NOW, **more: Any
) -> Observation:
    snapshots = tuple(request_snapshot(uid) for uid in requests)
    return seen(*snapshots, state=state, seen_at=at, **more)


ADMITTED = answer()
BACK = NOW - 3 * SECOND
"""When an earlier admission was seen."""


@pytest.mark.parametrize(
    ("told", "would_act", "expected"),
    [
        pytest.param(ADMITTED, True, NOW, id="an admission: it may act on it"),
        pytest.param(ADMITTED, False, None, id="by a person's order it would not"),
        pytest.param(answer(hold=HOLD), True, BACK, id="held: what it did before may not be seen yet"),
        pytest.param(answer(hold=HOLD), False, None, id="held, and it asked because of a person's order"),
        pytest.param(answer(TargetState.WAITING), True, BACK, id="a timer runs again"),
        pytest.param(answer(TargetState.UNKNOWN, hold=HOLD), True, BACK, id="nobody can tell"),
        pytest.param(answer(TargetState.HEALTHY), True, None, id="recovered"),
        pytest.param(answer(TargetState.GONE), True, None, id="gone"),
        pytest.param(answer(TargetState.RELEASED), True, None, id="released"),
    ],
)
def test_since_when_an_incident_may_be_acting(
    told: Observation, expected: datetime | None, *, would_act: bool
) -> None:
    assert admitted_at(told, would_act=would_act, before=BACK) == expected


@pytest.mark.parametrize(
    ("told", "now", "admitted", "expected"),
    [
        pytest.param(ADMITTED, answer(at=NOW + 60 * SECOND), None, False, id="there is none"),
        pytest.param(ADMITTED, answer(TargetState.EXPIRED, "a", at=NOW + SECOND), NOW, False, id="its own"),
        pytest.param(
            ADMITTED, answer(TargetState.EXPIRED, "a", at=NOW + WITHIN), NOW, False, id="just in time"
        ),
        pytest.param(
            ADMITTED,
            answer(TargetState.EXPIRED, "a", at=NOW + WITHIN + SECOND),
            NOW,
            True,
            id="too late for it",
        ),
        pytest.param(
            ADMITTED, answer(TargetState.EXPIRED, "a", at=NOW + SECOND), None, True, id="left alone"
        ),
        pytest.param(
            answer(TargetState.EXPIRED, "a"),
            answer(TargetState.EXPIRED, "a", at=NOW + 60 * SECOND),
            None,
            False,
            id="it was told of it",
        ),
        pytest.param(
            answer(TargetState.EXPIRED, "a"),
            answer(TargetState.EXPIRED, "a", "b", at=NOW + 60 * SECOND),
            NOW,
            True,
            id="another beside the one that it knows",
        ),
        pytest.param(
            answer(TargetState.EXPIRED, "a"),
            answer(TargetState.EXPIRED, "b", at=NOW + 60 * SECOND),
            NOW,
            True,
            id="another uid under its name",
        ),
        pytest.param(
            answer(TargetState.HEALTHY),
            answer(TargetState.HEALTHY, "a", at=NOW + SECOND),
            None,
            True,
            id="healthy",
        ),
        pytest.param(
            ADMITTED,
            answer(TargetState.EXPIRED, "a").model_copy(update={"seen_at": None}),
            NOW,
            True,
            id="nobody says when it was seen: in doubt it is told",
        ),
    ],
)
def test_a_request_is_late_when_no_act_on_an_admission_made_it(
    told: Observation,
    now: Observation,
    admitted: datetime | None,
    *,
    expected: bool,
) -> None:
    assert has_late_request(told, now, admitted, WITHIN) is expected


UIDS = st.lists(st.sampled_from("abcd"), unique=True)


@given(told=UIDS, now=UIDS, age=st.integers(-100, 100))
def test_only_a_request_that_appears_is_late_and_a_reported_one_never_is(
    told: list[str], now: list[str], age: int
) -> None:
    before = answer(TargetState.EXPIRED, *told)
    after = answer(TargetState.EXPIRED, *now, at=NOW + age * SECOND)

    assert appeared(before, after) == set(now) - set(told)
    assert has_late_request(before, after, NOW, WITHIN) is (
        bool(set(now) - set(told)) and age * SECOND > WITHIN
    )
