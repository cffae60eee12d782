"""Events of a MachineHealthCheck about one Machine (MHC A.1), from its failure to the loss of its request."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from health.gate.back_off import LostRequest
from health.kinds.openshift.kind import EVENTS, MACHINE_HEALTH_CHECK, event_of_step
from health.kinds.openshift.machine import MachineTarget
from health.model.observation import Hold, HoldReason
from health.model.references import Action, CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import RemediationAttempt
from health.model.verdict import Fact
from objects.event import Event, InvolvedObject, Severity
from tests.health.openshift.told import (
    DETECTED,
    FORTY,
    SKIPPED,
    blocked,
)
from tests.support.values.builders import NOW, request_snapshot
from tests.support.values.machines import expired, waiting
from tests.support.values.openshift import (
    NAMESPACE,
    NO_CONTROLLER,
    failed,
    machine,
    snapshot,
    starting,
)
from tests.support.values.reporter import Reporter


@pytest.mark.rule("MHC A.1/event/DetectedUnhealthy", "MHC A.1/event/form")
def test_machine_whose_timer_begins_to_run_is_reported_with_its_node(reporter: Reporter) -> None:
    (note,) = reporter.tells(snapshot(waiting(), of=FORTY, healthy=4))

    assert (note.severity, note.reason, note.message) == DETECTED
    assert note.action == "HealthCheck"
    assert note.subject == InvolvedObject(
        api_version="machine.openshift.io/v1beta1",
        kind="Machine",
        namespace=NAMESPACE,
        name="machine-1",
        uid="uid-machine-1",
    )


@pytest.mark.rule("MHC A.1/event/DetectedUnhealthy", "rule 15")
def test_machine_is_reported_once_for_each_time_that_it_fails(reporter: Reporter) -> None:
    assert reporter.sees(snapshot(waiting())) == [DETECTED]
    for same in (waiting(), expired()):
        assert reporter.sees(snapshot(same)) == []
    reporter.restarts()
    assert reporter.sees(snapshot(expired())) == []
    assert reporter.sees(snapshot()) == []
    assert reporter.sees(snapshot(waiting(since=NOW + timedelta(hours=1)))) == [DETECTED]


@pytest.mark.rule("MHC A.1/event/DetectedUnhealthy", "rule 11")
def test_machine_that_is_made_anew_under_its_name_is_reported_too(reporter: Reporter) -> None:
    reporter.sees(snapshot(waiting()))
    anew = replace(waiting(), uid="uid-of-the-next")

    assert [note.subject.uid for note in reporter.tells(snapshot(anew)) if note.subject] == [anew.uid]
    assert reporter.sees(snapshot(anew)) == []


@pytest.mark.rule("MHC A.1/event/DetectedUnhealthy")
def test_machine_that_failed_without_a_timer_is_reported_by_its_remediation(reporter: Reporter) -> None:
    assert reporter.sees(snapshot(failed())) == []


@pytest.mark.rule("MHC A.1/event/DetectedUnhealthy")
def test_machines_that_were_held_are_reported_when_the_hold_is_lifted(reporter: Reporter) -> None:
    reporter.sees(blocked(expired()))

    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=4)) == [DETECTED]


@pytest.mark.rule("MHC A.1/event/SkippedNoController", "MHC A.1/event/form", "MHC A.2.5/no controller")
def test_machine_without_a_controller_is_reported_once_its_time_is_over(reporter: Reporter) -> None:
    reporter.sees(snapshot(waiting()))
    left = snapshot(expired(hold=NO_CONTROLLER))
    (note,) = reporter.tells(left)

    assert (note.severity, note.reason, note.message) == SKIPPED
    assert note.action == "Remediate"
    assert note.subject is not None
    assert note.subject.name == "machine-1"
    assert reporter.sees(left) == []
    reporter.restarts()
    assert reporter.sees(left) == []


@pytest.mark.rule("MHC A.1/event/SkippedNoController")
def test_machine_that_something_else_holds_is_not_reported_as_skipped(reporter: Reporter) -> None:
    earlier = Hold(reason=HoldReason.EARLIER_REQUEST, message="a request for an earlier one is still there")

    told = [reason for _, reason, _ in reporter.sees(snapshot(expired(hold=earlier)))]
    assert told == ["DetectedUnhealthy", "RemediationRestricted"]


@pytest.mark.rule("rule 13/Machine", "rule 15")
def test_machine_that_another_client_holds_is_reported_once_for_each_way_to_hold_it(
    reporter: Reporter,
) -> None:
    reporter.sees(snapshot(expired()))
    for hold in (
        Hold(reason=HoldReason.TAKEN, message="maintenance holds its Lease"),
        Hold(reason=HoldReason.TAKEN_BY_REQUEST, message="another owner has the request Reboot/a/b for it"),
    ):
        (note,) = reporter.tells(snapshot(expired(hold=hold)))

        words = f"Machine {NAMESPACE}/workers/machine-1/node-1 remediation restricted: {hold}"
        assert (note.severity, note.reason, note.message) == (
            Severity.NORMAL,
            "RemediationRestricted",
            words,
        )
        assert note.action == "Remediate"
        assert note.subject is not None
        assert note.subject.name == "machine-1"
        assert reporter.sees(snapshot(expired(hold=hold))) == []
        reporter.restarts()
        assert reporter.sees(snapshot(expired(hold=hold))) == []


@pytest.mark.rule("rule 13/Machine", "rule 15")
def test_machine_whose_lease_its_act_found_taken_is_reported_once_with_the_holder(reporter: Reporter) -> None:
    reporter.sees(snapshot(expired()))
    found = Hold(reason=HoldReason.TAKEN, message="maintenance holds its Lease")
    seen = Hold(reason=HoldReason.TAKEN, message="maintenance holds its Lease")
    (note,) = reporter.tells(snapshot(expired(found=found)))

    assert note.message == f"Machine {NAMESPACE}/workers/machine-1/node-1 remediation restricted: {found}"
    for same in (expired(found=found), expired(hold=seen, found=found), expired(hold=seen)):
        assert reporter.sees(snapshot(same)) == []


@pytest.mark.rule("rule 39", "rule 15", "MHC A.1/event/DetectedUnhealthy")
@pytest.mark.parametrize(("is_of_operator", "told"), [(True, []), (False, [DETECTED])])
def test_machine_with_a_request_of_the_operator_was_reported_by_it(
    is_of_operator: bool,  # noqa: FBT001  a column of the table
    told: list[object],
) -> None:
    requests = (request_snapshot(is_of_operator=is_of_operator),)

    assert Reporter(MACHINE_HEALTH_CHECK).sees(snapshot(expired(requests=requests), of=FORTY)) == told


@pytest.mark.rule("rule 14/event", "rule 15")
def test_machine_in_back_off_is_reported_once_for_each_remediation_in_a_row(reporter: Reporter) -> None:
    hold = Hold(reason=HoldReason.BACK_OFF, message="2nd remediation in a row, due at 12:00:00Z")
    second = replace(expired(), back_off=hold, earlier_attempts=1)
    reporter.sees(snapshot(expired()))
    (note,) = reporter.tells(snapshot(second))

    words = f"Machine {NAMESPACE}/workers/machine-1/node-1 remediation restricted: {hold}"
    assert (note.severity, note.reason, note.message) == (Severity.NORMAL, "RemediationRestricted", words)
    assert note.subject is not None
    assert note.subject.name == "machine-1"
    assert reporter.sees(snapshot(second)) == []
    reporter.restarts()
    assert reporter.sees(snapshot(second)) == []
    assert len(reporter.sees(snapshot(replace(second, earlier_attempts=2)))) == 1


@pytest.mark.rule("MHC A.1/event/DetectedUnhealthy", "rule 15")
def test_machine_without_a_node_is_reported_once_however_often_its_status_is_written(
    reporter: Reporter,
) -> None:
    assert reporter.sees(snapshot(starting())) == [DETECTED]
    assert reporter.sees(snapshot(starting(since=NOW + timedelta(minutes=1)))) == []
    reporter.restarts()
    assert reporter.sees(snapshot(starting(since=NOW + timedelta(minutes=2)))) == []
    assert reporter.sees(snapshot()) == []
    late = NOW + timedelta(hours=1)
    assert reporter.sees(snapshot(starting(since=late)), late) == [DETECTED]


def test_machine_that_fails_for_another_reason_is_reported_again(reporter: Reporter) -> None:
    reporter.sees(snapshot(waiting()))
    other = waiting()
    assert other.verdict.fact is not None
    missing = Fact(condition="Node", status="missing", since=NOW)
    verdict = replace(other.verdict, reason="", fact=missing)

    assert reporter.sees(snapshot(replace(other, verdict=verdict, node_name="node-1"))) == [DETECTED]


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
            event_of_step(FIRST, TARGET, Action.DELETE),
            Severity.NORMAL,
            "MachineDeleted",
            f"Machine {NAMED} has been remediated by requesting to delete Machine object",
        ),
        (
            event_of_step(FIRST, TARGET, Action.DELETE, "no."),
            Severity.WARNING,
            "MachineDeletionFailed",
            f"Machine {NAMED} remediation failed: unable to delete Machine object: no.",
        ),
        (
            event_of_step(FIRST, TARGET, Action.MARK),
            Severity.NORMAL,
            "ExternalAnnotationAdded",
            f"Requesting external remediation of node associated with machine {NAMED}",
        ),
        (
            event_of_step(FIRST, TARGET, Action.MARK, "no."),
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
    taken = event_of_step(FIRST, TARGET, Action.DELETE)
    refused = event_of_step(FIRST, TARGET, Action.DELETE, "no.")
    assert refused.seed == event_of_step(FIRST, TARGET, Action.DELETE, "never.").seed
    assert taken.seed != refused.seed
    assert taken.seed != event_of_step(SECOND, TARGET, Action.DELETE).seed


@pytest.mark.rule("rule 15", "MHC A.1/event/ExternalAnnotationAdded")
def test_mark_that_is_set_again_after_its_removal_is_reported_again() -> None:
    again = FIRST.model_copy(update={"number": 2})
    assert event_of_step(again, TARGET, Action.MARK).seed != event_of_step(FIRST, TARGET, Action.MARK).seed


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
