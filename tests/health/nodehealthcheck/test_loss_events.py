"""The Event of a Node whose request a user deleted, which the operator does not emit (rule 14)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from health.gate.back_off import LostRequest
from health.kinds.nodehealthcheck.kind import request_lost
from health.model.references import CheckReference, IncidentReference, TargetReference
from objects.event import Event, InvolvedObject, Severity

INCIDENT = IncidentReference(
    cluster="c",
    check=CheckReference(kind="NodeHealthCheck", name="workers"),
    target=TargetReference(kind="Node", name="node-1", uid="node-uid"),
)
LOST = LostRequest(
    incident=INCIDENT,
    run_id="run-1",
    uids=("request-1",),
    due=datetime(2026, 3, 1, 12, tzinfo=UTC),
    check_uid="check-uid",
    node_name="node-1",
)


@pytest.mark.rule("rule 14/event", "rule 14/deleted request")
def test_check_tells_when_the_next_request_of_its_node_is_due() -> None:
    words = (
        "[remediation] Skipped remediation of node: node-1, because of BackOff: "
        "its request was removed by another actor, the next one is due at 2026-03-01T12:00:00Z"
    )
    check = InvolvedObject(
        api_version="remediation.medik8s.io/v1alpha1",
        kind="NodeHealthCheck",
        namespace="",
        name="workers",
        uid="check-uid",
    )
    seed = request_lost(LOST).seed
    expected = Event(
        seed=seed, severity=Severity.WARNING, reason="RemediationSkipped", message=words, subject=check
    )
    assert request_lost(LOST) == expected


@pytest.mark.rule("rule 14/event", "rule 15")
@pytest.mark.parametrize(
    ("other", "is_told_too"),
    [
        pytest.param(replace(LOST, due=datetime(2026, 3, 1, 13, tzinfo=UTC)), False, id="looked for again"),
        pytest.param(replace(LOST, uids=("request-2",)), True, id="the next request"),
        pytest.param(replace(LOST, run_id="run-2"), True, id="another run"),
    ],
)
def test_each_loss_is_reported_once(other: LostRequest, *, is_told_too: bool) -> None:
    assert (request_lost(other).seed != request_lost(LOST).seed) is is_told_too
