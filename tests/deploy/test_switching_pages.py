"""The pages that switch from a reference controller: each command runs in the order of its page, unchanged.

The API server and Temporal are real and of this file alone. No kubelet runs, so no Pod of ours starts.
"""

import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import yaml

from cli.retire.cluster import CUSTOM_RESOURCES, DEPLOYMENTS
from devcluster import programs
from devcluster.control_plane import ControlPlane
from devcluster.demo.fixtures import cluster_version
from devcluster.go_programs import HELM
from devcluster.manifests import ROOT
from devcluster.polling import until
from devcluster.temporal import TemporalServer
from kube.client import Client
from kube.errors import KubernetesError, NotFound
from kube.resource import CONFIG_MAPS, Object, Resource
from kube.transport import Transport
from tests.deploy.applying import CONFIGURATIONS, ApiServer, api_server
from tests.deploy.page_commands import blocks_of, reasons, run, tried
from tests.support.cluster.own_servers import own_servers

pytestmark = pytest.mark.cluster

OPERATOR = "openshift-workload-availability"
MANAGER = "node-healthcheck-controller-manager"
MACHINE_API, CONTROLLERS = "openshift-machine-api", "machine-api-controllers"
CHECK_CONTROLLER = "machine-healthcheck-controller"
OURS = "paramedic-system"
PATIENCE = timedelta(seconds=60)
PAGES = ("switching.md", "machinehealthcheck-openshift.md", "cluster-api-switch.md")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


@pytest.mark.parametrize("name", PAGES)
def test_only_commands_that_cannot_be_tried_are_not_tried(name: str) -> None:
    found = reasons(page(name))
    assert found
    assert all(reason.startswith("needs ") for reason in found), found


@pytest.fixture(scope="module")
async def servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[ControlPlane, TemporalServer]]:
    async with own_servers(tmp_path_factory.mktemp("servers")) as own:
        yield await own.start_control_plane(), await own.start_temporal()


class Cluster:
    """A cluster with a reference controller, in which the commands of a page are run."""

    def __init__(self, servers: tuple[ControlPlane, TemporalServer], client: Client, folder: Path) -> None:
        self._servers = servers
        self._folder = folder
        self.client = client

    async def run(self, *blocks: str) -> str:
        """All that the commands say.

        They run in one shell, so that a variable of one block is there in the next.
        """
        control_plane, temporal = self._servers
        temporal_environment = (
            f"export TEMPORAL_ADDRESS={temporal.address} TEMPORAL_NAMESPACE={temporal.namespace}\n"
        )
        script = "set -eux\n" + temporal_environment + "".join(tried(block) for block in blocks)
        status, said = await run(script, self._folder, self._folder / "bin", control_plane.kubeconfig)
        assert status == 0, said
        return said

    async def replicas(self, namespace: str, name: str) -> int:
        return int((await self.client.get(DEPLOYMENTS, name, namespace))["spec"]["replicas"])

    async def containers(self, namespace: str, name: str) -> list[str]:
        spec = (await self.client.get(DEPLOYMENTS, name, namespace))["spec"]["template"]["spec"]
        return [container["name"] for container in spec["containers"]]

    async def is_in_shadow(self) -> bool:
        stored = await self.client.get(CONFIG_MAPS, "paramedic-policy", OURS)
        return bool(yaml.safe_load(stored["data"]["policy.yaml"])["shadow"])

    async def exists(self, resource: Resource, name: str, namespace: str = "") -> bool:
        try:
            await self.client.get(resource, name, namespace)
        except NotFound:
            return False
        return True


@pytest.fixture
async def cluster(servers: tuple[ControlPlane, TemporalServer], tmp_path: Path) -> AsyncIterator[Cluster]:
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    commands = tmp_path / "bin"
    commands.mkdir()
    for program in (programs.kubectl(), HELM.binary(), Path(sys.executable).with_name("paramedic")):
        (commands / Path(program).name).symlink_to(program)
    (commands / "oc").symlink_to(programs.kubectl())  # `oc scale` and `oc patch` are those of kubectl
    kubeconfig = servers[0].kubeconfig
    async with api_server(kubeconfig) as asked:
        for reference in references():
            assert await asked.apply(reference) == ""
        await until(
            partial(_takes, asked, cluster_version()[1]), within=PATIENCE, otherwise="no ClusterVersions"
        )
    async with await Transport.connect(str(kubeconfig)) as transport:
        yield Cluster(servers, Client(transport), tmp_path)


async def _takes(asked: ApiServer, reference: Object) -> bool:
    """Apply an object; returns False while the API server does not serve its kind."""
    try:
        return await asked.apply(reference) == ""
    except KubernetesError:
        return False


def deployment(namespace: str, name: str, *containers: str) -> Object:
    labels = {"app": name}
    pod = {"containers": [{"name": container, "image": "example.com/manager"} for container in containers]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def references() -> list[Object]:
    """The objects that the pages presuppose: the reference controllers, and the CRDs of the APIs."""
    crd = yaml.safe_load(
        (ROOT / "deploy" / "base" / "crds" / "remediation.medik8s.io_nodehealthchecks.yaml").read_text()
    )
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = []
    deployments = [
        deployment(OPERATOR, MANAGER, "manager"),
        deployment(MACHINE_API, "machine-api-operator", "machine-api-operator"),
        deployment(MACHINE_API, CONTROLLERS, "machine-controller", CHECK_CONTROLLER),
    ]
    webhook: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "vnodehealthcheck.kb.io-x7k2p"},
    }
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in (OPERATOR, "openshift-etcd", MACHINE_API)
    ]
    machines = [
        yaml.safe_load(file.read_text())
        for file in (ROOT / "tools" / "devcluster" / "crds").rglob("*machinehealthchecks*.yaml")
    ]
    return [*namespaces, crd, *deployments, webhook, *machines, cluster_version()[0]]


async def test_way_from_the_operator_and_back_does_what_its_page_says(cluster: Cluster) -> None:
    names, shadow, compare, switch, watch, back = blocks_of(page("switching.md"))

    await cluster.run(names, shadow, compare)
    assert await cluster.is_in_shadow()
    assert await cluster.replicas(OPERATOR, MANAGER) == 1
    await cluster.run(names, switch, watch)
    assert not await cluster.is_in_shadow()
    assert await cluster.replicas(OPERATOR, MANAGER) == 0
    assert not await cluster.exists(CONFIGURATIONS, "vnodehealthcheck.kb.io-x7k2p")
    said = await cluster.run(names, back)
    assert "were kept due to the resource policy" in said
    assert await cluster.replicas(OPERATOR, MANAGER) == 1
    assert not await cluster.exists(DEPLOYMENTS, "paramedic-worker", OURS)
    assert await cluster.exists(CUSTOM_RESOURCES, "nodehealthchecks.remediation.medik8s.io")


@pytest.mark.parametrize("name", ["machinehealthcheck-openshift.md", "cluster-api-switch.md"])
async def test_way_from_a_machine_health_check_controller_and_back_does_what_its_page_says(
    cluster: Cluster, name: str
) -> None:
    shadow, *switch, back = [block for block in blocks_of(page(name)) if "paramedic dev" not in block]

    takes_over = "--create-namespace --take-ownership --force-conflicts"  # the CRD of the operator
    await cluster.run(shadow.replace("--create-namespace", takes_over, 1))
    assert await cluster.is_in_shadow()
    await cluster.run(shadow.splitlines()[0] + "\n", *switch)
    assert not await cluster.is_in_shadow()
    if name.endswith("openshift.md"):
        assert await cluster.containers(MACHINE_API, CONTROLLERS) == ["machine-controller"]
        assert await cluster.replicas(MACHINE_API, "machine-api-operator") == 0
    await cluster.run(shadow.splitlines()[0] + "\n", back)
    if await cluster.exists(DEPLOYMENTS, "paramedic-worker", OURS):
        assert await cluster.replicas(OURS, "paramedic-worker") == 0
        await cluster.run("helm uninstall paramedic --namespace paramedic-system\n")
    assert not await cluster.exists(DEPLOYMENTS, "paramedic-detector", OURS)
