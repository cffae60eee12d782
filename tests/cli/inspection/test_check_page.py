"""The page of `paramedic check`: its unhealthy targets by decision, with the orders of people."""

from datetime import timedelta

from rich.console import Console

from cli.inspection.check import HealthCheckView, check_page
from cli.inspection.connecting import unknown_orders
from cli.inspection.decision_view import DecisionView
from detector.inspection.inspection import TargetDecision
from detector.inspection.memories import IncidentMemories
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderMessage
from health.model.references import IncidentReference
from health.runbook.obeying import ordered
from health.runbook.orders import AbortOrder, ClaimOrder, HoldOrder, ResumeOrder
from health.runbook.outlook import outlook
from health.runbook.state import Memory
from tests.support.values.builders import FIRST, HOLD, INCIDENT, MINUTE, NOW, request_of, seen

HELD = HoldOrder(reason="replacing its disk", identity="ada@desk")
ABORTED = AbortOrder(reason="power work", identity="bob@desk")
CLAIMED = ClaimOrder(identity="eve@desk")


def incident(name: str) -> IncidentReference:
    target = INCIDENT.target.model_copy(update={"name": name})
    return INCIDENT.model_copy(update={"target": target})


def decided(name: str, *orders: OrderMessage, seen: Observation, unknown: str = "") -> DecisionView:
    memory = Memory()
    for order in orders:
        memory = ordered(memory, order, NOW - MINUTE)
    unasked = seen.model_copy(update={"admission": None})
    target = TargetDecision(
        target=incident(name).target,
        observation=unasked,
        outlook=outlook(unasked, memory, NOW),
        unknown=unknown,
    )
    return DecisionView.of(target, NOW)


def lines(*decisions: DecisionView) -> list[str]:
    view = HealthCheckView(
        check="NodeHealthCheck/workers",
        cluster="main-0a1b",
        at=NOW,
        problem="",
        is_shadow=False,
        selected=9,
        unhealthy=len(decisions),
        threshold=None,
        holds=(),
        storm="",
        decisions=decisions,
        outcomes=None,
        unknown_orders=(),
    )
    console = Console(width=200)
    with console.capture() as printed:
        console.print(check_page(view))
    return [line.strip() for line in printed.get().splitlines()]


def test_targets_are_counted_as_held_by_a_person_with_reason_person_and_time() -> None:
    found = lines(
        decided("node-1", HELD, seen=seen()),
        decided("node-2", HELD, seen=seen(hold=HOLD)),
        decided("node-3", HoldOrder(identity="eve@desk"), seen=seen()),
        decided("node-4", seen=seen(hold=HOLD)),
    )
    since = "since 2026-03-01 11:59:00Z (1m ago); until resume or its recovery"
    assert found[-6:-1] == [
        "Unhealthy   2 held by a person: Node/node-1, Node/node-2",
        f"replacing its disk; by ada@desk; {since}",
        "1 held by a person: Node/node-3",
        f"by eve@desk; {since}",
        "1 held: Threshold: Node/node-4",
    ]


def test_aborted_target_is_left_alone_and_the_page_says_of_a_later_failure() -> None:
    found = lines(decided("node-1", ABORTED, seen=seen()))
    assert "Unhealthy   1 left alone: Node/node-1" in found
    assert found[-2].startswith("power work; by bob@desk; since 2026-03-01 11:59:00Z (1m ago); until resume")
    assert found[-2].endswith("; a later failure is remediated as usual")


def test_claimed_target_may_act_and_the_page_names_the_person() -> None:
    found = lines(decided("node-1", CLAIMED, seen=seen()))
    assert "Unhealthy   1 may act: Node/node-1" in found
    assert "Claimed     Node/node-1 by eve@desk" in found


def test_running_remediation_under_a_hold_is_counted_apart_with_the_order() -> None:
    running = seen(request_of(FIRST, MINUTE))
    found = lines(decided("node-1", HELD, seen=running), decided("node-2", seen=running))
    assert "Unhealthy   1 remediating: Node/node-2" in found
    assert "1 remediating, a next step is held by a person: Node/node-1" in found
    assert any(line.startswith("replacing its disk; by ada@desk; since ") for line in found)


def test_target_of_a_silent_incident_is_unknown_and_not_one_that_may_act() -> None:
    view = decided("node-1", seen=seen(), unknown="no worker answers")
    assert "Unhealthy   1 unknown: Node/node-1" in lines(view)
    assert view.message == "whether a person holds it is unknown: no worker answers"


def test_title_of_a_decision_has_a_hold_only_where_it_decides() -> None:
    hold, back_off = HOLD, Hold(reason=HoldReason.BACK_OFF, message="in 2m")
    running = seen(request_of(FIRST, MINUTE), hold=hold)
    waiting = seen(state=TargetState.WAITING, hold=hold)
    assert decided("node-1", seen=seen(hold=hold)).title == "held: Threshold"
    assert decided("node-1", seen=waiting).title == "waits, then held: Threshold"
    assert decided("node-1", seen=running).title == "remediating"
    assert decided("node-1", ResumeOrder(), seen=seen(hold=back_off)).title == "may act"


def test_order_ends_at_its_time() -> None:
    hours = HoldOrder(for_seconds=timedelta(hours=2).total_seconds())
    (line,) = [line for line in lines(decided("node-1", hours, seen=seen())) if "since" in line]
    assert line.endswith("ends in 1h59m (2026-03-01 13:59:00Z)")


def test_incidents_that_do_not_answer_are_named_together_by_reason() -> None:
    silent = {incident(f"node-{number}"): "no worker answers" for number in range(12)}
    (sentence,) = unknown_orders(IncidentMemories(unknown=silent))
    assert sentence.startswith("orders and approvals for Node/node-0, Node/node-1, ")
    assert sentence.endswith("and 2 more under NodeHealthCheck/workers are unknown: no worker answers")
    assert unknown_orders(IncidentMemories()) == ()
    assert unknown_orders(IncidentMemories(problem="Temporal is down")) == (
        "orders and approvals of people are unknown: Temporal is down",
    )
