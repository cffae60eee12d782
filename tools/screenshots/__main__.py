"""`make screenshots`: the pictures of docs/temporal-ui.md, in docs/images.

It runs `paramedic dev` in an empty directory and needs `chromium` (a package of Debian). No test runs it, so
look at each picture after a change of the texts.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from temporalio.client import Client as TemporalClient

from devcluster.demo.dev_description import DevDescription
from devcluster.demo.dev_process import dev_process
from devcluster.demo.fixtures import NAMESPACE, ensure
from devcluster.manifests import ROOT
from devcluster.simulation.control_socket import CONTROL_SOCKET, send_request
from devcluster.simulation.resources import NODE_HEALTH_CHECKS, TEMPLATES
from kube.client import Client
from kube.resource import Object
from kube.transport import Transport
from screenshots.browser import Browser, Part, browser

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
    executions = [execution async for execution in client.list_workflows("WorkflowType = 'Remediation'")]
    return {execution.id.split("/")[3]: (execution.id, execution.run_id or "") for execution in executions}


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


IMAGES = ROOT / "docs" / "images"
LARGEST_BYTES = 150_000
READY_SECONDS = 120
ALL = "WorkflowType = 'Remediation'"
ORDER = '{"reason": "replacing its disk", "for_seconds": 7200}'
OBEYED = "Held: held by a person: replacing its disk"
"""The beginning of the summary of the next timer."""


class Pictures:
    """The pictures of the incidents of one devcluster, and the files for them."""

    def __init__(self, tab: Browser, dev: DevDescription, found: dict[str, tuple[str, str]]) -> None:
        self._tab = tab
        self._namespace = f"{dev.temporal_ui}/namespaces/{dev.temporal_namespace}"
        self._found = found

    def take(self) -> None:
        """Take all; the last one sends an order, and waits until the incident has obeyed it."""
        self._tab.open(f"{self._namespace}/workflows?query={quote(ALL)}", "node-2", height=560)
        self._keep("temporal-list", Part(top=0, height=560))
        self._timeline(ENDED.check, "temporal-ended", rows=10)
        self._timeline(ESCALATED.check, "temporal-escalation", rows=14)
        self._open(HELD.check, "Timeline")
        self._tab.click("User Metadata")
        self._tab.wait_for("Current Details")
        top = self._tab.top_of("User Metadata") - 20
        self._keep("temporal-held", Part(top=top, height=500, left=270, width=930))
        self._order()

    def _timeline(self, check: str, name: str, rows: int) -> None:
        self._open(check, "Timeline")
        top = self._tab.top_of("Descending") - 20
        self._keep(name, Part(top=top, height=110 + 24 * rows, left=270, width=930))

    def _order(self) -> None:
        self._open(HELD.check, "Timeline", height=1000)
        self._tab.click("More Actions")
        self._tab.click("Send an Update")
        self._tab.press("[data-testid=update-select-button]")
        self._tab.click("hold")
        self._tab.press("dialog[open] .cm-content")
        self._tab.write(ORDER)
        self._keep("temporal-order", Part(top=230, height=540, left=200, width=800))
        self._tab.click("Submit")
        self._open(HELD.check, OBEYED)

    def _open(self, check: str, shows: str, height: int = 1500) -> None:
        workflow, run = self._found[check]
        self._tab.open(f"{self._namespace}/workflows/{quote(workflow, safe='')}/{run}", shows, height)

    def _keep(self, name: str, part: Part) -> None:
        file = IMAGES / f"{name}.png"
        self._tab.picture(file, part)
        if (size := file.stat().st_size) > LARGEST_BYTES:
            sys.exit(f"{file} has {size} bytes; take a smaller part of the page")
        sys.stdout.write(f"{file.relative_to(ROOT)}: {size} bytes\n")


def _report(line: str) -> None:
    sys.stderr.write(f"{line}\n")


async def main() -> None:
    os.environ.update(USER="operator", LOGNAME="operator")  # orders and logs name it
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="shots-") as directory:
        data = Path(directory)
        module = ("cli.main", "dev", "--simulate-nodes", str(NODES))
        async with dev_process(data, module, _report) as process:
            dev = await asyncio.wait_for(process.ready(), READY_SECONDS)
            await begin(dev, data)
            found = await in_their_phases(dev)
            with browser(data / "browser") as tab:
                Pictures(tab, dev, found).take()


if __name__ == "__main__":
    asyncio.run(main())
