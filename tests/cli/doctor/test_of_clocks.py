"""Findings about clocks."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.doctor.finding import FindingSeverity
from cli.doctor.of_installation import detector_clock_findings, own_clock_findings
from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.lease import LeaseRecord, new_lease, renewed
from kube.resource import LEASES, Object
from kube.transport import Transport
from objects.timestamps import stamp
from tests.support.values.builders import NOW

FIFTEEN = timedelta(seconds=15)


def lease(ahead: float, *, holder: str = "pod-1", manager: str = "paramedic-detector") -> Object:
    body = new_lease("paramedic-detector", "x", holder, FIFTEEN, NOW + timedelta(seconds=ahead), None)
    body["metadata"]["managedFields"] = [
        {"manager": manager, "operation": "Update", "time": stamp(NOW - timedelta(hours=1))},
        {"manager": manager, "operation": "Update", "time": stamp(NOW)},
    ]
    return body


@pytest.mark.parametrize("skew", [None, timedelta(seconds=5), timedelta(seconds=-5), timedelta(0)])
def test_own_clock_that_agrees_is_nothing_to_say(skew: timedelta | None) -> None:
    assert list(own_clock_findings(skew)) == []


def test_own_clock_that_is_off_is_a_warning_that_names_its_machine() -> None:
    (finding,) = own_clock_findings(timedelta(seconds=-12))
    assert (finding.severity, finding.reason) == (FindingSeverity.WARNING, "ClockSkew")
    assert finding.what == "the clock of the machine that this runs on is 12s behind the API server's"


@pytest.mark.parametrize(
    ("ahead", "severity", "words"),
    [
        (8, FindingSeverity.WARNING, "7s ahead of the API server's"),
        (-8, FindingSeverity.WARNING, "7s behind the API server's"),
        (41, FindingSeverity.PROBLEM, "40s ahead of the API server's: every check is held"),
        (-41, FindingSeverity.PROBLEM, "40s behind the API server's: every check is held"),
    ],
)
def test_clock_of_the_detector_shows_in_its_lease(
    ahead: float, severity: FindingSeverity, words: str
) -> None:
    (finding,) = detector_clock_findings(lease(ahead))
    assert (finding.severity, finding.reason) == (severity, "DetectorClockSkew")
    assert finding.what == f"the clock of the detector that leads is {words}"


@pytest.mark.parametrize(
    "found",
    [
        lease(5),
        lease(-5),
        lease(60, holder=""),
        lease(60, manager="kubectl-edit"),
        {"metadata": {}},
        {"metadata": {}, "spec": {"holderIdentity": "x", "renewTime": "never"}},
        {"metadata": {}, "spec": {"holderIdentity": "x", "renewTime": "2026-03-01T12:00:00"}},
    ],
)
def test_lease_that_tells_of_no_skew_is_nothing_to_say(found: dict[str, Any]) -> None:
    assert list(detector_clock_findings(found)) == []


@pytest.mark.cluster
async def test_api_server_notes_when_a_renewal_came(control_plane: ControlPlane) -> None:
    name, ahead = "a-clock-that-is-off", timedelta(seconds=60)
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport, "paramedic-detector")
        right = new_lease(name, "default", "pod-1", FIFTEEN, datetime.now(UTC), None)
        created = LeaseRecord.model_validate(await client.create(LEASES, right, "default"))
        try:
            wrong = renewed(created, FIFTEEN, datetime.now(UTC) + ahead)
            found = await client.merge_patch(LEASES, name, wrong, "default")
        finally:
            await client.delete(LEASES, name, "default")
    (finding,) = detector_clock_findings(found)
    assert finding.severity is FindingSeverity.PROBLEM
