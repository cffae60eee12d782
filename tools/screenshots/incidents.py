"""The incidents in the pictures: four checks over eight simulated nodes, one incident in each phase."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client as TemporalClient

from devcluster.demo.dev_description import DevDescription
from devcluster.demo.fixtures import NAMESPACE, ensure
from devcluster.simulation.control_socket import CONTROL_SOCKET, send_request
from devcluster.simulation.resources import NODE_HEALTH_CHECKS, TEMPLATES
from kube.client import Client
from kube.resource import Object
from kube.transport import Transport

NODES = 8
STEP_SECONDS = 60
PATIENCE_SECONDS = 240
SEVERAL = {"remediation.medik8s.io/multiple-templates-support": "true"}
HANGS, REBOOTS = 3600, 2
"""Seconds without power: the first does not end in time, the second does."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One check, its nodes, and the part of its spec that makes its incident stay in a phase."""

    check: str
    nodes: tuple[str, ...]
    fails: str
    duration: str
    min_healthy: str
    steps: tuple[str, ...]


ENDED = Scene(
    check="workers",
    nodes=("node-1", "node-2", "node-3"),
    fails="node-2",
    duration="5s",
    min_healthy="51%",
    steps=("power-cycle",),
)
WAITING = Scene(
    check="gpu", nodes=("node-4",), fails="node-4", duration="10m", min_healthy="0%", steps=("power-cycle",)
)
HELD = Scene(
    check="storage",
    nodes=("node-5", "node-6"),
    fails="node-5",
    duration="5s",
    min_healthy="100%",
    steps=("power-cycle",),
)
ESCALATED = Scene(
    check="batch",
    nodes=("node-7", "node-8"),
    fails="node-7",
    duration="5s",
    min_healthy="50%",
    steps=("soft-reboot", "power-off"),
)
SCENES = (ENDED, WAITING, HELD, ESCALATED)


async def begin(dev: DevDescription, directory: Path) -> None:
    """Create the checks, and let one node of each fail."""
    async with await Transport.connect(str(dev.kubeconfig)) as transport:
        client = Client(transport)
        for name, seconds in (("power-cycle", REBOOTS), ("soft-reboot", HANGS), ("power-off", HANGS)):
            await ensure(client, TEMPLATES, _template(name, seconds), NAMESPACE)
        for scene in SCENES:
            await ensure(client, NODE_HEALTH_CHECKS, _check(scene))
    for scene in SCENES:
        await send_request(directory / CONTROL_SOCKET, {"stop": scene.fails})


async def in_their_phases(dev: DevDescription) -> dict[str, tuple[str, str]]:
    """Wait until each incident is in its phase; returns workflow and run id by check."""
    client = await TemporalClient.connect(dev.temporal_address, namespace=dev.temporal_namespace)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(found := await _listed(client)) < len(SCENES):  # noqa: ASYNC110  Temporal signals nothing
            await asyncio.sleep(1)
        workflow, run = found[ENDED.check]
        await client.get_workflow_handle(workflow, run_id=run).result()
        workflow, run = found[ESCALATED.check]
        handle = client.get_workflow_handle(workflow, run_id=run)
        while len((await handle.query("state"))["requests"]) < len(ESCALATED.steps):  # noqa: ASYNC110  see above
            await asyncio.sleep(1)
    return found


async def _listed(client: TemporalClient) -> dict[str, tuple[str, str]]:
    listed = [one async for one in client.list_workflows("WorkflowType = 'Remediation'")]
    return {one.id.split("/")[3]: (one.id, one.run_id or "") for one in listed}


def _template(name: str, seconds: int) -> Object:
    return {
        "apiVersion": TEMPLATES.api_version,
        "kind": TEMPLATES.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": SEVERAL},
        "spec": {"template": {"spec": {"powerOffSeconds": seconds}}},
    }


def _check(scene: Scene) -> Object:
    named = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(scene.nodes)}
    return {
        "apiVersion": NODE_HEALTH_CHECKS.api_version,
        "kind": NODE_HEALTH_CHECKS.kind,
        "metadata": {"name": scene.check},
        "spec": {
            "selector": {"matchExpressions": [named]},
            "minHealthy": scene.min_healthy,
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "duration": scene.duration}],
            **_remediation(scene.steps),
        },
    }


def _remediation(steps: Sequence[str]) -> Object:
    if len(steps) == 1:
        return {"remediationTemplate": _reference(steps[0])}
    escalating = [
        {"remediationTemplate": _reference(name), "order": order, "timeout": f"{STEP_SECONDS}s"}
        for order, name in enumerate(steps)
    ]
    return {"escalatingRemediations": escalating}


def _reference(name: str) -> dict[str, str]:
    return {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": name, "namespace": NAMESPACE}
