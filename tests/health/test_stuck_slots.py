"""Which slots of a limit are stuck: by how long they are held, and whether a target waits for them."""

from datetime import timedelta

import pytest

from health.model.references import CheckReference
from health.policy.limits import (
    STUCK_AFTER,
    LimitedRemediation,
    Limits,
    LimitScope,
    UnderWay,
    Waiting,
    stuck_slots,
)
from tests.support.values.builders import MINUTE, NOW, limits

pytestmark = pytest.mark.rule("rule 43")

WORKERS = CheckReference(kind="NodeHealthCheck", name="workers")
OTHERS = CheckReference(kind="NodeHealthCheck", name="others")
ZONE = "zone"
OLD = STUCK_AFTER + MINUTE


def holder(name: str, age: timedelta = OLD, zone: str | None = "a", of: CheckReference = WORKERS) -> UnderWay:
    return UnderWay(name, LimitedRemediation(of, {ZONE: zone}), NOW - age)


def waiting(zone: str | None = "a", of: CheckReference = WORKERS) -> Waiting:
    return Waiting(NOW, "w", LimitedRemediation(of, {ZONE: zone}))


@pytest.mark.parametrize(
    ("chosen", "holders", "waits", "stuck"),
    [
        pytest.param(limits(maxInFlight=1), [holder("n1")], [waiting()], ["n1"], id="kept for over an hour"),
        pytest.param(limits(maxInFlight=1), [holder("n1", STUCK_AFTER)], [waiting()], [], id="for an hour"),
        pytest.param(limits(maxInFlight=1), [holder("n1")], [], [], id="no target waits"),
        pytest.param(limits(maxInFlight=2), [holder("n1")], [waiting()], [], id="a slot is free"),
        pytest.param(
            limits(maxInFlight=3),
            [holder("n1"), holder("n2", MINUTE), holder("n3", 2 * OLD)],
            [waiting()],
            ["n3", "n1"],
            id="the oldest first, and none that is new",
        ),
        pytest.param(
            limits(maxInFlightByLabel={ZONE: 1}),
            [holder("n1", zone="a"), holder("n2", zone="b")],
            [waiting("b")],
            ["n2"],
            id="of the zone of the target that waits",
        ),
        pytest.param(
            limits(maxInFlightByLabel={ZONE: 1}),
            [holder("n1", zone=None)],
            [waiting("b")],
            ["n1"],
            id="of a zone that is not known",
        ),
        pytest.param(
            limits(maxStartsPerHour=1), [holder("n1")], [waiting()], [], id="starts end by themselves"
        ),
    ],
)
def test_stuck(chosen: Limits, holders: list[UnderWay], waits: list[Waiting], stuck: list[str]) -> None:
    found = stuck_slots(lambda _: [LimitScope(chosen, "the policy")], holders, waits, NOW)
    assert [one.target for slots in found for one in slots.holders] == stuck
    assert [slots.waiting for slots in found] == ([frozenset({WORKERS})] if stuck else [])


def test_limit_of_a_check_is_kept_full_by_its_own_remediations_alone() -> None:
    scope = LimitScope(limits(maxInFlight=1), "the annotations of it", WORKERS)

    def scopes_of(check: CheckReference) -> list[LimitScope]:
        return [scope] if check == WORKERS else []

    assert stuck_slots(scopes_of, [holder("n1", of=OTHERS)], [waiting()], NOW) == ()
    (found,) = stuck_slots(scopes_of, [holder("n1", of=OTHERS), holder("n2")], [waiting()], NOW)
    assert (found.check, [one.target for one in found.holders]) == (WORKERS, ["n2"])


def test_checks_that_wait_and_holders_are_named_once_for_each_limit() -> None:
    scope = LimitScope(limits(maxInFlight=7), "the policy")
    holders = [holder(f"n{number}", OLD + number * MINUTE) for number in range(7)]
    (found,) = stuck_slots(lambda _: [scope], holders, [waiting(), waiting(of=OTHERS)], NOW)
    assert found.waiting == {WORKERS, OTHERS}
    assert str(found) == (
        "maxInFlight=7 of the policy is reached, and these have been in progress for over 1h: "
        + ", ".join(
            f"n{number} of NodeHealthCheck/workers since 2026-03-01T10:{59 - number}:00Z"
            for number in range(6, 1, -1)
        )
        + ", and 2 more"
    )
