"""The policies that take away from our processes what RBAC gives and nothing needs, on a real API server."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
import yaml

from devcluster.control_plane import ControlPlane
from devcluster.manifests import ROOT
from devcluster.polling import until
from health.kinds.right import Process
from health.model.evidence import PREFIX
from health.model.node import CONFIRMED_HEALTHY
from health.model.remediation_order import REMEDIATE
from kube.client import Client
from kube.errors import Forbidden
from kube.resource import CONFIG_MAPS, NODES, Object
from kube.transport import Transport
from runtime.process_names import NAMESPACE, SERVICE_ACCOUNTS
from tests.support.story.world import REQUESTS
from tests.support.values.rights import of_installations

FILES = (
    ROOT / "deploy" / "base" / "rbac" / "admission-policies.yaml",
    ROOT / "deploy" / "components" / "evidence" / "admission-policy.yaml",
)
POLICIES = {
    document["metadata"]["name"]: document["spec"]
    for file in FILES
    for document in yaml.load_all(file.read_text(), yaml.CSafeLoader)
    if document["kind"] == "ValidatingAdmissionPolicy"
}
WRITES = POLICIES["paramedic-detector-writes"]
OPERATIONS = {"create": "CREATE", "patch": "UPDATE", "update": "UPDATE", "delete": "DELETE"}
PATIENCE = timedelta(seconds=60)
NAME = "tests-policies"
OF_DETECTOR, OF_WORKER, OF_EVIDENCE = (
    f"ValidatingAdmissionPolicy 'paramedic-{name}'"
    for name in ("detector-writes", "worker-nodes", "worker-evidence")
)
REQUEST: Object = {
    "apiVersion": REQUESTS.api_version,
    "kind": REQUESTS.kind,
    "metadata": {"name": NAME, "namespace": "default"},
}


def test_detector_may_write_what_the_table_says() -> None:
    (validation,) = WRITES["validations"]
    said = {
        f"{OPERATIONS[verb]} {right.resource_name}"
        for right in of_installations()
        for verb in right.verbs
        if right.process is Process.DETECTOR and verb in OPERATIONS
    }
    assert set(re.findall('"(.*?)"', validation["expression"])) == said


def test_policies_are_about_our_service_accounts() -> None:
    for name, spec in POLICIES.items():
        (condition,) = spec["matchConditions"]
        users = re.findall(r'"(system:[^"]+)"', condition["expression"])
        meant = [process for process in Process if process in name] or [*Process]
        assert users == [f"system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNTS[one]}" for one in meant]


class Clients:
    """Clients of one cluster, by who they are."""

    def __init__(self, administrator: Client, detector: Client, worker: Client) -> None:
        self.administrator, self.detector, self.worker = administrator, detector, worker

    async def make_node(self) -> None:
        annotations = {CONFIRMED_HEALTHY: "", REMEDIATE: "{}", "kept": "true"}
        metadata = {"name": NAME, "labels": {"a": "b"}, "annotations": annotations}
        await self.administrator.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})

    async def worker_may(self, patch: Object) -> bool:
        try:
            await self.worker.merge_patch(NODES, NAME, patch)
        except Forbidden as error:
            if OF_WORKER not in error.message:
                raise
            return False
        return True


@pytest.fixture
async def clients(control_plane: ControlPlane) -> AsyncIterator[Clients]:
    kubeconfigs = (
        control_plane.kubeconfig,
        control_plane.detector_kubeconfig,
        control_plane.worker_kubeconfig,
    )
    async with AsyncExitStack() as stack:
        connected = [await Transport.connect(str(kubeconfig)) for kubeconfig in kubeconfigs]
        clients = [Client(await stack.enter_async_context(one), "tests") for one in connected]
        yield Clients(*clients)


@pytest.mark.cluster
async def test_detector_makes_changes_and_deletes_no_request_though_it_is_granted(clients: Clients) -> None:
    await clients.administrator.create(REQUESTS, REQUEST, "default")
    try:

        async def is_granted_and_refused() -> bool:
            return OF_DETECTOR in await _refusal_of_a_patch(clients.detector)

        await until(is_granted_and_refused, within=PATIENCE, otherwise="a detector may change requests")
        with pytest.raises(Forbidden, match=OF_DETECTOR):
            await clients.detector.delete(REQUESTS, NAME, "default")
        other = REQUEST | {"metadata": {"name": f"{NAME}-2", "namespace": "default"}}
        with pytest.raises(Forbidden, match=OF_DETECTOR):
            await clients.detector.create(REQUESTS, other, "default")
    finally:
        await clients.administrator.delete(REQUESTS, NAME, "default")


async def _refusal_of_a_patch(client: Client) -> str:
    try:
        await client.merge_patch(REQUESTS, NAME, {"metadata": {"annotations": {"a": "b"}}}, "default")
    except Forbidden as error:
        return error.message
    return ""


@pytest.mark.cluster
async def test_worker_takes_a_persons_mark_off_a_node_and_changes_nothing_else(
    clients: Clients,
) -> None:
    await clients.make_node()
    try:
        unschedulable: Object = {"spec": {"unschedulable": True}}

        async def is_refused() -> bool:
            return not await clients.worker_may(unschedulable)

        await until(is_refused, within=PATIENCE, otherwise="the worker may change a Node")
        for change in (
            {"labels": {"a": None}},
            {"annotations": {"kept": None}},
            {"annotations": {CONFIRMED_HEALTHY: "again"}},
            {"annotations": {REMEDIATE: "again"}},
            {"annotations": {"new": ""}},
            {"finalizers": ["a.b/c"]},
        ):
            assert not await clients.worker_may({"metadata": change}), change
        for taken in (CONFIRMED_HEALTHY, REMEDIATE):
            assert await clients.worker_may({"metadata": {"annotations": {taken: None}}})
        found = (await clients.administrator.get(NODES, NAME))["metadata"]["annotations"]
        assert found == {"kept": "true"}
    finally:
        await clients.administrator.delete(NODES, NAME)


@pytest.mark.cluster
async def test_worker_makes_and_deletes_config_maps_with_evidence_and_no_others(clients: Clients) -> None:
    def named(name: str) -> Object:
        return {"metadata": {"name": name}}

    await clients.administrator.create(CONFIG_MAPS, named(NAME), NAMESPACE)
    try:

        async def is_refused() -> bool:
            try:
                await clients.worker.create(CONFIG_MAPS, named(f"{NAME}-2"), NAMESPACE)
            except Forbidden as error:
                return OF_EVIDENCE in error.message
            await clients.administrator.delete(CONFIG_MAPS, f"{NAME}-2", NAMESPACE)
            return False

        await until(is_refused, within=PATIENCE, otherwise="the worker may make any ConfigMap")
        with pytest.raises(Forbidden, match=OF_EVIDENCE):
            await clients.worker.delete(CONFIG_MAPS, NAME, NAMESPACE)
        await clients.worker.create(CONFIG_MAPS, named(f"{PREFIX}{NAME}"), NAMESPACE)
        await clients.worker.delete(CONFIG_MAPS, f"{PREFIX}{NAME}", NAMESPACE)
    finally:
        await clients.administrator.delete(CONFIG_MAPS, NAME, NAMESPACE)
