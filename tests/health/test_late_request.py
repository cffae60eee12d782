"""Which new requests wake an incident."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.observation import Observation, TargetState
from health.runbook.wake_up import admitted_at, appeared, has_late_request
from tests.support.values.builders import HOLD, NOW, request_snapshot, seen

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
