"""Events of a Node that waits: another controller has it, etcd needs it, or its back-off runs."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.gate.back_off import LostRequest
from health.kinds.nodehealthcheck.kind import request_lost
from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference, IncidentReference, TargetReference
from objects.event import Event, InvolvedObject, Severity
from tests.support.values.builders import expired, snapshot
from tests.support.values.reporter import Reporter

BY_LEASE = Hold(reason=HoldReason.TAKEN, message="maintenance holds its Lease")
BY_REQUEST = Hold(
    reason=HoldReason.TAKEN_BY_REQUEST, message="NodeHealthCheck/b has the request Reboot/ns/node-1 for it"
)


@pytest.mark.rule("NHC 1.5/RemediationSkipped/lease", "rule 13", "rule 15")
@pytest.mark.parametrize(
    ("hold", "why"),
    [
        pytest.param(BY_LEASE, "node lease is already taken: maintenance holds its Lease", id="by its Lease"),
        pytest.param(BY_REQUEST, BY_REQUEST.message, id="by a request"),
    ],
)
def test_taken_node_is_reported_once_with_what_holds_it(hold: Hold, why: str) -> None:
    reporter, taken = Reporter(), snapshot(replace(expired(), hold=hold))
    told = [note for note in reporter.sees(taken) if note[1] == "RemediationSkipped"]

    words = f"[remediation] Skipped remediation of node: node-1, because {why}"
    assert told == [(Severity.WARNING, "RemediationSkipped", words)]
    assert not reporter.sees(taken)


BY_ETCD = Hold(reason=HoldReason.CONTROL_PLANE, message="etcd allows no disruption now")
LOCKED = Hold(reason=HoldReason.CONTROL_PLANE, message="node-2 has the lock")
ETCD_WORDS = (
    "[remediation] Skipping remediation of node-1 for preventing control plane / etcd quorum loss, "
    "going to retry in a minute"
)
LEASE_WORDS = "[remediation] Skipped remediation of node: node-1, because node lease is already taken: "


def skipped(reporter: Reporter, hold: Hold | None = None, found: Hold | None = None) -> list[str]:
    """The new Events of the node under this hold."""
    notes = reporter.sees(snapshot(replace(expired(), hold=hold, found=found)))
    return [message for _, reason, message in notes if reason == "RemediationSkipped"]


@pytest.mark.rule("NHC 1.5/RemediationSkipped/control plane", "rule 15")
def test_node_that_etcd_cannot_spare_is_reported_once_when_its_act_found_that() -> None:
    reporter = Reporter()
    assert skipped(reporter) == []
    assert skipped(reporter, found=BY_ETCD) == [ETCD_WORDS]
    assert skipped(reporter, found=BY_ETCD) == []
    reporter.restarts()
    assert skipped(reporter) == []  # not heard yet
    assert skipped(reporter, found=BY_ETCD) == []


@pytest.mark.rule("NHC 1.5/RemediationSkipped/lease", "rule 13")
def test_node_whose_lease_its_act_found_taken_is_reported_with_the_holder() -> None:
    found = Hold(reason=HoldReason.TAKEN, message="maintenance holds its Lease")
    assert skipped(Reporter(), found=found) == [f"{LEASE_WORDS}{found.message}"]


@pytest.mark.rule("rule 15")
@pytest.mark.parametrize(
    ("seen", "found"),
    [pytest.param(BY_LEASE, BY_LEASE, id="Lease"), pytest.param(LOCKED, BY_ETCD, id="control plane")],
)
def test_finding_of_both_the_detector_and_an_act_is_reported_once(seen: Hold, found: Hold) -> None:
    reporter = Reporter()
    assert len(skipped(reporter, hold=seen)) == 1
    assert skipped(reporter, hold=seen, found=found) == []
    assert skipped(reporter, found=found) == []
    assert skipped(reporter, hold=seen) == []


@pytest.mark.parametrize("reason", [HoldReason.REFUSED, HoldReason.TEMPLATE])
def test_other_finding_of_an_act_is_reported_in_our_words(reason: HoldReason) -> None:
    words = "[remediation] Skipped remediation of node: node-1, because denied"
    assert skipped(Reporter(), found=Hold(reason=reason, message="denied")) == [words]


EXCLUDED = Hold(reason=HoldReason.EXCLUDED, message="it is excluded")


def in_back_off(which: str, due: str, earlier: int) -> TargetSnapshot:
    hold = Hold(reason=HoldReason.BACK_OFF, message=f"{which} remediation in a row, due at {due}")
    return replace(expired(), back_off=hold, earlier_attempts=earlier)


SECOND = in_back_off("2nd", "12:00:00Z", 1)
THIRD = in_back_off("3rd", "12:02:00Z", 2)


def skipped_in(reporter: Reporter, seen: CheckSnapshot) -> list[tuple[Severity, str, str]]:
    return [note for note in reporter.sees(seen) if note[1] == "RemediationSkipped"]


@pytest.mark.rule("rule 14/event", "rule 15")
def test_node_in_back_off_is_reported_once_with_the_time_when_it_is_due() -> None:
    reporter = Reporter()
    words = (
        "[remediation] Skipped remediation of node: node-1, because of "
        "BackOff: 2nd remediation in a row, due at 12:00:00Z"
    )
    assert skipped_in(reporter, snapshot(SECOND)) == [(Severity.WARNING, "RemediationSkipped", words)]
    assert skipped_in(reporter, snapshot(SECOND)) == []
    reporter.restarts()
    assert skipped_in(reporter, snapshot(SECOND)) == []


@pytest.mark.rule("rule 14/event", "rule 15")
def test_end_that_a_new_detector_knows_a_second_off_is_not_reported_again() -> None:
    reporter = Reporter()
    skipped_in(reporter, snapshot(SECOND))
    reporter.restarts()
    assert skipped_in(reporter, snapshot(in_back_off("2nd", "12:00:01Z", 1))) == []


@pytest.mark.rule("rule 14/event", "rule 15")
def test_each_remediation_in_a_row_is_reported() -> None:
    reporter = Reporter()
    assert len(skipped_in(reporter, snapshot(SECOND))) == 1
    assert len(skipped_in(reporter, snapshot(THIRD))) == 1


@pytest.mark.rule("rule 14/event", "rule 15")
def test_node_that_also_waits_for_something_else_is_reported_with_that_alone() -> None:
    (note,) = skipped_in(Reporter(), snapshot(replace(SECOND, hold=EXCLUDED)))
    assert "Exclude from Remediation" in note[2]


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
