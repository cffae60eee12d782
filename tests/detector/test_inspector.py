"""The leader answers people from a copy of its state, in pieces, and nothing live changes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import yaml
from temporalio.exceptions import ApplicationError

from detector.answers.answering import NotLeading
from detector.answers.observation_builder import Observer
from detector.inspection import inspector
from detector.inspection.inspector import MOST_AT_ONCE, Busy, Inspector
from detector.state.state_view import StateView
from health.check.template_validity import TemplateKind
from health.gate.back_off import EndedAttempt
from health.model.approval import Progress
from health.model.details import HoldWords
from health.model.observation import Hold, HoldReason
from health.model.order import Blocks, OrderRecord
from health.model.references import IncidentReference
from health.policy.policy import Policy
from kube import time_slice
from objects.timestamps import stamp
from tests.support.state.leading import Leading, leading
from tests.support.state.small_cluster import CHECK, incident_of
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import NOW, check_object, limits
from tests.support.values.remediation_orders import annotated, remediation_order
from workflows.inspection_contracts import (
    NOT_FOUND,
    REFUSED,
    NameInput,
    PreviewOrderInput,
    SimulateInput,
)

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ATTEMPT = EndedAttempt(number=1, ended=NOW - timedelta(seconds=10))
NIGHT = "{name: night, remediation: Allowed, schedule: '0 3 * * *', duration: 1h}"
HELD = OrderRecord(order="hold", reason="its disk", identity="ada", given=NOW - MINUTE, blocks=Blocks.STEPS)
ABORTED = OrderRecord(order="abort", reason="power", given=NOW - MINUTE, blocks=Blocks.REMEDIATION)
CLAIMED = OrderRecord(order="claim", reason="", identity="eve", given=NOW - MINUTE)
OVER = HELD.model_copy(update={"until": NOW})


def everything(state: StateView) -> tuple[object, ...]:
    """All parts of the state that a question might change."""
    checks = {
        reference: (
            entry.record,
            entry.check,
            *(set(getattr(entry, name)) for name in ("selected", "unhealthy")),
        )
        for reference, entry in state.checks.items()
    }
    return checks, dict(state.targets.of(CHECK)), state.cluster_context, dict(state.leases)


def check_text(**spec: Any) -> str:
    conditions = [{"type": "Ready", "status": "Unknown", "duration": "5m"}]
    return yaml.safe_dump(check_object(**{"unhealthyConditions": conditions, "minHealthy": 0} | spec))


async def test_healthy_target_is_explained_as_if_its_node_had_failed_and_the_node_stays() -> None:
    detector = leading(unhealthy=1, healthy=2, minHealthy=2)
    before = everything(detector.state)
    answer = await detector.inspector.explain(NameInput(name="h0"))
    assert everything(detector.state) == before
    (found,) = answer.checks
    assert (answer.leader, found.state, found.decision.decided, found.holds) == (
        "detector-1",
        "Healthy",
        "cleaning up",
        (),
    )
    supposed = found.if_it_failed
    assert supposed is not None
    assert (supposed.condition, supposed.after_seconds) == ("Ready=Unknown", 300)
    assert [hold.reason for hold in supposed.holds] == [HoldReason.THRESHOLD]
    assert supposed.threshold is not None
    assert supposed.threshold.words == "2 of 3 unhealthy, at most 1 allowed"


async def test_machine_is_explained_as_if_its_node_had_failed() -> None:
    machines = SmallMachines()
    machines.check(maxUnhealthy=0)
    machines.node("node-1")
    machines.machine("machine-1", node="node-1")
    answer = await Leading(machines).inspector.explain(NameInput(name="Node/node-1"))
    supposed = answer.checks[0].if_it_failed
    assert answer.checks[0].decision.target.endswith("/machine-1")
    assert supposed is not None
    assert [hold.reason for hold in supposed.holds] == [HoldReason.THRESHOLD]


async def test_target_is_explained_under_every_check_as_of_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    detector = leading()
    detector.cluster.check("others", minHealthy=0)
    asked = asyncio.create_task(detector.inspector.explain(NameInput(name="u0")))
    await asyncio.sleep(0)  # the first check is done
    detector.cluster.node("u0")
    assert [found.state for found in (await asked).checks] == ["Expired", "Expired"]


async def test_holds_of_check_and_target_are_in_the_order_of_precedence_with_limits_and_counts() -> None:
    detector = leading(2, 1, Policy(limits=limits(maxInFlight=1)), minHealthy=2)
    detector.cluster.request("u1")
    detector.back_off = replace(detector.back_off, latest=ATTEMPT)
    (found,) = (await detector.inspector.explain(NameInput(name="u0"))).checks
    assert [hold.reason for hold in found.holds] == [
        HoldReason.THRESHOLD,
        HoldReason.LIMIT,
        HoldReason.BACK_OFF,
    ]
    assert [(limit.limits, limit.in_flight) for limit in found.limits] == [("maxInFlight=1", 1)]
    assert found.back_off.startswith("remediation 1 in a row ended")
    assert found.conditions[0].status == "Unknown"
    assert found.steps == ("create Reboot from template remediators/reboot for Node/u0",)


async def test_explanation_takes_no_place_in_the_queue_and_no_slot() -> None:
    detector = leading(3, 0, Policy(limits=limits(maxInFlight=1)))
    for name in ("u0", "u1", "u2"):
        (found,) = (await detector.inspector.explain(NameInput(name=name))).checks
        assert found.decision.decided == "may act"
    assert list(detector.limits.turns()) == []
    assert detector.limits.stuck_slots() == ()


@pytest.mark.parametrize(
    ("orders", "decided"),
    [
        ((HELD,), "held by a person"),
        ((ABORTED,), "left alone"),
        ((CLAIMED,), "may act"),
        ((OVER,), "may act"),
        ((), "may act"),
    ],
    ids=["hold", "abort", "claim", "over", "none"],
)
async def test_orders_are_those_that_incidents_report(orders: tuple[OrderRecord, ...], decided: str) -> None:
    detector = leading()
    detector.report("u0", *orders)
    assert await detector.decided() == {"u0": decided}
    (found,) = (await detector.inspector.explain(NameInput(name="u0"))).checks
    assert found.standing == tuple(order for order in orders if order is not OVER)
    assert (found.decision.claimed is not None) == (CLAIMED in orders)


async def test_target_of_an_incident_that_has_not_asked_a_new_leader_is_unknown() -> None:
    detector = leading(2)
    detector.heard = lambda incident: incident.target.name == "u1"
    assert await detector.decided() == {"u0": "unknown", "u1": "may act"}


async def test_finding_of_the_latest_act_is_shown_as_its_hold() -> None:
    detector = leading()
    detector.state.found(incident_of("u0"), Hold(reason=HoldReason.TAKEN, message="another has it"))
    (found,) = (await detector.inspector.explain(NameInput(name="u0"))).checks
    assert (found.decision.decided, [hold.reason for hold in found.holds]) == ("held", [HoldReason.TAKEN])


async def test_check_is_answered_with_its_numbers_holds_and_decisions() -> None:
    detector = leading(2, 1, minHealthy=2)
    answer = await detector.inspector.check(NameInput(name="NodeHealthCheck/workers"))
    assert (answer.selected, answer.unhealthy, answer.problem, answer.left_out) == (3, 2, None, 0)
    assert [hold.reason for hold in answer.holds] == [HoldReason.THRESHOLD]
    assert [each.target for each in answer.decisions] == ["Node/u0", "Node/u1"]


async def test_target_and_check_are_held_since_their_hold_began() -> None:
    detector = leading(2, 1, minHealthy=2)
    incident = incident_of("u0")
    answer = detector.cluster.observe("u0")
    assert await held_since(detector) == (None, None), "no incident has asked, and no status is written"
    detector.state.answered(incident, answer, NOW)
    detector.state.answered(incident, answer, NOW + HOUR)
    assert await held_since(detector) == (NOW, None)

    reason = f"NHC is enabled; no new remediation is begun since {stamp(NOW - MINUTE)}: Threshold: 2 of 3"
    detector.cluster.check(minHealthy=2, status={"reason": reason})
    reported = HoldWords(short=HoldReason.THRESHOLD, since=NOW - HOUR)
    detector.state.reported(incident, Progress(holds=(reported,)))
    detector.state.answered(incident, answer, NOW + HOUR)
    assert await held_since(detector) == (NOW - HOUR, NOW - MINUTE), "the incident knows it for longer"


async def held_since(detector: Leading[Any]) -> tuple[datetime | None, datetime | None]:
    """When the holds of u0 and of its check began, as `explain` and `check` show them."""
    (found,) = (await detector.inspector.explain(NameInput(name="u0"))).checks
    (of_check,) = (await detector.inspector.check(NameInput(name="workers"))).holds
    return found.holds[0].since, of_check.since


async def test_invalid_check_is_answered_with_its_problem() -> None:
    detector = leading(duration="soon")
    answer = await detector.inspector.check(NameInput(name="workers"))
    assert answer.problem is not None
    assert "spec.unhealthyConditions[0].duration" in answer.problem
    (invalid,) = (await detector.inspector.explain(NameInput(name="u0"))).invalid_checks
    assert (invalid.check, invalid.problem) == (str(CHECK), answer.problem)


@pytest.mark.parametrize(
    ("spec", "after"),
    [
        ({"minHealthy": 1}, "may act"),
        ({"minHealthy": 3}, "held: Threshold"),
        ({"minHealthy": 1, "selector": {"matchLabels": {"role": "infra"}}}, ""),
        ({"minHealthy": 1, "pauseRequests": ["upgrade"]}, "held: Paused"),
    ],
    ids=["another threshold", "the same", "another selector", "a pause"],
)
async def test_simulated_check_is_judged_beside_the_stored_one(spec: dict[str, Any], after: str) -> None:
    detector = leading(2, 1, minHealthy=2)
    before = everything(detector.state)
    found = await detector.simulated(check_text(**spec))
    assert found == dict.fromkeys(("u0", "u1"), ("held: Threshold", after))
    assert everything(detector.state) == before


async def test_new_check_is_simulated_and_its_targets_are_not_unheard() -> None:
    detector = leading(1, 1)
    detector.heard = lambda _: False
    body = yaml.safe_load(check_text())
    body["metadata"] = {"name": "new"}
    assert await detector.simulated(yaml.safe_dump(body)) == {"u0": ("", "may act")}
    assert CHECK in detector.state.checks
    assert len(detector.state.checks) == 1


async def test_templates_that_the_leader_does_not_watch_are_named() -> None:
    detector = leading()
    answer = await detector.inspector.simulate(SimulateInput(text=check_text()))
    assert answer.unread_templates == ("RebootTemplate/remediators/reboot",)
    detector.cluster.template_kinds = lambda *_: TemplateKind()
    answer = await detector.inspector.simulate(SimulateInput(text=check_text()))
    assert answer.unread_templates == ()
    assert [hold.reason for hold in answer.checks[0].holds] == [HoldReason.DISABLED]


@pytest.mark.parametrize(
    ("policy", "after"),
    [
        ("{}", "held: BackOff"),
        ("backOffLimit: 0s", "may act"),
        ("{backOffLimit: 0s, limits: {maxInFlight: 1}}", "held: Limit"),
        (
            "{backOffLimit: 0s, limits: {maxInFlightByLabel: {zone: 1}}}",
            "may act",
        ),
        (
            f"{{backOffLimit: 0s, maintenanceWindows: [{NIGHT}]}}",
            "held: MaintenanceWindow",
        ),
    ],
    ids=["defaults", "no back-off", "a limit", "a limit by label", "a window"],
)
async def test_simulated_policy_is_judged_beside_the_one_in_force(policy: str, after: str) -> None:
    detector = leading(1, 1, Policy())
    detector.cluster.node("other", ready="Unknown", since=NOW - HOUR, labels={"role": "worker", "zone": "b"})
    detector.cluster.request("other")
    detector.back_off = replace(detector.back_off, latest=ATTEMPT)
    before = everything(detector.state)
    found = await detector.simulated(policy, is_policy=True)
    assert found["u0"] == ("held: BackOff", after)
    assert found["other"][0] == "remediating"
    assert everything(detector.state) == before


async def test_orders_of_people_stand_under_every_check_and_policy() -> None:
    detector = leading(2, 1, minHealthy=3)
    detector.report("u0", HELD)
    detector.report("u1", ABORTED)
    stand = {"u0": ("held by a person",) * 2, "u1": ("left alone",) * 2}
    assert await detector.simulated(check_text()) == stand
    assert await detector.simulated("backOffLimit: 0s", is_policy=True) == stand


def refused_text(text: str, *, is_policy: bool = False) -> Callable[[Inspector], Awaitable[object]]:
    return lambda asked: asked.simulate(SimulateInput(text=text, is_policy=is_policy))


@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        (
            refused_text(check_text(minHealthy=-5)),
            REFUSED,
            "spec.minHealthy: minHealthy must not be negative: -5",
        ),
        (refused_text("{kind: Pod}"), REFUSED, "kind: must be a ConfigMap with the policy, or "),
        (refused_text("kind: ["), REFUSED, "line 2 is not valid YAML"),
        (refused_text(""), REFUSED, "it is empty"),
        (
            refused_text("{limits: {maxInFlight: 0}}", is_policy=True),
            REFUSED,
            "limits.maxInFlight: must be at least 1 (found 0)",
        ),
        (
            lambda asked: asked.check(NameInput(name="absent")),
            NOT_FOUND,
            "no check is called 'absent'; there is ",
        ),
        (
            lambda asked: asked.explain(NameInput(name="absent")),
            NOT_FOUND,
            "no Node or Machine is called 'absent'",
        ),
    ],
)
async def test_wrong_name_or_text_fails_the_question_for_good_and_frees_its_place(
    ask: Callable[[Inspector], Awaitable[object]], kind: str, words: str
) -> None:
    asked = leading().inspector
    for _ in range(MOST_AT_ONCE + 1):
        with pytest.raises(ApplicationError) as failed:
            await ask(asked)
        assert (failed.value.type, failed.value.non_retryable) == (kind, True)
        assert failed.value.message.startswith(words)


async def test_detector_that_does_not_lead_answers_nothing() -> None:
    detector = leading()
    detector.leads = False
    for ask in (
        detector.inspector.check(NameInput(name="workers")),
        detector.inspector.explain(NameInput(name="u0")),
    ):
        with pytest.raises(NotLeading):
            await ask


async def test_question_beyond_the_bound_fails_at_once_and_temporal_asks_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    detector = leading(20)
    asking = [asyncio.create_task(detector.decided()) for _ in range(MOST_AT_ONCE)]
    await asyncio.sleep(0)
    with pytest.raises(Busy) as busy:
        await detector.decided()
    assert not busy.value.non_retryable
    assert busy.value.next_retry_delay is not None
    answers = await asyncio.gather(*asking)
    assert answers == [await detector.decided()] * MOST_AT_ONCE


async def test_other_tasks_run_between_two_targets_and_the_answer_is_of_one_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    detector = leading(50, 50, minHealthy=50)
    questions: list[Callable[[], Awaitable[object]]] = [
        lambda: detector.inspector.check(NameInput(name="workers")),
        lambda: detector.inspector.simulate(SimulateInput(text=check_text())),
        lambda: detector.inspector.simulate(SimulateInput(text="shadow: true", is_policy=True)),
    ]
    for ask in questions:
        expected = await ask()
        turns, asking = 0, asyncio.ensure_future(ask())
        while not asking.done():
            turns += 1
            await asyncio.sleep(0)
            if turns == 10:  # the state changes meanwhile
                detector.cluster.node("u49")
                detector.cluster.delete_node("h0")
        assert turns >= 50
        assert asking.result() == expected
        detector.cluster.unhealthy("u49")
        detector.cluster.node("h0")


async def test_other_tasks_run_between_two_checks_of_a_simulated_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    detector = leading(0, 1)
    for number in range(50):
        detector.cluster.check(f"check-{number}", minHealthy=0)
    question = SimulateInput(text="shadow: true", is_policy=True)
    turns, asking = 0, asyncio.ensure_future(detector.inspector.simulate(question))
    while not asking.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 50
    assert len(asking.result().checks) == 51


async def test_answer_that_would_be_too_long_counts_what_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    detector = leading(10)
    monkeypatch.setattr(inspector, "MOST_BYTES", 1_000)
    answer = await detector.inspector.check(NameInput(name="workers"))
    assert 0 < len(answer.decisions) < 10
    assert len(answer.decisions) + answer.left_out == answer.unhealthy == 10
    assert len(answer.model_dump_json()) < 2_000
    simulated = await detector.inspector.simulate(SimulateInput(text=check_text()))
    assert len(simulated.checks[0].simulated) + simulated.left_out == 10
    nothing = (await detector.inspector.explain(NameInput(name="u0"))).left_out
    assert nothing == 1


async def test_target_that_cannot_be_judged_is_unknown_and_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    detector = leading(2)
    over = Observer.over

    def failing(self: Observer, state: StateView, incident: IncidentReference, limit: Any) -> Any:
        if incident.target.name == "u0":
            raise ValueError("an odd object")
        return over(self, state, incident, limit)

    monkeypatch.setattr(Observer, "over", failing)
    answer = await detector.inspector.check(NameInput(name="workers"))
    assert [each.decided for each in answer.decisions] == ["unknown", "may act"]
    assert answer.decisions[0].message == "the detector cannot judge it: ValueError: an odd object"


def order_for(target: str = "h0", **fields: Any) -> PreviewOrderInput:
    given = {"target": target, "check": "workers", "reason": "hangs", "duration_seconds": 3600} | fields
    return PreviewOrderInput.model_validate(given)


async def test_order_to_remediate_is_previewed_with_what_it_waits_for_and_nothing_is_written() -> None:
    detector = leading(1, 2, Policy(limits=limits(maxInFlight=1)))
    detector.cluster.request("u0")
    before = everything(detector.state)
    preview = await detector.inspector.preview_order(order_for(identity="ada"))
    assert preview.refused is None
    assert (preview.check, preview.target.name, preview.order.identity) == (CHECK, "h0", "ada")
    assert preview.order.until - preview.order.given == HOUR
    assert preview.waits_for is not None
    assert preview.waits_for.reason == HoldReason.LIMIT
    assert everything(detector.state) == before


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"target": "u0"}, "it is unhealthy already"),
        ({}, "with it, 2 of 3 unhealthy, at most 1 allowed"),
        ({"is_forced": True}, "the policy does not allow --force"),
        ({"target": "h1"}, "an order stands until"),
    ],
    ids=["unhealthy", "threshold", "force", "another order"],
)
async def test_order_to_remediate_is_refused_with_the_reason(given: dict[str, Any], why: str) -> None:
    detector = leading(1, 1, minHealthy=2)
    detector.cluster.node("h1", annotations=annotated(remediation_order(check="another", boot_id="")))
    preview = await detector.inspector.preview_order(order_for(**given))
    assert preview.refused is not None
    assert preview.refused.startswith(why)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"check": "absent"}, "no check is called 'absent'"),
        ({"target": "alone"}, f"{CHECK} does not select 'alone'; checks that do: no check does"),
    ],
)
async def test_order_for_what_the_check_does_not_select_is_refused(given: dict[str, Any], why: str) -> None:
    detector = leading()
    detector.cluster.node("alone", labels={})
    with pytest.raises(ApplicationError, match=why) as refused:
        await detector.inspector.preview_order(order_for(**given))
    assert refused.value.type == NOT_FOUND
