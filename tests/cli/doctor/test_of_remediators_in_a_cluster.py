"""The remediators that `paramedic doctor` finds in a real cluster."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from cli.doctor.remediators import REMEDIATORS, Remediator
from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import Unreachable
from kube.lease import new_lease
from kube.resource import LEASES, Object, Resource
from kube.transport import Transport
from tests.cli.doctor.conftest import AsUser
from tests.cli.doctor.findings import findings
from tests.support.cluster.command import Command
from tests.support.story.polling import polled

pytestmark = pytest.mark.cluster

CRDS = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments", namespaced=True)
SELF_NODE, FENCE_AGENTS, MACHINE_DELETION, *_ = REMEDIATORS
"""Each test has a remediator of its own, because deleted CRDs are served for a while."""


def crd(row: Remediator, kind: str) -> Object:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": row.api_version.rpartition("/")[2], "served": True, "storage": True}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": f"{plural}.{row.group}"},
        "spec": {
            "group": row.group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version | {"schema": {"openAPIV3Schema": schema}}],
        },
    }


def role(row: Remediator) -> Object:
    kinds = (row.template, row.template.removesuffix("Template"))
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
    rule = {"apiGroups": [row.group], "resources": [f"{kind.lower()}s" for kind in kinds], "verbs": verbs}
    labels = {"rbac.ext-remediation/aggregate-to-ext-remediation": "true"}
    return {"metadata": {"name": row.deployment, "labels": labels}, "rules": [rule]}


def deployment(row: Remediator) -> Object:
    labels = {"app": row.deployment}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "none"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    return {"metadata": {"name": row.deployment}, "spec": spec}


@pytest.fixture
def doctor(as_user: AsUser, control_plane: ControlPlane) -> Command:
    return as_user(control_plane.kubeconfig)


@pytest.fixture
async def installing(client: Client, transport: Transport) -> AsyncIterator["Installing"]:
    """Creates objects, and deletes them at the end."""
    async with AsyncExitStack() as stack:
        yield Installing(client, Discovery(transport), stack)


class Installing:
    """Creates objects of remediators on the shared control plane for one test."""

    def __init__(self, client: Client, discovery: Discovery, stack: AsyncExitStack) -> None:
        self._client = client
        self._discovery = discovery
        self._stack = stack

    async def create(self, resource: Resource, body: Object, namespace: str = "") -> None:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        await self._client.create(resource, body, namespace)
        self._stack.push_async_callback(self._client.delete, resource, body["metadata"]["name"], namespace)

    async def create_kinds(self, row: Remediator) -> None:
        for kind in (row.template, row.template.removesuffix("Template")):
            await self.create(CRDS, crd(row, kind))

            async def is_served(kind: str = kind) -> bool:
                try:
                    return await self._discovery.served_now(row.api_version, kind) is not None
                except Unreachable:  # its group is listed before its version
                    return False

            await polled(is_served)

    async def create_check(self, row: Remediator) -> str:
        name = f"doctor-{uuid4().hex[:8]}"
        template = {"apiVersion": row.api_version, "kind": row.template, "namespace": "default", "name": "t"}
        selector = {"matchLabels": {"nobody": name}}
        spec = {"selector": selector, "minHealthy": "51%", "remediationTemplate": template}
        await self.create(NODE_HEALTH_CHECKS, {"metadata": {"name": name}, "spec": spec})
        return name


async def note_about(doctor: Command, check: str) -> str:
    (found,) = (
        note for note in await findings(doctor) if f"are made for NodeHealthCheck {check}: " in note.what
    )
    return f"{found.reason}: {found.what}"


async def test_remediator_of_a_check_is_found_by_its_crds_its_lease_and_its_role(
    doctor: Command, installing: Installing
) -> None:
    check = await installing.create_check(SELF_NODE)
    assert (await note_about(doctor, check)).startswith(
        "RemediatorNotFound: SelfNodeRemediations are made for"
    )

    await installing.create_kinds(SELF_NODE)
    lease = new_lease(SELF_NODE.lease, "default", "snr-1", timedelta(minutes=5), datetime.now(UTC), None)
    await installing.create(LEASES, lease, "default")
    assert (await note_about(doctor, check)).endswith(
        "has its CRDs here, its controller has the Lease default/547f6cb6.medik8s.io, "
        "and Paramedic lacks rights for its requests"
    )

    await installing.create(CLUSTER_ROLES, role(SELF_NODE))

    async def has_rights() -> bool:
        return (await note_about(doctor, check)).endswith("and Paramedic may make its requests")

    await polled(has_rights)


async def test_remediator_without_a_leader_is_found_by_its_deployment(
    doctor: Command, installing: Installing
) -> None:
    check = await installing.create_check(FENCE_AGENTS)
    await installing.create_kinds(FENCE_AGENTS)
    await installing.create(DEPLOYMENTS, deployment(FENCE_AGENTS), "default")
    found = await note_about(doctor, check)
    assert found.startswith("RemediatorUsed: FenceAgentsRemediations are made for")
    assert f"its controller has the Deployment default/{FENCE_AGENTS.deployment} (0 of 1 Pods ready)" in found


async def test_process_of_ours_cannot_see_whether_the_controller_of_a_remediator_runs(
    as_user: AsUser, control_plane: ControlPlane, installing: Installing
) -> None:
    check = await installing.create_check(MACHINE_DELETION)
    await installing.create_kinds(MACHINE_DELETION)
    found = await note_about(as_user(control_plane.detector_kubeconfig), check)
    assert "you may not see whether its controller runs" in found


async def test_cluster_whose_checks_use_no_remediator_learns_which_ones_fit_its_machine_api(
    doctor: Command,
) -> None:
    found = [note for note in await findings(doctor) if note.reason == "RemediatorFits"]
    assert all("with the machine API of OpenShift" in note.what for note in found)
    names = {row.name for row in REMEDIATORS for note in found if f": {row.name} (" in note.what}
    assert {"Self Node Remediation", "Machine Deletion Remediation", "Machine deletion"} <= names
    assert "Metal3 Remediation" not in names
