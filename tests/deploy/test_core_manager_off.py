"""The policy that keeps Cluster API's own controller off: what it refuses, and what it lets pass."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
import yaml

from devcluster.control_plane import ControlPlane
from devcluster.manifests import ROOT
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from kube.client import Client
from kube.errors import NotFound
from kube.resource import Object, Resource
from kube.transport import Transport
from tests.deploy.applying import ApiServer, api_server

pytestmark = pytest.mark.cluster

FILE = ROOT / "deploy" / "components" / "core-manager-off" / "policies.yaml"
GROUP = "kept-off.example.com"
"""Machines of a group of their own: those of Cluster API are of other tests."""
MACHINES = Resource(f"{GROUP}/v1beta2", "Machine", "machines", namespaced=True)
ADMISSION = "admissionregistration.k8s.io/v1"
POLICIES = Resource(ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False)
BINDINGS = Resource(
    ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", namespaced=False
)
WHO = {
    "Impersonate-User": "system:serviceaccount:capi-system:capi-manager",
    "Impersonate-Group": "system:masters",
}
"""The core manager, as far as its name goes; it may do everything."""
HEALTHY = "Paramedic says which Machines are healthy"
MARKS = "Paramedic marks Machines for their owners"
PATIENCE = timedelta(seconds=60)
Conditions = list[dict[str, str]]
MACHINE: Object = {
    "apiVersion": MACHINES.api_version,
    "kind": MACHINES.kind,
    "metadata": {"name": "machine"},
}
NAMED_STRINGS = {
    name: {"type": "string"} for name in ("type", "status", "reason", "message", "lastTransitionTime")
}


def condition(type_: str, status: str, reason: str) -> dict[str, str]:
    """A condition of a Machine in v1beta2."""
    at = "2026-03-01T11:00:00Z"
    return {"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": at}


READY = condition("Ready", "True", "Ready")
SUCCEEDED = condition("HealthCheckSucceeded", "True", "HealthCheckSucceeded")
FAILED = condition("HealthCheckSucceeded", "False", "UnhealthyNode")
MARK = condition("OwnerRemediated", "False", "WaitingForRemediation")
DONE = condition("OwnerRemediated", "True", "Done")
DEFERRED = condition("OwnerRemediated", "False", "RemediationDeferred")


def definition() -> Object:
    """Machines, as far as the policy looks at them."""
    conditions = {"type": "array", "items": {"type": "object", "properties": NAMED_STRINGS}}
    status = {"type": "object", "properties": {"conditions": conditions}}
    version = {
        "name": "v1beta2",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}},
    }
    names = {"kind": MACHINES.kind, "plural": MACHINES.plural, "singular": "machine"}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": f"{MACHINES.plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


class CoreManager:
    """Writes conditions of one Machine under the name of the core manager."""

    def __init__(self, administrator: ApiServer, client: Client) -> None:
        self._administrator = administrator
        self._client = client

    async def has_a_machine(self) -> bool:
        try:
            await self._client.create(MACHINES, MACHINE, "default")
        except NotFound:
            return False
        return True

    async def is_kept_off(self) -> bool:
        return HEALTHY in await self.writes([FAILED], over=[])

    async def writes(self, conditions: Conditions, *, over: Conditions) -> str:
        """Why the API server refuses that where the Machine had others before; "" if it does not."""
        before: Object = {"status": {"conditions": over}}
        await self._client.merge_patch(MACHINES, "machine", before, "default", subresource="status")
        path = MACHINES.path("default", "machine", "status")
        after: Object = {"status": {"conditions": conditions}}
        return await self._administrator.patch(path, after, "application/merge-patch+json", headers=WHO)


@pytest.fixture(scope="module")
async def core_manager(control_plane: ControlPlane) -> AsyncIterator[CoreManager]:
    """With the policy in force."""
    async with AsyncExitStack() as stack:
        client = Client(
            await stack.enter_async_context(await Transport.connect(str(control_plane.kubeconfig)))
        )
        for resource, body in [(DEFINITIONS, definition()), *policy()]:
            await client.create(resource, body)
            stack.push_async_callback(client.delete, resource, body["metadata"]["name"])
        administrator = await stack.enter_async_context(api_server(control_plane.kubeconfig))
        core_manager = CoreManager(administrator, client)
        await until(core_manager.has_a_machine, within=PATIENCE, otherwise="no Machine can be made")
        await until(core_manager.is_kept_off, within=PATIENCE, otherwise="the policy refuses nothing")
        yield core_manager


def policy() -> Iterator[tuple[Resource, Object]]:
    """The policy, for our Machines."""
    text = FILE.read_text().replace("[cluster.x-k8s.io]", f"[{GROUP}]")
    for body in yaml.safe_load_all(text):
        yield (POLICIES if body["kind"] == POLICIES.kind else BINDINGS), body


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        pytest.param([FAILED], [SUCCEEDED], HEALTHY, id="another health"),
        pytest.param([READY, SUCCEEDED], [READY], HEALTHY, id="health taken away"),
        pytest.param([FAILED], [FAILED, MARK], MARKS, id="a first mark"),
        pytest.param([FAILED, DONE], [FAILED, MARK], MARKS, id="another mark"),
    ],
)
async def test_what_its_health_checks_write_is_refused(
    core_manager: CoreManager, before: Conditions, after: Conditions, why: str
) -> None:
    assert why in await core_manager.writes(after, over=before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([FAILED], [READY, FAILED], id="another condition"),
        pytest.param([FAILED, MARK], [FAILED, DEFERRED], id="why the owner waits"),
        pytest.param([FAILED, MARK], [FAILED, DONE], id="that the owner is done"),
        pytest.param([SUCCEEDED, MARK], [SUCCEEDED], id="a mark taken back"),
    ],
)
async def test_what_its_other_controllers_write_passes(
    core_manager: CoreManager, before: Conditions, after: Conditions
) -> None:
    assert await core_manager.writes(after, over=before) == ""
