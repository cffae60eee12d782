"""The rights of deploy/ for Cluster API: exactly the needed ones, and no Secrets except the named ones."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from devcluster.control_plane import ControlPlane
from devcluster.manifests import ROOT
from devcluster.polling import until
from kube.client import Client
from kube.errors import Forbidden, NotFound
from kube.resource import NAMESPACES, Object, Resource
from kube.transport import Transport
from tests.deploy.conftest import Refusal

DEPLOY = ROOT / "deploy"
CHECKS = DEPLOY / "components" / "cluster-api" / "machine-health-checks.yaml"
CORE_MANAGER_OFF = DEPLOY / "components" / "core-manager-off" / "policies.yaml"
SECRETS_BY_NAME = DEPLOY / "examples" / "kubeconfig-secrets.yaml"
IN_WORKLOAD_CLUSTERS = DEPLOY / "workload-cluster" / "nodes.yaml"
NOT_IN_AN_OVERLAY = (CORE_MANAGER_OFF, SECRETS_BY_NAME, IN_WORKLOAD_CLUSTERS)
NAMESPACE = "clusters"
GRANTED, NOT_GRANTED = ("blue-kubeconfig", "green-kubeconfig"), "blue-ca"
SECRETS = Resource("v1", "Secret", "secrets", namespaced=True)
OF_ROLES = "rbac.authorization.k8s.io/v1"
ROLES = Resource(OF_ROLES, "Role", "roles", namespaced=True)
ROLE_BINDINGS = Resource(OF_ROLES, "RoleBinding", "rolebindings", namespaced=True)


def objects(file: Path) -> list[Object]:
    return list(yaml.safe_load_all(file.read_text()))


def rights(file: Path, role: str) -> dict[str, set[str]]:
    """The verbs of a role, by the resources that they are on."""
    found: dict[str, set[str]] = {}
    for body in objects(file):
        if body["kind"] in ("ClusterRole", "Role") and body["metadata"]["name"] == role:
            for rule in body["rules"]:
                for resource in rule["resources"]:
                    found.setdefault(resource, set()).update(rule["verbs"])
    return found


def test_detector_says_what_is_true_of_machines_and_does_nothing_to_them() -> None:
    assert rights(CHECKS, "paramedic-detector-cluster-api") == {
        "clusters": {"list", "watch"},
        "kubeadmcontrolplanes": {"list", "watch"},
        "machines": {"get", "list", "watch"},
        "machines/status": {"patch"},
        "machinehealthchecks": {"get", "list", "watch", "patch"},
        "machinehealthchecks/status": {"patch"},
        "events": {"create"},
    }


@pytest.mark.rule("CAPI B.2.5/no deletion")
def test_worker_marks_machines_and_cannot_delete_them() -> None:
    assert rights(CHECKS, "paramedic-worker-cluster-api") == {
        "clusters": {"get"},
        "machines": {"get", "patch"},
        "machines/status": {"patch"},
        "machinehealthchecks": {"get", "list"},
        "events": {"create"},
    }


def test_nothing_but_nodes_and_one_namespace_is_read_in_a_workload_cluster() -> None:
    assert rights(IN_WORKLOAD_CLUSTERS, "paramedic-nodes") == {
        "nodes": {"get", "list", "watch"},
        "namespaces": {"get"},
    }
    named = [
        rule.get("resourceNames")
        for document in objects(IN_WORKLOAD_CLUSTERS)
        for rule in document.get("rules", ())
    ]
    assert named == [None, ["kube-system"]]


@pytest.mark.cluster
@pytest.mark.parametrize("file", NOT_IN_AN_OVERLAY, ids=lambda file: file.stem)
async def test_api_server_takes_each_file_as_it_stands(refusal: Refusal, file: Path) -> None:
    assert await refusal(objects(file)) == ""


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield Client(connected)


@pytest.fixture
async def secrets(client: Client) -> None:
    """Those of two Clusters, and the example of deploy/ for each of them in one namespace."""
    await client.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    )
    for name in (*GRANTED, NOT_GRANTED):
        await client.create(SECRETS, _named("v1", "Secret", name), NAMESPACE)
    for cluster in ("blue", "green"):
        # The same edit as on the page about installing.
        role, binding = yaml.safe_load_all(SECRETS_BY_NAME.read_text().replace("my-cluster", cluster))
        for resource, body in ((ROLES, role), (ROLE_BINDINGS, binding)):
            body["metadata"]["namespace"] = NAMESPACE
            await client.create(resource, body, NAMESPACE)


def test_page_about_installing_makes_that_edit_for_each_cluster() -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    assert 'sed "s/my-cluster/$cluster/' in page
    assert SECRETS_BY_NAME.read_text().count("my-cluster") == 4


def _named(api_version: str, kind: str, name: str) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}}


@pytest.mark.cluster
@pytest.mark.usefixtures("secrets")
async def test_no_secret_is_read_but_those_that_are_named(control_plane: ControlPlane) -> None:
    for kubeconfig in (control_plane.detector_kubeconfig, control_plane.worker_kubeconfig):
        async with await Transport.connect(str(kubeconfig)) as connected:
            await _reads_the_named_secret_alone(Client(connected))


async def _reads_the_named_secret_alone(process: Client) -> None:
    async def is_readable() -> bool:
        try:
            for name in GRANTED:
                await process.get(SECRETS, name, NAMESPACE)
        except (Forbidden, NotFound):
            return False
        return True

    await until(is_readable, within=timedelta(seconds=60), otherwise="a Secret that is named cannot be read")
    with pytest.raises(Forbidden):
        await process.get(SECRETS, NOT_GRANTED, NAMESPACE)
    with pytest.raises(Forbidden):
        await process.list(SECRETS, NAMESPACE)
