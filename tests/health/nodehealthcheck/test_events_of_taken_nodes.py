"""Events of a Node that another controller has, or that etcd needs: the operator's messages, then ours."""

from dataclasses import replace

import pytest

from health.model.observation import Hold, HoldReason
from objects.event import Severity
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
