"""Cluster API's core manager beside us under the documented policies is nothing that is wrong to `doctor`."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import yaml

from cli.doctor.finding import FindingSeverity
from devcluster.control_plane import ControlPlane
from devcluster.manifests import ROOT
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as KIND
from kube.client import Client
from kube.lease import new_lease
from kube.resource import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    LEASES,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    Object,
    Resource,
    resource_of,
)
from kube.transport import Transport
from tests.cli.doctor.conftest import AsUser
from tests.cli.doctor.findings import findings, without_expected
from tests.support.cluster.command import Command
from tests.support.values.cluster_api import NOT_READY

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

CHECKS = resource_of(KIND)
CAPI_SYSTEM, CAPI_MANAGER = "capi-system", "capi-manager"


def shipped() -> Iterator[tuple[Resource, Object]]:
    text = (ROOT / "deploy" / "components" / "core-manager-off" / "policies.yaml").read_text()
    for body in yaml.safe_load_all(text):
        is_policy = body["kind"] == ADMISSION_POLICIES.kind
        yield ADMISSION_POLICIES if is_policy else ADMISSION_POLICY_BINDINGS, body


@pytest.fixture
def doctor(as_user: AsUser, control_plane: ControlPlane) -> Command:
    return as_user(control_plane.kubeconfig)


@pytest.fixture
async def check(client: Client, transport: Transport) -> AsyncIterator[str]:
    """A check whose status the core manager wrote after us, while it holds its Lease."""
    name = f"doctor-{uuid4().hex[:8]}"
    body: Object = {
        "apiVersion": CHECKS.api_version,
        "kind": CHECKS.kind,
        "metadata": {"name": name},
        "spec": {
            "clusterName": name,
            "selector": {"matchLabels": {"nobody": name}},
            "checks": {"unhealthyNodeConditions": [NOT_READY]},
        },
    }
    lease = new_lease(
        KIND.operator_lease, CAPI_SYSTEM, "capi-1", timedelta(minutes=5), datetime.now(UTC), None
    )
    async with AsyncExitStack() as stack:
        await client.create(NAMESPACES, {"metadata": {"name": CAPI_SYSTEM}})
        for resource, made, namespace in (
            (CHECKS, body, "default"),
            (LEASES, lease, CAPI_SYSTEM),
            (SERVICE_ACCOUNTS, {"metadata": {"name": CAPI_MANAGER}}, CAPI_SYSTEM),
        ):
            await client.create(resource, made, namespace)
            stack.push_async_callback(client.delete, resource, made["metadata"]["name"], namespace)
        for manager, healthy in (("paramedic-detector", 3), ("manager", 2)):
            status = {"status": {"currentHealthy": healthy}}
            await Client(transport, manager).merge_patch(CHECKS, name, status, "default", "status")
        yield name


async def test_core_manager_that_policies_keep_off_is_a_note_and_without_them_a_warning(
    doctor: Command, client: Client, check: str
) -> None:
    async def severities() -> dict[str, FindingSeverity]:
        found = await findings(doctor, PARAMEDIC_CHECK_KINDS=f"{CHECKS.plural}.{CHECKS.group}")
        told = [
            finding
            for finding in found
            if check in finding.what or "'capi-1'" in finding.what or "admission" in finding.what
        ]
        return {finding.reason: finding.severity for finding in without_expected(told)}

    assert await severities() == {
        "StatusWrittenByAnother": FindingSeverity.WARNING,
        "ReferenceControllerMayRun": FindingSeverity.NOTE,
    }
    async with AsyncExitStack() as stack:
        for resource, body in shipped():
            await client.create(resource, body)
            stack.push_async_callback(client.delete, resource, body["metadata"]["name"])
        assert await severities() == {
            "StatusWrittenByAnother": FindingSeverity.NOTE,
            "ReferenceKeptOff": FindingSeverity.NOTE,
        }
        await client.delete(SERVICE_ACCOUNTS, CAPI_MANAGER, CAPI_SYSTEM)
        assert (await severities())["OperatorPolicyForNobody"] is FindingSeverity.WARNING
        await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": CAPI_MANAGER}}, CAPI_SYSTEM)
