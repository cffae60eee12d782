"""Reads and changes the cluster and its upgrade pause for the scenario `upgrade`; None means not yet.

The scenario has a ClusterVersion, and a second check, which selects nothing.

Every method raises KubernetesError or RPCError.
"""

from datetime import UTC, datetime

from temporalio.client import Client as TemporalClient
from temporalio.client import WorkflowHandle

from devcluster.demo.cluster_view import ClusterView, OpenShiftView
from devcluster.demo.facts import MachineSeen
from devcluster.demo.fixtures import CHECK, CHECKS, NAMESPACE, SPARE, ensure, machine_health_check
from devcluster.errors import DemoFailedError
from devcluster.simulation.resources import DEFINITIONS
from health.check.annotated_hold import PAUSED
from kube.client import Client
from kube.resource import Object, Resource
from objects.timestamps import stamp
from workflows.upgrade_contracts import UnpauseOrder, UpgradePauseResult, UpgradePauseState, upgrade_pause_id

TIMEOUT_SECONDS = 10
"""Long enough for a node to report again after the end of the upgrade."""
CLUSTER_VERSIONS = Resource("config.openshift.io/v1", "ClusterVersion", "clusterversions", namespaced=False)
VERSION = "version"
SLOWER = {
    "unhealthyConditions": [
        {"type": "Ready", "status": status, "timeout": f"{TIMEOUT_SECONDS}s"}
        for status in ("Unknown", "False")
    ]
}
"""The conditions of the check of the Machines in this scenario."""


def definition() -> Object:
    """The CRD of ClusterVersions, which OpenShift has."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": "clusterversions.config.openshift.io"},
        "spec": {
            "group": "config.openshift.io",
            "scope": "Cluster",
            "names": {"plural": CLUSTER_VERSIONS.plural, "kind": CLUSTER_VERSIONS.kind},
            "versions": [version],
        },
    }


def cluster_version() -> Object:
    return {
        "apiVersion": CLUSTER_VERSIONS.api_version,
        "kind": CLUSTER_VERSIONS.kind,
        "metadata": {"name": VERSION},
        "spec": {},
    }


def spare_check() -> Object:
    check = machine_health_check()
    spec = check["spec"] | {"selector": {"matchLabels": {"selects": "nobody"}}}
    return check | {"metadata": {"name": SPARE, "namespace": NAMESPACE}, "spec": spec}


MARGIN_SECONDS = 2


class SimulatedUpgrade:
    """The upgrade of one cluster, simulated by its ClusterVersion."""

    def __init__(self, client: Client, machines: OpenShiftView, nodes: ClusterView) -> None:
        self._client = client
        self._machines = machines
        self._nodes = nodes

    async def set_up(self) -> bool:
        """Create the objects of the scenario; no upgrade is under way."""
        await self._machines.set_up()
        await self._client.merge_patch(CHECKS, CHECK, {"spec": SLOWER}, NAMESPACE)
        await ensure(self._client, CHECKS, spare_check(), NAMESPACE)
        await ensure(self._client, DEFINITIONS, definition())
        await ensure(self._client, CLUSTER_VERSIONS, cluster_version())
        return await self.set_progressing("False")

    async def set_progressing(self, status: str) -> bool:
        """Begin or end an upgrade: set the condition Progressing."""
        condition = {
            "type": "Progressing",
            "status": status,
            "lastTransitionTime": stamp(datetime.now(UTC).replace(microsecond=0)),
        }
        patch = {"status": {"conditions": [condition]}}
        await self._client.merge_patch(CLUSTER_VERSIONS, VERSION, patch, subresource="status")
        return True

    async def paused(self, *names: str) -> list[str] | None:
        """The names of the paused checks, once they are exactly these."""
        checks = await self._client.list(CHECKS, NAMESPACE)
        found = sorted(
            check["metadata"]["name"]
            for check in checks
            if PAUSED in check["metadata"].get("annotations", {})
        )
        return found if found == sorted(names) else None

    async def outlasted(self, machine: MachineSeen) -> float | None:
        """The seconds for which its node has hung, once they exceed the timeout of the check."""
        if await self._machines.deletion_of(machine):
            raise DemoFailedError(f"Machine {machine.name} was deleted during the upgrade.")
        ready = await self._nodes.ready_condition(machine.node.name, "Unknown")
        if ready is None:
            return None
        hung = (datetime.now(UTC) - datetime.fromisoformat(ready.since)).total_seconds()
        return hung if hung > TIMEOUT_SECONDS + MARGIN_SECONDS else None


async def unpause(temporal: TemporalClient, cluster: str, check: str) -> str:
    """Send the order of `paramedic upgrade unpause`; the workflow's answer."""
    order = UnpauseOrder(check=f"{NAMESPACE}/{check}", reason="spare nodes hang", identity="the admin")
    handle = temporal.get_workflow_handle(upgrade_pause_id(cluster))
    answer: str = await handle.execute_update("unpause", order, result_type=str)
    return answer


async def answer_of_pause(temporal: TemporalClient, cluster: str) -> UpgradePauseState:
    """The state of the upgrade pause, which a worker answers once it has no lost task."""
    handle = temporal.get_workflow_handle(upgrade_pause_id(cluster))
    answer: UpgradePauseState = await handle.query("state", result_type=UpgradePauseState)
    return answer


async def pause_of(temporal: TemporalClient, cluster: str) -> UpgradePauseResult:
    """Wait for the end of the upgrade pause; its result."""
    handle: WorkflowHandle[object, UpgradePauseResult] = temporal.get_workflow_handle(
        upgrade_pause_id(cluster), result_type=UpgradePauseResult
    )
    return await handle.result()
