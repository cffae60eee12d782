"""Findings about the Leases of leaders."""

from datetime import timedelta

import pytest

from cli.doctor.of_installation import leader_findings, other_leader_findings
from cli.doctor.of_operators import operator_findings
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.lease import LeaseRecord, new_lease
from tests.support.values.builders import NOW

LEASE = "paramedic-system/paramedic-detector"
UNHELD = f"no process holds the Lease {LEASE}, last renewed at"
FIFTEEN = timedelta(seconds=15)


def lease(seconds_ago: float, *, holder: str = "pod-1", namespace: str = "paramedic-system") -> LeaseRecord:
    renewed = NOW - timedelta(seconds=seconds_ago)
    body = new_lease("paramedic-detector", namespace, holder, FIFTEEN, renewed, None)
    body["metadata"] |= {"uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return LeaseRecord.model_validate(body)


@pytest.mark.parametrize(
    ("found", "what"),
    [
        (None, f"no detector has led yet: there is no Lease {LEASE}"),
        (lease(60), f"no detector leads: {UNHELD} 2026-03-01T11:59:00Z"),
        (lease(1, holder=""), f"no detector leads: {UNHELD} 2026-03-01T11:59:59Z"),
    ],
)
def test_lease_without_a_holder_means_that_no_detector_leads(found: LeaseRecord | None, what: str) -> None:
    (finding,) = leader_findings(LEASE, found, NOW)
    assert (finding.reason, finding.what) == ("NoDetector", what)


def test_lease_that_is_held_is_nothing_to_say() -> None:
    assert leader_findings(LEASE, lease(14), NOW) == []


def test_detector_that_leads_in_another_namespace_is_one_too_many() -> None:
    listed = [lease(1), lease(1, namespace="elsewhere", holder="pod-2"), lease(60, namespace="long-ago")]
    (finding,) = other_leader_findings("paramedic-detector", "paramedic-system", listed, NOW)
    assert finding.what == "'pod-2' leads as well, by the Lease elsewhere/paramedic-detector"
    assert finding.advice.endswith("(here: paramedic-system)")


def test_reference_controller_that_holds_its_lease_runs() -> None:
    (finding,) = operator_findings(MACHINE_HEALTH_CHECK, [lease(1), lease(60)], NOW)
    assert finding.what.startswith("the machine-api-operator runs: 'pod-1' holds ")


def test_lease_that_others_lead_by_as_well_is_no_proof_and_where_to_read_on_is_said() -> None:
    (finding,) = operator_findings(CLUSTER_API_MACHINE_HEALTH_CHECK, [lease(1), lease(60)], NOW)
    assert (finding.severity, finding.reason) == ("note", "ReferenceControllerMayRun")
    assert finding.what.endswith("and nothing says whether the one of machinehealthchecks is off")
    assert "docs/cluster-api-switch.md#switch" in finding.advice
