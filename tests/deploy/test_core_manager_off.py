"""The policy that keeps Cluster API's own controller off: what it refuses, and what it lets pass."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial

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
CHECKS = Resource(f"{GROUP}/v1beta2", "MachineHealthCheck", "machinehealthchecks", namespaced=True)
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
HOLDS = "Paramedic says what holds a check"
PATIENCE = timedelta(seconds=60)
Conditions = list[dict[str, str]]
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
ALLOWED = condition("RemediationAllowed", "True", "RemediationAllowed")
UPGRADING = condition("RemediationAllowed", "False", "Upgrading")
PAUSED = condition("Paused", "True", "Paused")
DEFERRED = condition("OwnerRemediated", "False", "RemediationDeferred")


def definition(kind: Resource) -> Object:
    """Machines or checks, as far as the policy looks at them."""
    conditions = {"type": "array", "items": {"type": "object", "properties": NAMED_STRINGS}}
    number = {"type": "integer"}
    status = {"type": "object", "properties": {"conditions": conditions, "currentHealthy": number}}
    version = {
        "name": "v1beta2",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}},
    }
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


class CoreManager:
    """Writes the status of one Machine, and of one check, under the name of the core manager."""

    def __init__(self, administrator: ApiServer, client: Client) -> None:
        self._administrator = administrator
        self._client = client

    async def has(self, kind: Resource) -> bool:
        body: Object = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "one"}}
        try:
            await self._client.create(kind, body, "default")
        except NotFound:
            return False
        return True

    async def is_kept_off(self) -> bool:
        is_held = HOLDS in await self.writes([ALLOWED], over=[], kind=CHECKS)
        return is_held and HEALTHY in await self.writes([FAILED], over=[])

    async def writes(
        self, conditions: Conditions, *, over: Conditions, kind: Resource = MACHINES, **more: int
    ) -> str:
        """Why the API server refuses that where the object had others before; "" if it does not."""
        before: Object = {"status": {"conditions": over}}
        await self._client.merge_patch(kind, "one", before, "default", subresource="status")
        path = kind.path("default", "one", "status")
        after: Object = {"status": {"conditions": conditions, **more}}
        return await self._administrator.patch(path, after, "application/merge-patch+json", headers=WHO)


@pytest.fixture(scope="module")
async def core_manager(control_plane: ControlPlane) -> AsyncIterator[CoreManager]:
    async with AsyncExitStack() as stack:
        client = Client(
            await stack.enter_async_context(await Transport.connect(str(control_plane.kubeconfig)))
        )
        definitions = [(DEFINITIONS, definition(kind)) for kind in (MACHINES, CHECKS)]
        for resource, body in [*definitions, *policy()]:
            await client.create(resource, body)
            stack.push_async_callback(client.delete, resource, body["metadata"]["name"])
        administrator = await stack.enter_async_context(api_server(control_plane.kubeconfig))
        core_manager = CoreManager(administrator, client)
        for kind in (MACHINES, CHECKS):
            has_one = partial(core_manager.has, kind)
            await until(has_one, within=PATIENCE, otherwise=f"no {kind.kind} can be made")
        await until(core_manager.is_kept_off, within=PATIENCE, otherwise="the policy refuses nothing")
        yield core_manager


def policy() -> Iterator[tuple[Resource, Object]]:
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
async def test_writes_of_its_health_checks_are_refused(
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
async def test_writes_of_its_other_controllers_pass(
    core_manager: CoreManager, before: Conditions, after: Conditions
) -> None:
    assert await core_manager.writes(after, over=before) == ""


@pytest.mark.rule("rule 55")
async def test_it_does_not_say_that_a_check_is_allowed_which_something_holds(
    core_manager: CoreManager,
) -> None:
    """Otherwise it would write the status again and again, and Paramedic would correct it each time."""
    for after in ([ALLOWED], []):
        assert HOLDS in await core_manager.writes(after, over=[UPGRADING], kind=CHECKS)


async def test_it_says_the_rest_of_the_status_of_a_check(core_manager: CoreManager) -> None:
    paused = [UPGRADING, PAUSED]
    assert await core_manager.writes(paused, over=[UPGRADING], kind=CHECKS, currentHealthy=3) == ""
