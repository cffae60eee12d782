"""An order to remediate a target that looks healthy: how it is read, and the incident that obeys it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.ordered import fact_of, order_in_force, order_on
from health.check.same_boot import still_states
from health.kinds.clusterapi.machine import MachineAnnotations as ClusterApiAnnotations
from health.kinds.openshift.machine import MachineAnnotations as OpenShiftAnnotations
from health.model.moves import (
    End,
    Move,
    NextEvent,
    Outcome,
    Phase,
    RecordStep,
    RemoveRequests,
    TakeStep,
    Wait,
)
from health.model.node import Node, NodeAnnotations
from health.model.observation import Observation, TargetState
from health.model.references import CheckReference
from health.model.remediation_order import LONGEST_VALUE, REMEDIATE, RemediationOrder, order_in
from health.model.verdict import Health
from health.runbook.decide import next_move
from health.runbook.failures import LeftBehind
from health.runbook.learn import learned
from health.runbook.orders import AbortOrder, HoldOrder, ordered
from health.runbook.state import Memory
from objects.timestamps import stamp
from tests.support.values.builders import (
    EMPTY_CONTEXT,
    HOLD,
    INCIDENT,
    MINUTE,
    NOW,
    REBOOT,
    check,
    classic,
    condition,
    node_object,
    request_snapshot,
    seen,
)
from tests.support.values.remediation_orders import BOOT, NEXT_BOOT, ORDER, annotated, remediation_order
from tests.support.values.remediation_orders import ordered as by_order
from tests.support.values.remediation_orders import remediation_order as an_order

WORKERS = check(unhealthyConditions=[{"type": "Ready", "status": "False", "duration": "5m"}])
OTHER = CheckReference(kind="NodeHealthCheck", name="others")
VALID: dict[str, Any] = json.loads(annotated()[REMEDIATE])


YEARS = st.datetimes(datetime(1970, 1, 1), datetime(2999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  hypothesis adds the zone
WORDS = st.text(st.characters(codec="utf-8"))


def worker(*conditions: dict[str, Any], order: RemediationOrder | None = ORDER, boot: str = BOOT) -> Node:
    annotations = annotated(order) if order else {}
    raw = node_object(*conditions, labels={"role": "worker"}, annotations=annotations)
    raw["status"]["nodeInfo"] = {"bootID": boot}
    return Node.model_validate(raw)


def test_order_is_read_as_it_was_written() -> None:
    assert order_in(annotated()[REMEDIATE]) == ORDER
    assert ORDER.words == "its remediation was ordered by alice: its kubelet hangs"
    forced = remediation_order(is_forced=True, identity="")
    assert forced.words == "its remediation was ordered with --force: its kubelet hangs"


@pytest.mark.parametrize("annotations", [NodeAnnotations, OpenShiftAnnotations, ClusterApiAnnotations])
def test_every_kind_of_target_reads_the_annotation(annotations: type[Any]) -> None:
    fields = annotations.__pydantic_fields__
    assert fields["remediate"].alias == REMEDIATE


@pytest.mark.parametrize(
    "value",
    [
        "",
        "true",
        "[]",
        "{",
        json.dumps(VALID | {"reason": ""}),
        json.dumps({name: value for name, value in VALID.items() if name != "reason"}),
        json.dumps({name: value for name, value in VALID.items() if name != "until"}),
        json.dumps(VALID | {"given": "yesterday"}),
        json.dumps(VALID | {"given": "2026-03-01T12:00:00"}),
        json.dumps(VALID | {"until": VALID["given"]}),
        json.dumps(VALID | {"until": "2026-03-02T12:00:01Z"}),
        json.dumps(VALID | {"until": "9999-12-31T23:59:59Z"}),
        json.dumps(VALID | {"is_forced": "perhaps"}),
        json.dumps(VALID | {"reason": "x" * LONGEST_VALUE}),
    ],
)
def test_value_that_is_no_limited_order_orders_nothing(value: str) -> None:
    assert order_in(value) is None


@given(st.text() | st.binary().map(lambda raw: raw.decode(errors="replace")))
def test_no_text_breaks_the_parser(text: str) -> None:
    assert order_in(text) is None or order_in(text) == order_in(text)


@given(given_=YEARS, seconds=st.integers(1, 24 * 3600), reason=WORDS.filter(bool), identity=WORDS, boot=WORDS)
def test_every_order_survives_the_annotation(
    given_: Any, seconds: int, reason: str, identity: str, boot: str
) -> None:
    fields = {"check": "c", "reason": reason, "identity": identity, "boot_id": boot}
    order = RemediationOrder(given=given_, until=given_ + timedelta(seconds=seconds), **fields)
    text = annotated(order)[REMEDIATE]
    assert len(text) > LONGEST_VALUE or order_in(text) == order


@pytest.mark.parametrize(
    ("given_", "until", "over"),
    [
        (NOW - MINUTE, NOW + MINUTE, ""),
        (NOW + MINUTE, NOW + 2 * MINUTE, ""),
        (NOW - MINUTE, NOW, f"it expired at {stamp(NOW)}"),
        (NOW + 2 * MINUTE, NOW + 3 * MINUTE, f"it begins in the future, at {stamp(NOW + 2 * MINUTE)}"),
    ],
)
def test_order_is_over_after_its_end_and_more_than_a_minute_before_its_start(
    given_: datetime, until: datetime, over: str
) -> None:
    order = RemediationOrder(check="c", reason="it hangs", given=given_, until=until)
    assert order.why_over(NOW) == over


NOT_READY = condition("Ready", "False", NOW - 10 * MINUTE)
YOUNG = condition("Ready", "False", NOW - MINUTE)


@pytest.mark.parametrize(
    ("node", "health"),
    [
        pytest.param(worker(order=None), Health.HEALTHY, id="without an order"),
        pytest.param(worker(), Health.EXPIRED, id="the order alone"),
        pytest.param(worker(boot=NEXT_BOOT), Health.HEALTHY, id="it has booted since"),
        pytest.param(worker(boot=""), Health.EXPIRED, id="its boot is unknown"),
        pytest.param(worker(order=remediation_order(boot_id="")), Health.EXPIRED, id="its boot was unknown"),
        pytest.param(
            worker(order=remediation_order(check=str(OTHER))), Health.HEALTHY, id="of another check"
        ),
        pytest.param(worker(YOUNG), Health.WAITING, id="a timer runs"),
        pytest.param(worker(NOT_READY), Health.EXPIRED, id="its condition is unhealthy"),
    ],
)
def test_order_makes_a_target_unhealthy_that_its_conditions_call_healthy(node: Node, health: Health) -> None:
    verdict = WORKERS.verdict(node, NOW, EMPTY_CONTEXT)
    assert verdict.health is health
    assert WORKERS.is_unhealthy(node, EMPTY_CONTEXT) is (health is not Health.HEALTHY)
    assert WORKERS.counts_as_healthy(node, EMPTY_CONTEXT) is (health is Health.HEALTHY)


def test_verdict_of_an_order_names_person_and_reason_and_is_due_since_the_order() -> None:
    verdict = WORKERS.verdict(worker(), NOW + MINUTE, EMPTY_CONTEXT)
    assert verdict.reason == ORDER.words
    assert verdict.fact == fact_of(ORDER)
    assert verdict.deadline == NOW
    assert WORKERS.verdict(worker(NOT_READY), NOW, EMPTY_CONTEXT).fact != fact_of(ORDER)


def test_order_that_a_boot_fulfilled_stays_on_the_target() -> None:
    booted = worker(boot=NEXT_BOOT)
    assert order_in_force(INCIDENT.check, booted, EMPTY_CONTEXT) is None
    assert order_on(INCIDENT.check, booted) == ORDER
    assert order_on(OTHER, booted) is None


@pytest.mark.parametrize(
    ("node", "holds"),
    [
        (worker(), True),
        (worker(NOT_READY), True),
        (worker(order=None), False),
        (worker(boot=NEXT_BOOT), False),
        (worker(order=remediation_order(given=NOW - MINUTE)), False),
        (worker(order=remediation_order(check=str(OTHER))), False),
    ],
)
def test_act_by_an_order_needs_that_order_on_the_live_target(node: Node, *, holds: bool) -> None:
    assert still_states(WORKERS, fact_of(ORDER), node, EMPTY_CONTEXT) is holds


_NOTHING = LeftBehind()
HOUR = timedelta(hours=1)
LATER = an_order(given=NOW + 2 * HOUR, until=NOW + 3 * HOUR)


def of(state: TargetState, **fields: Any) -> Observation:
    return seen(state=state, admission=None, fact=None).model_copy(update=fields)


HEALTHY = of(TargetState.HEALTHY)


def after(memory: Memory, observation: Observation, now: Any = NOW) -> tuple[Memory, Move]:
    memory = learned(memory.at(now), observation, now)
    return memory, next_move(observation, memory, now)


def test_order_is_carried_out_like_a_failure_and_recorded_once() -> None:
    memory, move = after(Memory(), by_order())
    assert isinstance(move, TakeStep)
    assert ORDER.words in str(move.details)
    (record,) = memory.orders
    assert record.words == "remediate by alice: its kubelet hangs"
    assert (record.given, record.until, record.is_reported) == (NOW, ORDER.until, False)
    again, _ = after(memory, by_order())
    assert again.orders == memory.orders
    assert again.order == ORDER
    assert not again.standing


def test_record_of_a_forced_order_says_so() -> None:
    memory, _ = after(Memory(), by_order(an_order(is_forced=True)))
    assert memory.orders[0].words == "remediate --force by alice: its kubelet hangs"


def test_held_order_waits_visibly_until_it_expires() -> None:
    _, move = after(Memory(), by_order(hold=HOLD, admission=None))
    assert isinstance(move, Wait)
    assert move.phase is Phase.HELD
    assert str(HOLD) in str(move.details)
    ends = [one for one in move.until if one.event is NextEvent.ORDER_EXPIRES]
    assert [one.at for one in ends] == [ORDER.until]


def test_target_stays_unhealthy_after_its_request_until_it_boots() -> None:
    memory, _ = after(Memory(), by_order())
    request = request_snapshot(created=NOW)
    memory, move = after(memory, by_order().model_copy(update={"requests": (request,)}), NOW + MINUTE)
    assert not isinstance(move, RemoveRequests | End)
    booted = HEALTHY.model_copy(update={"requests": (request,), "order": ORDER})
    memory, move = after(memory, booted, NOW + 2 * MINUTE)
    assert isinstance(move, RemoveRequests)
    memory, move = after(memory.after_clean_up(_NOTHING, (request,), NOW), HEALTHY, NOW + 2 * MINUTE)
    assert isinstance(move, End)
    assert move.outcome is Outcome.REMEDIATED


def _aborted(memory: Memory) -> Memory:
    return ordered(memory, AbortOrder(reason="wrong node"), NOW)


@pytest.mark.parametrize(
    ("observation", "memory", "now", "why"),
    [
        pytest.param(
            by_order(), Memory(), ORDER.until, "it expired at 2026-03-01T13:00:00Z", id="it expired"
        ),
        pytest.param(by_order(), _aborted(Memory()), NOW, "a person aborted it", id="it is aborted"),
        pytest.param(
            classic(request_snapshot(created=NOW, succeeded=True), fact=by_order().fact, order=ORDER),
            Memory(),
            NOW + MINUTE,
            "its remediator reports success",
            id="its remediator reports success",
        ),
    ],
)
def test_order_that_is_over_is_removed_and_the_incident_ends(
    observation: Observation, memory: Memory, now: Any, why: str
) -> None:
    memory, move = after(memory, observation, now)
    assert memory.order_ended == why
    assert isinstance(move, RemoveRequests), move
    removed = observation.model_copy(update={"order": None, "requests": ()})
    memory = memory.after_clean_up(_NOTHING, observation.requests, now)
    memory, move = after(memory, removed, now)
    assert isinstance(move, End)
    assert str(move.details).endswith(f"healthy, and the order to remediate it is over: {why}")


@pytest.mark.parametrize(
    "request_",
    [
        request_snapshot(created=NOW, succeeded=False),
        request_snapshot(created=NOW),
        request_snapshot(created=NOW - MINUTE, succeeded=True),
    ],
    ids=["failed", "running", "before the order"],
)
def test_order_stands_while_no_request_made_for_it_reports_success(request_: Any) -> None:
    memory, move = after(Memory(), classic(request_, fact=by_order().fact, order=ORDER), NOW)
    assert memory.order_ended is None
    assert not isinstance(move, RemoveRequests | End)


def test_order_that_ended_stays_ended_while_its_removal_fails() -> None:
    request = request_snapshot(created=NOW, succeeded=True)
    memory, _ = after(Memory(), classic(request, fact=by_order().fact, order=ORDER))
    memory, move = after(memory, by_order())
    assert memory.order_ended == "its remediator reports success"
    assert isinstance(move, RemoveRequests)


def test_later_order_on_the_same_target_is_a_new_one() -> None:
    memory, _ = after(Memory(), by_order(), ORDER.until)
    memory, move = after(memory, by_order(LATER), LATER.given)
    assert memory.order == LATER
    assert memory.order_ended is None
    assert len(memory.orders) == 2
    assert isinstance(move, TakeStep)


def test_conditions_that_call_the_target_unhealthy_outlive_the_order() -> None:
    failed = seen(order=ORDER)
    memory, move = after(Memory(), failed, ORDER.until + MINUTE)
    assert memory.order_ended
    assert isinstance(move, TakeStep)


def test_order_gone_from_the_target_ends_the_incident() -> None:
    memory, _ = after(Memory(), by_order())
    _, move = after(memory, HEALTHY)
    assert isinstance(move, End)
    assert move.outcome is Outcome.RECOVERED


def test_hold_of_a_person_keeps_an_order_waiting() -> None:
    memory = ordered(Memory(), HoldOrder(reason="wait for me"), NOW)
    _, move = after(memory, by_order())
    assert isinstance(move, Wait)
    assert move.phase is Phase.HELD
    _, move = after(memory, by_order(), ORDER.until)
    assert isinstance(move, RemoveRequests)


def test_in_shadow_the_step_is_recorded_and_the_order_left_to_a_person() -> None:
    shadow = by_order(is_shadow=True)
    memory, move = after(Memory(), shadow)
    assert isinstance(move, RecordStep)
    _, move = after(memory, shadow, ORDER.until)
    assert isinstance(move, Wait)
    assert "waits until the annotation paramedic.dev/remediate is removed" in str(move.details)


@pytest.mark.parametrize("state", [TargetState.GONE, TargetState.RELEASED])
def test_order_ends_with_its_target(state: TargetState) -> None:
    memory, _ = after(Memory(), by_order())
    _, move = after(memory, of(state))
    assert isinstance(move, End)


def test_order_of_a_released_target_is_removed() -> None:
    _, move = after(Memory(), of(TargetState.RELEASED, order=ORDER))
    assert isinstance(move, RemoveRequests)


def test_first_step_of_an_order_is_the_first_of_the_check() -> None:
    _, move = after(Memory(), by_order())
    assert isinstance(move, TakeStep)
    assert by_order().steps[move.step].template == REBOOT
