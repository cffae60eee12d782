"""Why one target must be left alone, whatever its check allows."""

from dataclasses import replace
from typing import Any

import pytest

from health.gate.admission import NO_FACTS, CurrentHolder, target_hold
from health.model.observation import Hold, HoldReason

# In the order of precedence: what objects, the reason that is given, and its words.
OBJECTIONS: list[tuple[dict[str, Any], HoldReason, str]] = [
    ({"is_excluded": True}, HoldReason.EXCLUDED, "the node is labelled to be excluded from remediation"),
    (
        {"annotated": Hold(reason=HoldReason.HOLD_ANNOTATION, message="replacing its disk")},
        HoldReason.HOLD_ANNOTATION,
        "replacing its disk",
    ),
    (
        {"outage": Hold(reason=HoldReason.SUSPECTED_OUTAGE, message="3 of 4 Nodes of the zone a")},
        HoldReason.SUSPECTED_OUTAGE,
        "3 of 4 Nodes of the zone a",
    ),
    (
        {"earlier_request": "Reboot/ns/node-1"},
        HoldReason.EARLIER_REQUEST,
        "Reboot/ns/node-1 of an earlier target of this name is still there",
    ),
    (
        {"lease_holder": CurrentHolder("NodeHealthCheck-other")},
        HoldReason.TAKEN,
        "NodeHealthCheck-other holds its Lease",
    ),
    (
        {"requester": CurrentHolder("NodeHealthCheck/other", "Reboot/ns/node-1")},
        HoldReason.TAKEN_BY_REQUEST,
        "NodeHealthCheck/other has the request Reboot/ns/node-1 for it",
    ),
    (
        {"other_member": CurrentHolder("NodeHealthCheck-workers/node-2")},
        HoldReason.CONTROL_PLANE,
        "one member of a quorum at a time: NodeHealthCheck-workers/node-2 has the lock",
    ),
]


def test_target_without_another_holder_can_be_remediated() -> None:
    assert target_hold(NO_FACTS) is None


@pytest.mark.rule("rule 11", "rule 13", "rule 21")
@pytest.mark.parametrize(("change", "reason", "message"), OBJECTIONS)
def test_objection_is_given_with_its_reason(change: dict[str, Any], reason: HoldReason, message: str) -> None:
    hold = target_hold(replace(NO_FACTS, **change))

    assert hold is not None
    assert (hold.reason, hold.message) == (reason, message)


@pytest.mark.parametrize("first", range(len(OBJECTIONS)))
def test_first_objection_wins(first: int) -> None:
    facts = NO_FACTS
    for change, _, _ in OBJECTIONS[first:]:
        facts = replace(facts, **change)
    hold = target_hold(facts)

    assert hold is not None
    assert hold.reason is OBJECTIONS[first][1]


def test_target_that_others_hold_by_a_lease_and_by_a_request_tells_both() -> None:
    other = CurrentHolder("NodeHealthCheck/other", "Reboot/ns/node-1")
    hold = target_hold(
        replace(NO_FACTS, lease_holder=CurrentHolder("maintenance", seconds=600), requester=other)
    )

    assert hold is not None
    assert hold.reason is HoldReason.TAKEN
    assert hold.message == (
        "NodeHealthCheck/other has the request Reboot/ns/node-1 for it, and maintenance holds its Lease"
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (CurrentHolder("node-2", "Reboot/ns/node-2"), "node-2 has the lock, by the request Reboot/ns/node-2"),
        (CurrentHolder("machine-2", how="is being deleted"), "machine-2 is being deleted"),
    ],
)
def test_hold_of_a_member_names_the_member_before_it(other: CurrentHolder, message: str) -> None:
    hold = target_hold(replace(NO_FACTS, other_member=other))

    assert hold is not None
    assert hold.message == f"one member of a quorum at a time: {message}"


@pytest.mark.rule("rule 6")
@pytest.mark.parametrize(
    ("current_holder", "seconds"),
    [
        pytest.param(CurrentHolder("a"), 60, id="as the operator where no end is known"),
        pytest.param(CurrentHolder("a", seconds=17.5), 17.5, id="when its Lease runs out"),
        pytest.param(CurrentHolder("a", seconds=-3), 1, id="never in a hot loop"),
    ],
)
def test_taken_target_is_asked_for_again_when_the_hold_may_end(
    current_holder: CurrentHolder, seconds: float
) -> None:
    hold = target_hold(replace(NO_FACTS, lease_holder=current_holder))

    assert hold is not None
    assert hold.ask_again_seconds == seconds
