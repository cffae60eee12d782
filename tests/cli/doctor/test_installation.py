"""Questions about leaders, the installation, its status, its policy and clocks."""

from datetime import UTC, datetime, timedelta

import pytest

from cli.doctor import installation
from cli.doctor.finding import FindingSeverity
from cli.doctor.installation import skew_of_holder
from devcluster.control_plane import ControlPlane
from health.policy.outage_guard import OutageGuard
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from kube.client import Client
from kube.lease import LeaseRecord, new_lease, renewed
from kube.resource import LEASES, Object
from kube.transport import Transport
from objects.timestamps import stamp
from runtime.paramedic_status import (
    STALE,
    Installation,
    ParamedicStatusDocument,
    WorkerObservation,
    amended,
    by_leader,
    by_others,
    of_caches,
    of_refusals,
    of_slots,
)
from runtime.process_names import LEADER_LEASE
from tests.cli.doctor.known_cluster import KnownCluster, said
from tests.support.values.builders import NOW

LEASE = f"paramedic-system/{LEADER_LEASE}"
UNHELD = f"no process holds the Lease {LEASE}, last renewed at"
FIFTEEN = timedelta(seconds=15)


def lease(seconds_ago: float, *, holder: str = "pod-1", namespace: str = "paramedic-system") -> Object:
    body = new_lease(LEADER_LEASE, namespace, holder, FIFTEEN, NOW - timedelta(seconds=seconds_ago), None)
    body["metadata"] |= {"uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return body


@pytest.mark.parametrize(
    ("found", "what"),
    [
        (None, f"no detector has led yet: there is no Lease {LEASE}"),
        (lease(60), f"no detector leads: {UNHELD} 2026-03-01T11:59:00Z"),
        (lease(1, holder=""), f"no detector leads: {UNHELD} 2026-03-01T11:59:59Z"),
        (lease(14), None),
    ],
)
async def test_lease_without_a_holder_means_that_no_detector_leads(
    found: Object | None, what: str | None
) -> None:
    findings = await installation.no_leader.findings(KnownCluster(lease=found))
    assert [(one.reason, one.what) for one in findings] == ([] if what is None else [("NoDetector", what)])


async def test_detector_that_leads_in_another_namespace_is_one_too_many() -> None:
    bodies = [lease(1), lease(1, namespace="elsewhere", holder="pod-2"), lease(60, namespace="long-ago")]
    cluster = KnownCluster(leases=[LeaseRecord.model_validate(body) for body in bodies])
    (finding,) = await installation.another_leader.findings(cluster)
    assert finding.what == f"'pod-2' leads as well, by the Lease elsewhere/{LEADER_LEASE}"


WELL = by_leader("pod-1", None, WorkerObservation(1), "queue", timedelta())
AWAY = by_leader("pod-1", "Temporal at t:7233 does not answer", WorkerObservation(), "queue", timedelta())
REFUSED = (*WELL, of_refusals([f"incident-{number}: the id is too long" for number in range(5)]))
STATUSES = {
    "well": WELL,
    "away": AWAY,
    "nobody": by_others("ours/paramedic-detector"),
    "stuck": (*WELL, of_slots("maxInFlight=1 of the policy is reached: node-1 since noon", None)),
    "refused": REFUSED,
    "nearly full": (*WELL, of_caches({"nodes": 0.85})),
    "full": (*WELL, of_caches({"nodes": 1, "machines": 0.85})),
}
OF_STATUS = (
    installation.without_temporal,
    installation.slots_stuck,
    installation.incidents_refused,
    installation.cache_nearly_full,
    installation.cache_full,
)


@pytest.mark.parametrize(
    ("written", "age", "finding", "words"),
    [
        ("", timedelta(), None, ""),
        ("well", timedelta(), None, ""),
        ("nobody", timedelta(), None, ""),
        ("away", STALE, None, ""),
        ("away", timedelta(), "problem DetectorWithoutTemporal", "Temporal at t:7233 does not answer"),
        ("stuck", timedelta(), "warning SlotsStuck", "maxInFlight=1 of the policy is reached: node-1 since"),
        ("refused", timedelta(), "problem IncidentsRefused", "incident-2: the id is too long; and 2 more"),
        ("nearly full", timedelta(), "warning CacheNearlyFull", "nodes (85%)"),
        ("full", timedelta(), "problem CacheFull", "no memory left for nodes (100%), and"),
    ],
)
async def test_conditions_that_the_leader_reports_as_false_are_findings(
    written: str, age: timedelta, finding: str | None, words: str
) -> None:
    status = amended(ParamedicStatusDocument(), STATUSES[written], "pod-1", NOW) if written else None
    cluster = KnownCluster(status=status, now=NOW + age)
    found = [one for question in OF_STATUS for one in await question.findings(cluster)]
    assert [f"{one.severity} {one.reason}" for one in found] == ([] if finding is None else [finding])
    for one in found:
        assert one.what.startswith("pod-1 reports since 2026-03-01T12:00:00Z: ")
        assert words in one.what


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ({"cluster": "prod-1a2b3c4d"}, "has the cluster 'prdo'; there is prod-1a2b3c4d"),
        ({"lease_namespace": "leases"}, "works with Leases in leases, not with medik8s-leases"),
        ({"temporal_namespace": "nodes"}, "works with the Temporal namespace nodes, not with default"),
        ({"cluster": "prdo-1a2b3c4d", "temporal_namespace": "default"}, None),
        ({}, None),
    ],
)
async def test_command_that_is_configured_otherwise_than_the_detector_is_a_problem(
    stored: dict[str, str], words: str | None
) -> None:
    cluster = KnownCluster(status=ParamedicStatusDocument(installation=Installation(**stored)))
    found = await installation.other_installation.findings(cluster)
    assert [(one.reason, (words or "") in one.what) for one in found] == (
        [] if words is None else [("OtherInstallation", True)]
    )


@pytest.mark.parametrize(
    ("policy", "what"),
    [
        (Policy(), []),
        (Policy(orders_by_annotation=False, forced_orders=True), []),
        (Policy(forced_orders=True), ["1 at a time for each check, also past the threshold (forcedOrders)"]),
        (Policy(max_orders_in_flight=3), ["3 at a time for each check"]),
    ],
)
async def test_orders_that_may_do_more_than_by_default_are_named(policy: Policy, what: list[str]) -> None:
    in_force = PolicyInForce(policy=policy.model_copy(update={"outage_guard": OutageGuard()}))
    found = await installation.orders_open.findings(KnownCluster(policy=in_force))
    assert [finding.reason for finding in found] == ["OrdersOpen"] * len(what)
    assert all(finding.what.endswith(words) for finding, words in zip(found, what, strict=True))


@pytest.mark.parametrize("skew", [None, timedelta(seconds=5), timedelta(seconds=-5), timedelta(0)])
async def test_own_clock_that_agrees_is_no_finding(skew: timedelta | None) -> None:
    assert await said(installation.own_clock, KnownCluster(skew=skew)) == []


async def test_own_clock_that_is_off_is_a_warning_that_names_its_machine() -> None:
    (line,) = await said(installation.own_clock, KnownCluster(skew=timedelta(seconds=-12)))
    assert line.startswith(
        "warning: the clock of the machine that this runs on is 12s behind the API server's: set it"
    )


def written(ahead: float, *, holder: str = "pod-1", manager: str = "paramedic-detector") -> Object:
    body = lease(-ahead, holder=holder)
    body["metadata"]["managedFields"] = [
        {"manager": manager, "operation": "Update", "time": stamp(NOW - timedelta(hours=1))},
        {"manager": manager, "operation": "Update", "time": stamp(NOW)},
    ]
    return body


@pytest.mark.parametrize(
    ("ahead", "severity", "words"),
    [
        (8, FindingSeverity.WARNING, "7s ahead of the API server's"),
        (-8, FindingSeverity.WARNING, "7s behind the API server's"),
        (41, FindingSeverity.PROBLEM, "40s ahead of the API server's: every check is held"),
        (-41, FindingSeverity.PROBLEM, "40s behind the API server's: every check is held"),
    ],
)
async def test_clock_of_the_detector_shows_in_its_lease(
    ahead: float, severity: FindingSeverity, words: str
) -> None:
    (finding,) = await installation.detector_clock.findings(KnownCluster(lease=written(ahead)))
    assert (finding.severity, finding.reason) == (severity, "DetectorClockSkew")
    assert finding.what == f"the clock of the detector that leads is {words}"


@pytest.mark.parametrize(
    "found",
    [
        None,
        written(5),
        written(-5),
        written(60, holder=""),
        written(60, manager="kubectl-edit"),
        {"metadata": {}},
        {"metadata": {}, "spec": {"holderIdentity": "x", "renewTime": "never"}},
        {"metadata": {}, "spec": {"holderIdentity": "x", "renewTime": "2026-03-01T12:00:00"}},
    ],
)
async def test_lease_that_shows_no_skew_is_no_finding(found: Object | None) -> None:
    assert await said(installation.detector_clock, KnownCluster(lease=found)) == []


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
    skew = skew_of_holder(found)
    assert skew is not None
    assert abs(skew - ahead) < timedelta(seconds=10)
