"""Events of a Machine that was deleted or marked, or whose request a user deleted."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from health.gate.back_off import LostRequest
from health.kinds.openshift.kind import (
    EVENTS,
    deleted,
    deletion_failed,
    marked,
    marking_failed,
)
from health.kinds.openshift.machine import MachineTarget
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import RemediationAttempt
from objects.event import Event, Severity
from tests.support.values.openshift import NAMESPACE, machine

TARGET = MachineTarget(machine())
INCIDENT = IncidentReference(
    cluster="c",
    check=CheckReference(kind="MachineHealthCheck", namespace=NAMESPACE, name="workers"),
    target=TargetReference(kind="Machine", namespace=NAMESPACE, name="machine-1", uid="machine-uid"),
)
FIRST, SECOND = (
    RemediationAttempt(incident=INCIDENT, run_id="run-1"),
    RemediationAttempt(incident=INCIDENT, run_id="run-2"),
)
NAMED = f"{NAMESPACE}/workers/machine-1/node-1"


@pytest.mark.rule(
    "MHC A.1/event/MachineDeleted",
    "MHC A.1/event/MachineDeletionFailed",
    "MHC A.1/event/ExternalAnnotationAdded",
    "MHC A.1/event/ExternalAnnotationFailed",
)
@pytest.mark.parametrize(
    ("told", "severity", "reason", "message"),
    [
        (
            deleted(FIRST, TARGET),
            Severity.NORMAL,
            "MachineDeleted",
            f"Machine {NAMED} has been remediated by requesting to delete Machine object",
        ),
        (
            deletion_failed(FIRST, TARGET, "no."),
            Severity.WARNING,
            "MachineDeletionFailed",
            f"Machine {NAMED} remediation failed: unable to delete Machine object: no.",
        ),
        (
            marked(FIRST, TARGET),
            Severity.NORMAL,
            "ExternalAnnotationAdded",
            f"Requesting external remediation of node associated with machine {NAMED}",
        ),
        (
            marking_failed(FIRST, TARGET, "no."),
            Severity.WARNING,
            "ExternalAnnotationFailed",
            f"Requesting external remediation of node associated with machine {NAMED} failed: no.",
        ),
    ],
    ids=lambda value: value.reason if isinstance(value, Event) else "",
)
def test_texts_are_those_of_the_operator(told: Event, severity: Severity, reason: str, message: str) -> None:
    assert (told.severity, told.reason, told.message, told.action) == (severity, reason, message, "Remediate")


@pytest.mark.rule("rule 15")
def test_each_run_of_an_incident_tells_once_what_came_of_it() -> None:
    assert deletion_failed(FIRST, TARGET, "no.").seed == deletion_failed(FIRST, TARGET, "never.").seed
    assert deleted(FIRST, TARGET).seed != deletion_failed(FIRST, TARGET, "no.").seed
    assert deleted(FIRST, TARGET).seed != deleted(SECOND, TARGET).seed


@pytest.mark.rule("rule 15", "MHC A.1/event/ExternalAnnotationAdded")
def test_mark_that_is_set_again_after_its_removal_is_reported_again() -> None:
    again = FIRST.model_copy(update={"number": 2})
    assert marked(again, TARGET).seed != marked(FIRST, TARGET).seed


LOST = LostRequest(
    incident=INCIDENT,
    run_id="run-1",
    uids=("request-1",),
    due=datetime(2026, 3, 1, 12, 0, 7, 900_000, tzinfo=UTC),
    check_uid="check-uid",
    node_name="node-1",
)


@pytest.mark.rule("rule 14/event", "rule 14/deleted request")
def test_event_about_a_deleted_request_says_when_the_next_one_is_due() -> None:
    told = EVENTS.request_lost(LOST)
    assert (told.severity, told.reason) == (Severity.NORMAL, "RemediationRestricted")
    assert told.message == (
        f"Machine {NAMED} remediation restricted: "
        "BackOff: its request was removed by another actor, the next one is due at 2026-03-01T12:00:07Z"
    )
    assert told.subject is None, "it is of the Machine"


@pytest.mark.rule("rule 14/event", "rule 15")
def test_each_loss_is_reported_once() -> None:
    told, later = EVENTS.request_lost(LOST), replace(LOST, due=datetime(2026, 3, 1, 12, 1, tzinfo=UTC))
    assert EVENTS.request_lost(later).seed == told.seed, "the attempt that found it was made again"
    assert EVENTS.request_lost(replace(LOST, uids=("request-2",))).seed != told.seed
