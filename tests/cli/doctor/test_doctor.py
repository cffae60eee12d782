"""`paramedic doctor` on real servers: its findings and exit codes, also while a cluster is set up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client as TemporalClient

from cli.doctor.finding import FindingSeverity
from devcluster import assets, manifests
from devcluster import control_plane as control_planes
from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from devcluster.temporal import RETENTION, TemporalServer
from health.model.evidence import LABEL
from health.policy.policy import KEY, POLICY
from health.policy.policy_in_force import SHADOW
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.errors import NotFound
from kube.leader import LeaderElection, Leadership
from kube.lease import new_lease
from kube.resource import CONFIG_MAPS, LEASES, NAMESPACES, Object
from kube.transport import Transport
from tests.cli.doctor.conftest import CLUSTER, AsUser
from tests.cli.doctor.findings import about, findings, listed, reasons
from tests.cli.doctor.status_writes import (
    MACHINE_CHECKS,
    THEIRS,
    next_second,
    write_status,
)
from tests.support.api.eventually import eventually
from tests.support.api.ports import free_port, own_layout
from tests.support.cluster.command import Command
from tests.support.cluster.temporal_servers import client_of
from tests.support.story.fleet import Fleet

pytestmark = pytest.mark.cluster


@pytest.fixture
def doctor(as_user: AsUser, control_plane: ControlPlane) -> Command:
    return as_user(control_plane.kubeconfig)


async def test_other_controller_that_writes_the_status_of_a_check_is_found(
    doctor: Command, transport: Transport, machine_check: str
) -> None:
    assert about(await findings(doctor), machine_check) == []

    await next_second()
    await write_status(transport, THEIRS, machine_check, healthy=2)
    (found,) = [finding for finding in await findings(doctor) if machine_check in finding.what]
    assert found.reason == "StatusWrittenByAnother"
    assert found.what.startswith("'machine-healthcheck' wrote the status of MachineHealthCheck")

    shadow = {"metadata": {"annotations": {SHADOW: "true"}}}
    await Client(transport).merge_patch(MACHINE_CHECKS, machine_check, shadow, "default")
    assert about(await findings(doctor), machine_check) == ["InShadow"]


async def test_check_of_a_kind_that_is_not_handled_is_nothing_to_look_at(
    doctor: Command, transport: Transport, machine_check: str
) -> None:
    await write_status(transport, THEIRS, machine_check, healthy=2)
    only_nodes = ("--check-kinds", "nodehealthchecks.remediation.medik8s.io")
    ran = await doctor("doctor", "-o", "json", *only_nodes)
    assert about(listed(ran), machine_check) == []


async def test_check_that_is_disabled_is_found_with_its_reason(doctor: Command, client: Client) -> None:
    name = f"doctor-{uuid4().hex[:8]}"
    template = {"apiVersion": "v1", "kind": "NoTemplate", "name": "none", "namespace": "default"}
    selector = {"matchLabels": {"nobody": name}}
    body: Object = {
        "apiVersion": NODE_HEALTH_CHECKS.api_version,
        "kind": NODE_HEALTH_CHECKS.kind,
        "metadata": {"name": name},
        "spec": {"selector": selector, "minHealthy": "51%", "remediationTemplate": template},
    }
    disabled = {"type": "Disabled", "status": "True", "reason": "TemplateNotFound", "message": "no template"}
    disabled["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    await client.create(NODE_HEALTH_CHECKS, body)
    try:
        status = {"status": {"conditions": [disabled]}}
        await client.merge_patch(NODE_HEALTH_CHECKS, name, status, subresource="status")
        found = await findings(doctor)
    finally:
        await client.delete(NODE_HEALTH_CHECKS, name)
    assert about(found, f"{name} is disabled: TemplateNotFound: no template") == ["CheckDisabled"]


async def test_reference_controller_that_leads_and_the_global_stop_are_found(
    doctor: Command, client: Client
) -> None:
    name = "cluster-api-provider-healthcheck-leader"
    held = new_lease(name, "default", "maco-1", timedelta(minutes=2), datetime.now(UTC), None)
    await client.create(LEASES, held, "default")
    policy = {"metadata": {"name": POLICY}, "data": {"policy.yaml": "backOffLimit: soon"}}
    await client.create(CONFIG_MAPS, policy, "paramedic-system")
    stop = {"metadata": {"annotations": {"paramedic.dev/stop": "power work"}}}
    await client.merge_patch(NAMESPACES, "medik8s-leases", stop)
    try:
        found = await findings(doctor)
    finally:
        await client.merge_patch(
            NAMESPACES, "medik8s-leases", {"metadata": {"annotations": {"paramedic.dev/stop": None}}}
        )
        await client.delete(CONFIG_MAPS, POLICY, "paramedic-system")
        with suppress(NotFound):
            await client.delete(LEASES, name, "default")
    refused = (
        "ConfigMap paramedic-system/paramedic-policy cannot be taken: policy.yaml: backOffLimit: must be"
    )
    assert about(found, refused) == ["PolicyRefused"]
    assert about(found, "'maco-1' holds the Lease default/cluster-api") == ["ReferenceRuns"]
    assert about(found, "stopped in the whole cluster: power work") == ["Stopped"]


@pytest.mark.parametrize(("own", "other"), [("detector", "worker"), ("worker", "detector")])
async def test_process_has_its_own_rights_and_cannot_tell_those_of_the_other(
    as_user: AsUser, control_plane: ControlPlane, own: str, other: str
) -> None:
    kubeconfigs = {"detector": control_plane.detector_kubeconfig, "worker": control_plane.worker_kubeconfig}
    found = await findings(as_user(kubeconfigs[own]))
    assert "RightMissing" not in reasons(found)
    seen_by_others = [finding for finding in found if finding.reason in ("RightsUnknown", "CannotLook")]
    assert {finding.severity for finding in seen_by_others} == {FindingSeverity.NOTE}, seen_by_others
    (unknown,) = (finding for finding in found if finding.reason == "RightsUnknown")
    assert unknown.what.endswith(f":paramedic-{own}' cannot review the rights of the {other}")


async def test_rights_that_are_missing_are_named_with_what_grants_them(
    doctor: Command, transport: Transport, machine_check: str
) -> None:
    wanted = {"metadata": {"annotations": {LABEL: "ConfigMap"}}}
    await Client(transport).merge_patch(MACHINE_CHECKS, machine_check, wanted, "default")
    ran = await doctor("doctor", "-o", "json", PARAMEDIC_NAMESPACE="elsewhere")
    missing = [str(finding) for finding in listed(ran) if finding.reason == "RightMissing"]
    assert "problem: the detector may not list, watch nodes: apply deploy/base/rbac/detector.yaml" in missing
    assert (
        "problem: the worker may not get, delete, patch machines.machine.openshift.io: "
        "apply deploy/components/openshift-machines/machine-health-checks.yaml"
    ) in missing
    evidence = [line for line in missing if line.endswith("apply deploy/components/evidence/rights.yaml")]
    assert len(evidence) == 3
    assert evidence[2].startswith("problem: the worker may not create, list, delete configmaps in elsewhere:")


@pytest.mark.parametrize(("pause", "is_asked"), [("on", True), ("off", False)])
async def test_rights_for_the_upgrade_pause_are_asked_for_also_where_its_checks_are_not_handled(
    doctor: Command, pause: str, *, is_asked: bool
) -> None:
    settings = {
        "PARAMEDIC_NAMESPACE": "elsewhere",
        "PARAMEDIC_CHECK_KINDS": "nodehealthchecks.remediation.medik8s.io",
        "PARAMEDIC_UPGRADE_SIGNALS": "v1/Node/Upgrading=True",
        "PARAMEDIC_UPGRADE_PAUSE": pause,
    }
    ran = await doctor("doctor", "-o", "json", **settings)
    missing = [str(finding) for finding in listed(ran) if finding.reason == "RightMissing"]
    right = "the worker may not get, list, patch machinehealthchecks.machine.openshift.io"
    assert (f"problem: {right}: apply deploy/components/openshift/upgrade-pause.yaml" in missing) is is_asked


async def test_temporal_that_is_not_there_is_a_finding_among_the_others(doctor: Command) -> None:
    address = f"127.0.0.1:{free_port()}"
    found = await findings(doctor, "--address", address)
    assert {"TemporalUnreachable", "NoDetector"} <= reasons(found)


async def test_namespace_that_is_not_there_is_a_finding(doctor: Command) -> None:
    found = await findings(doctor, "--namespace", "nowhere")
    assert "NamespaceMissing" in reasons(found)
    assert "NoWorker" not in reasons(found)


async def test_namespace_that_is_not_set_up_and_forgets_too_soon_is_reported_as_both(
    doctor: Command, client: Client, temporal_server: TemporalServer
) -> None:
    temporal = await TemporalClient.connect(temporal_server.address)
    made = RegisterNamespaceRequest(namespace="bare")
    made.workflow_execution_retention_period.FromTimedelta(RETENTION)
    await temporal.workflow_service.register_namespace(made)
    found = await findings(doctor, "--namespace", "bare")
    assert about(found, "namespace bare lacks the search attributes ParamedicCluster, ") == [
        "SearchAttributesMissing"
    ]
    too_short = "namespace bare keeps closed workflows for 30d, and back-off looks back for 60d"
    assert about(found, too_short) == []

    policy = {"metadata": {"name": POLICY}, "data": {"policy.yaml": "backOffLimit: 720h"}}
    await client.create(CONFIG_MAPS, policy, "paramedic-system")
    try:
        assert about(await findings(doctor, "--namespace", "bare"), too_short) == ["RetentionTooShort"]
    finally:
        await client.delete(CONFIG_MAPS, POLICY, "paramedic-system")


@pytest.mark.rule("rule 51")
async def test_required_policy_that_is_missing_or_blank_is_found(doctor: Command, client: Client) -> None:
    required = {"PARAMEDIC_MISSING_POLICY": "hold"}
    missing = "is required and missing in the namespace paramedic-system: every check is held"
    assert about(await findings(doctor, **required), missing) == ["PolicyMissing"]
    assert about(await findings(doctor), missing) == []

    await client.create(CONFIG_MAPS, {"metadata": {"name": POLICY}}, "paramedic-system")
    try:
        assert about(await findings(doctor, **required), missing) == ["PolicyMissing"]
    finally:
        await client.delete(CONFIG_MAPS, POLICY, "paramedic-system")


async def test_cluster_that_is_not_there_is_one_finding_and_temporal_is_looked_at(
    doctor: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    missing = tmp_path_factory.mktemp("none") / "kubeconfig"
    ran = await doctor("doctor", KUBECONFIG=str(missing))
    assert (ran.code, ran.err) == (1, "1 problem\n")
    assert ran.out == (
        f"problem: the cluster cannot be looked at, because the kubeconfig {missing} cannot be used: "
        "there is no such file: correct KUBECONFIG, or the API server\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--check-kinds", "nodes"), "--check-kinds: there is no kind 'nodes', "),
        (("--cluster", "No Name"), "--cluster: "),
    ],
)
async def test_setting_that_cannot_be_used_is_wrong_usage(
    doctor: Command, arguments: tuple[str, str], words: str
) -> None:
    ran = await doctor("doctor", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"paramedic: {words}")
    assert ran.err.count("\n") == 1


NOTES = {"OutageGuardOff"}
WITH_GUARD = {"metadata": {"name": POLICY}, "data": {KEY: "outageGuard: {}"}}


async def test_cluster_that_is_set_up_step_by_step_ends_with_nothing_wrong(
    as_user: AsUser, temporal_server: TemporalServer, tmp_path: Path
) -> None:
    async with control_planes.control_plane(own_layout(tmp_path), assets.find()) as plane:
        doctor = as_user(plane.kubeconfig)
        found = await findings(doctor)
        not_there = {"KindNotServed", "StatusNotServed", "LeaseNamespaceMissing", "RightMissing"}
        assert reasons(found) == {*not_there, "NoDetector", "NoWorker", *NOTES}
        assert sum(finding.reason == "KindNotServed" for finding in found) == 2

        await manifests.install(plane.kubeconfig)
        assert reasons(await findings(doctor)) == {"NoDetector", "NoWorker", *NOTES}

        async with at_work(plane.kubeconfig, temporal_server) as identity:
            both = await asyncio.gather(*(doctor("doctor", "--cluster", one) for one in (CLUSTER, identity)))
    for ran in both:
        assert (ran.code, ran.out) == (0, "")
        assert ran.err == f"cluster {identity}: nothing is wrong\n"


@asynccontextmanager
async def at_work(kubeconfig: Path, server: TemporalServer) -> AsyncIterator[str]:
    """With a leader, a worker, and a policy with the outage guard; yields the identity of the cluster."""
    temporal = await client_of(server)
    async with await Transport.connect(str(kubeconfig)) as transport:
        client = Client(transport)
        fleet = Fleet(temporal, await read_cluster_identity(client, CLUSTER))
        leadership = Leadership()
        election = LeaderElection(client, "paramedic-system", "paramedic-detector", "pod-1", leadership)
        leading = asyncio.create_task(election.run())
        await client.create(CONFIG_MAPS, WITH_GUARD, "paramedic-system")
        async with fleet.at_work():
            await eventually(leadership.is_leader)
            yield fleet.cluster
        leading.cancel()
        with suppress(asyncio.CancelledError):
            await leading
