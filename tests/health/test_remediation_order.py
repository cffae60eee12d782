"""A person's order to remediate a target that looks healthy: how it is read, and its effect on verdicts."""

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
from health.model.node import Node, NodeAnnotations
from health.model.references import CheckReference
from health.model.remediation_order import LONGEST_VALUE, REMEDIATE, RemediationOrder, order_in
from health.model.verdict import Health
from objects.timestamps import stamp
from tests.support.values.builders import (
    EMPTY_CONTEXT,
    INCIDENT,
    MINUTE,
    NOW,
    check,
    condition,
    node_object,
)
from tests.support.values.remediation_orders import BOOT, NEXT_BOOT, ORDER, annotated, remediation_order

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
