"""May this incident act now?"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.admission import Question, Rival, admission, stale_sight
from health.observation import Hold, HoldReason
from tests.health.samples import ALLOWED, BLOCKED

GO = Question(check_hold=None, allowance=ALLOWED, is_excluded=False)
PAUSED = Hold(reason=HoldReason.PAUSED, message="paused by request: update")

# In the order of precedence: what objects, the reason that is given, and its words.
OBJECTIONS: list[tuple[dict[str, Any], HoldReason, str]] = [
    ({"check_hold": PAUSED}, HoldReason.PAUSED, "paused by request: update"),
    (
        {"is_excluded": True},
        HoldReason.EXCLUDED,
        "the node is labelled to be excluded from remediation",
    ),
    ({"allowance": BLOCKED}, HoldReason.THRESHOLD, "held: 5 of 10 unhealthy, at most 4 allowed"),
    (
        {"earlier_request": "Reboot/ns/node-1"},
        HoldReason.EARLIER_REQUEST,
        "Reboot/ns/node-1 of an earlier target of this name is still there",
    ),
    ({"rival": Rival("NodeHealthCheck-other")}, HoldReason.TAKEN, "held by NodeHealthCheck-other"),
]
NAMES = [reason.value for _, reason, _ in OBJECTIONS]


def test_nothing_objects() -> None:
    assert admission(GO) is None


@pytest.mark.parametrize(("change", "reason", "message"), OBJECTIONS, ids=NAMES)
def test_objection_gives_its_reason(change: dict[str, Any], reason: HoldReason, message: str) -> None:
    hold = admission(replace(GO, **change))

    assert hold is not None
    assert (hold.reason, hold.message) == (reason, message)


@pytest.mark.parametrize("first", range(len(OBJECTIONS)), ids=NAMES)
def test_first_objection_wins_over_all_later_ones(first: int) -> None:
    question = GO
    for change, _, _ in OBJECTIONS[first:]:
        question = replace(question, **change)
    hold = admission(question)

    assert hold is not None
    assert hold.reason is OBJECTIONS[first][1]


@given(st.sets(st.integers(0, len(OBJECTIONS) - 1)))
def test_one_objection_is_enough(chosen: set[int]) -> None:
    question = GO
    for index in chosen:
        question = replace(question, **OBJECTIONS[index][0])

    assert (admission(question) is None) is (not chosen)


@pytest.mark.parametrize(
    ("rival", "seconds"),
    [
        pytest.param(Rival("a"), 60, id="as the reference where no end is known"),
        pytest.param(Rival("a", 17.5), 17.5, id="when its Lease runs out"),
        pytest.param(Rival("a", -3), 1, id="never in a hot loop"),
    ],
)
def test_taken_target_is_asked_for_again_when_the_hold_may_end(rival: Rival, seconds: float) -> None:
    hold = admission(replace(GO, rival=rival))

    assert hold is not None
    assert hold.ask_again_seconds == seconds


def test_hold_that_only_a_change_can_lift_is_asked_about_rarely() -> None:
    hold = admission(replace(GO, allowance=BLOCKED))

    assert hold is not None
    assert hold.ask_again_seconds == 30 * 60


LIMIT = timedelta(seconds=5)


@pytest.mark.parametrize(
    "age",
    [
        pytest.param(timedelta(), id="new"),
        pytest.param(LIMIT, id="exactly as old as it may be"),
    ],
)
def test_fresh_sight_is_good_enough(age: timedelta) -> None:
    assert stale_sight(age, LIMIT) is None


@pytest.mark.parametrize(
    ("age", "message"),
    [
        pytest.param(None, "the cluster was not read completely yet", id="never complete"),
        pytest.param(timedelta(seconds=9), "the last sign of life of the API server is 9s old", id="too old"),
        pytest.param(
            LIMIT + timedelta(microseconds=1),
            "the last sign of life of the API server is 5s old",
            id="an instant too old",
        ),
    ],
)
def test_stale_sight_holds(age: timedelta | None, message: str) -> None:
    hold = stale_sight(age, LIMIT)

    assert hold is not None
    assert (hold.reason, hold.message) == (HoldReason.STALE_SIGHT, message)
