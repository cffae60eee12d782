"""The refusals of an order to remediate, the holds that it passes, and those that it waits for."""

import dataclasses
from typing import Any

import pytest

from health.check.check_snapshot import ORDINARY_REPORT, CheckHold, CheckHolds
from health.gate.admission import Question, admission, holds
from health.gate.order_refusal import OrderMoment, refusal
from health.model.observation import Hold, HoldReason, TargetState
from health.policy.policy import Policy
from tests.support.values.builders import ALLOWED, BLOCKED, NOW, request_snapshot, seen
from tests.support.values.remediation_orders import ORDER, remediation_order

FORCED = remediation_order(is_forced=True)
ALLOWS_FORCE = Policy(forced_orders=True)
HEALTHY = seen(state=TargetState.HEALTHY, admission=None, is_shadow=False)
PASSED = {HoldReason.BACK_OFF, HoldReason.MAINTENANCE_WINDOW}
NOTHING_HOLDS = OrderMoment(order=ORDER, observation=HEALTHY, holds=(), allowance=ALLOWED)


def hold(reason: HoldReason) -> Hold:
    return Hold(reason=reason, message="not now")


def moment(**fields: Any) -> OrderMoment:
    return dataclasses.replace(NOTHING_HOLDS, **fields)


@pytest.mark.parametrize("reason", HoldReason)
def test_order_passes_back_off_and_windows_and_a_forced_one_the_threshold_and_its_storm(
    reason: HoldReason,
) -> None:
    of_check = CheckHolds((CheckHold(hold(reason), ORDINARY_REPORT),))
    question = Question(of_check=of_check)
    assert admission(question) == hold(reason)
    assert (admission(dataclasses.replace(question, order=ORDER)) is None) is (reason in PASSED)
    passed_by_force = {*PASSED, HoldReason.THRESHOLD, HoldReason.STORM}
    assert (admission(dataclasses.replace(question, order=FORCED)) is None) is (reason in passed_by_force)


def test_every_other_hold_of_an_ordered_target_stays_in_its_order() -> None:
    limit, back_off = hold(HoldReason.LIMIT), hold(HoldReason.BACK_OFF)
    of_check = CheckHolds(
        (
            CheckHold(hold(HoldReason.UPGRADING), ORDINARY_REPORT),
            CheckHold(hold(HoldReason.THRESHOLD), ORDINARY_REPORT),
        )
    )
    found = holds(Question(of_check=of_check, limit=limit, back_off=back_off, order=ORDER))
    assert [one.reason for one in found] == [HoldReason.UPGRADING, HoldReason.THRESHOLD, HoldReason.LIMIT]


@pytest.mark.parametrize(
    ("now", "why"),
    [
        pytest.param(NOTHING_HOLDS, "", id="nothing holds it"),
        pytest.param(
            moment(observation=seen(state=TargetState.UNKNOWN, hold=hold(HoldReason.STALE_CACHE))),
            "its state is unknown: StaleCache: not now",
            id="unknown",
        ),
        pytest.param(
            moment(observation=HEALTHY.model_copy(update={"is_shadow": True})),
            "the check is in shadow, so nothing would be written",
            id="shadow",
        ),
        pytest.param(
            moment(policy=Policy(orders_by_annotation=False)),
            "the policy has ordersByAnnotation: false",
            id="the policy",
        ),
        pytest.param(
            moment(earlier=ORDER),
            "an order stands until 2026-03-01T13:00:00Z: "
            "its remediation was ordered by alice: its kubelet hangs",
            id="ordered already",
        ),
        pytest.param(
            moment(observation=HEALTHY.model_copy(update={"requests": (request_snapshot(created=NOW),)})),
            f"a remediation is under way: {request_snapshot(created=NOW)}",
            id="its request",
        ),
        pytest.param(
            moment(observation=HEALTHY.model_copy(update={"under_way": "it is being deleted"})),
            "a remediation is under way: it is being deleted",
            id="its deletion",
        ),
        pytest.param(
            moment(observation=HEALTHY.model_copy(update={"is_marked": True})),
            "a remediation is under way: it is marked",
            id="its mark",
        ),
        pytest.param(
            moment(observation=seen(reason="Ready is False")),
            "it is unhealthy already, and is remediated without an order (Ready is False); "
            "paramedic show says what it waits for, paramedic resume ends a wait between attempts",
            id="unhealthy",
        ),
        pytest.param(
            moment(observation=seen(state=TargetState.WAITING, reason="Ready is False")),
            "it is unhealthy already, and is remediated without an order (Ready is False); "
            "paramedic show says what it waits for, paramedic resume ends a wait between attempts",
            id="a timer runs",
        ),
        pytest.param(
            moment(allowance=BLOCKED),
            "with it, 5 of 10 unhealthy, at most 4 allowed; --force passes the threshold if the policy "
            "allows it (forcedOrders)",
            id="the threshold",
        ),
        pytest.param(
            moment(allowance=BLOCKED, policy=ALLOWS_FORCE),
            "with it, 5 of 10 unhealthy, at most 4 allowed; --force passes the threshold",
            id="the threshold, where force is allowed",
        ),
        pytest.param(
            moment(allowance=BLOCKED, order=FORCED),
            "the policy does not allow --force (forcedOrders: true allows it)",
            id="by force",
        ),
        pytest.param(moment(allowance=BLOCKED, order=FORCED, policy=ALLOWS_FORCE), "", id="by allowed force"),
        pytest.param(moment(allowance=None), "", id="unknown numbers"),
        *(
            pytest.param(moment(holds=(hold(reason),), order=FORCED), f"{reason}: not now", id=reason)
            for reason in (
                HoldReason.DISABLED,
                HoldReason.PAUSED,
                HoldReason.EXCLUDED,
                HoldReason.NODE_MAINTENANCE,
                HoldReason.NO_CONTROLLER,
            )
        ),
    ],
)
def test_order_is_refused_with_the_reason(now: OrderMoment, why: str) -> None:
    assert refusal(now) == why


@pytest.mark.parametrize(
    "reason", [HoldReason.STOPPED, HoldReason.LIMIT, HoldReason.TAKEN, HoldReason.UPGRADING]
)
def test_order_waits_for_holds_that_end(reason: HoldReason) -> None:
    held = moment(holds=(hold(HoldReason.BACK_OFF), hold(reason)))
    assert refusal(held) == ""
    assert held.waits_for == hold(reason)
    assert moment(holds=(hold(HoldReason.BACK_OFF),)).waits_for is None
