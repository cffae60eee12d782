"""One test's part of a real cluster, as its administrator sees it: nodes, a check, a template, requests."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from temporalio.client import Client as TemporalClient
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle

from devcluster.polling import until
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.observation import Observation
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import MULTIPLE_TEMPLATES
from kube.client import Client
from kube.errors import NotFound
from kube.resource import EVENTS, LEASES, NODES, Object, Resource
from tests.support.story.nodes import Nodes
from tests.support.story.outcome import outcome_of
from tests.support.story.request_log import RequestLog
from workflows.messages import State

GROUP, KIND = "demo.paramedic.dev/v1", "PowerCycleRemediation"
REQUESTS = Resource(GROUP, KIND, "powercycleremediations", namespaced=True)
TEMPLATES = Resource(GROUP, f"{KIND}Template", "powercycleremediationtemplates", namespaced=True)
LEASE_NAMESPACE = "medik8s-leases"
PATIENCE = timedelta(seconds=60)
LOOK_AGAIN = timedelta(milliseconds=300)
"""Each poll asks the API server or a workflow, and all tests share the cores of the machine."""


class World(Nodes):
    """One test's part of a cluster, with unique names."""

    def __init__(self, client: Client, temporal: TemporalClient, cluster: str, requests: RequestLog) -> None:
        super().__init__(client, f"t-{uuid.uuid4().hex[:8]}")
        self.temporal = temporal
        self.cluster = cluster
        self.requests = requests
        self.templates: list[str] = []
        self.patience = PATIENCE
        """How long to wait for what must become so."""

    async def add_template(self, suffix: str = "", *, multiple: bool = False) -> None:
        """Add a template; `multiple` allows several requests of its kind for one node."""
        reference = self.template(suffix)
        body = {
            "apiVersion": reference["apiVersion"],
            "kind": reference["kind"],
            "metadata": {
                "name": reference["name"],
                "namespace": reference["namespace"],
                "annotations": {MULTIPLE_TEMPLATES: "true"} if multiple else {},
            },
            "spec": {"template": {"spec": {"powerOffSeconds": 7}}},
        }
        self.templates.append(reference["name"])
        await self.client.create(TEMPLATES, body, reference["namespace"])

    def template(self, suffix: str = "") -> dict[str, str]:
        """The reference to a template of this test in a check."""
        name = f"{self.name}-{suffix}" if suffix else self.name
        return {
            "apiVersion": TEMPLATES.api_version,
            "kind": TEMPLATES.kind,
            "name": name,
            "namespace": "default",
        }

    async def add_check(
        self, *, duration: str = "1s", annotations: dict[str, str] | None = None, **spec: Any
    ) -> None:
        """Add a check over the nodes of this test, and its template unless the check escalates."""
        if "escalatingRemediations" not in spec:
            await self.add_template()
            spec = {"remediationTemplate": self.template()} | spec
        conditions = [{"type": "Ready", "status": "Unknown", "duration": duration}]
        threshold = {} if "maxUnhealthy" in spec else {"minHealthy": 0}
        body = {
            "apiVersion": NODE_HEALTH_CHECKS.api_version,
            "kind": NODE_HEALTH_CHECKS.kind,
            "metadata": {"name": self.name, "annotations": annotations or {}},
            "spec": {"selector": {"matchLabels": {"test": self.name}}, "unhealthyConditions": conditions}
            | threshold
            | spec,
        }
        await self.client.create(NODE_HEALTH_CHECKS, body)

    async def edit_check(self, **spec: Any) -> None:
        await self.client.merge_patch(NODE_HEALTH_CHECKS, self.name, {"spec": spec})

    async def delete_check(self) -> None:
        await self.client.delete(NODE_HEALTH_CHECKS, self.name)

    async def set_finalizers(self, node: str, finalizers: list[str] | None) -> None:
        """Set the finalizers of a node's request."""
        patch = {"metadata": {"finalizers": finalizers}}
        await self.client.merge_patch(REQUESTS, node, patch, "default")

    async def until_looked_at(self, node: str) -> None:
        """Wait until the incident has observed the current generation of the check."""
        generation = (await self.check())["metadata"]["generation"]

        await self.until_seen(node, lambda seen: seen.generation == generation)

    async def until_seen(self, node: str, is_so: Callable[[Observation], bool]) -> None:
        """Wait until an observation of the incident satisfies `is_so`."""

        async def has_seen() -> bool:
            seen = (await self.state(node)).observation
            return seen is not None and is_so(seen)

        await self.until(has_seen, f"the incident of {node} never saw what is so now")

    async def check(self) -> Object:
        return await self.client.get(NODE_HEALTH_CHECKS, self.name)

    async def status(self) -> Object:
        status: Object = (await self.check()).get("status", {})
        return status

    async def request(self, node: str) -> Object:
        return await self.client.get(REQUESTS, node, "default")

    async def lease(self, node: str) -> Object | None:
        try:
            return await self.client.get(LEASES, f"node-{node}", LEASE_NAMESPACE)
        except NotFound:
            return None

    async def events(self) -> list[tuple[str, str, str]]:
        """Type, reason and message of the Events of the check, in the order of their creation."""
        found = [
            e for e in await self.client.list(EVENTS, "default") if e["involvedObject"]["name"] == self.name
        ]
        found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [(event["type"], event["reason"], event["message"]) for event in found]

    async def until_told(self, reason: str, words: str) -> None:
        """Wait for an Event: it is written asynchronously."""

        async def is_reported() -> bool:
            return any(reason == why and words in message for _, why, message in await self.events())

        await self.until(is_reported, f"no Event {reason} said {words!r}")

    async def incident(self, node: str) -> IncidentReference:
        """The reference of a node's incident, whether or not it exists."""
        uid = (await self.client.get(NODES, node))["metadata"]["uid"]
        return IncidentReference(
            cluster=self.cluster,
            check=CheckReference(kind="NodeHealthCheck", name=self.name),
            target=TargetReference(kind="Node", name=node, uid=uid),
        )

    async def workflow(self, node: str) -> WorkflowHandle[Any, Any]:
        return self.temporal.get_workflow_handle((await self.incident(node)).workflow_id)

    async def state(self, node: str) -> State:
        state: State = await (await self.workflow(node)).query("state", result_type=State)
        return state

    async def outcome(self, node: str) -> str:
        """Wait for the incident of a node to end, and return its outcome."""
        async with asyncio.timeout(self.patience.total_seconds()):
            return await outcome_of(await self.workflow(node))

    async def has_incident(self, node: str) -> bool:
        """True if the incident of a node ever had a workflow, open or closed."""
        query = f"WorkflowId = '{(await self.incident(node)).workflow_id}'"
        return (await self.temporal.count_workflows(query)).count > 0

    async def until_phase(self, node: str, phase: str) -> None:
        """Wait until the open incident of a node is in a phase; an ended run answers queries as well."""

        async def is_in_phase() -> bool:
            query = (
                f"WorkflowId = '{(await self.incident(node)).workflow_id}' AND ExecutionStatus = 'Running'"
            )
            is_open = (await self.temporal.count_workflows(query)).count > 0
            return is_open and (await self.state(node)).phase == phase

        await self.until(is_in_phase, f"{node} never was in phase {phase}")

    async def until_requested(self, *nodes: str) -> None:
        async def all_requested() -> bool:
            return all(self.requests.existing(node) == 1 for node in nodes)

        await self.until(all_requested, f"no request for each of {nodes}")

    async def until_clean(self, *nodes: str) -> None:
        """Wait until no node has a request or a Lease."""

        async def is_clean() -> bool:
            leases = [await self.lease(node) for node in nodes]
            return not any(leases) and not any(self.requests.existing(node) for node in nodes)

        await self.until(is_clean, f"something is left of {nodes}")

    async def until_status(self, **fields: Any) -> None:
        """Wait until the status of the check has these fields."""

        async def is_so() -> bool:
            status = await self.status()
            return all(status.get(name) == value for name, value in fields.items())

        await self.until(is_so, f"the status never had {fields}")

    async def until_ended(self, node: str) -> None:
        """Wait until no workflow of the node is running."""

        async def has_ended() -> bool:
            workflow = await (await self.workflow(node)).describe()
            return workflow.status is not WorkflowExecutionStatus.RUNNING

        await self.until(has_ended, f"the incident of {node} still runs")

    async def until_nothing_runs(self) -> None:
        """Wait until no incident of this cluster is open."""
        query = f"ParamedicCluster = '{self.cluster}' AND ExecutionStatus = 'Running'"

        async def has_ended() -> bool:
            return (await self.temporal.count_workflows(query)).count == 0

        await self.until(has_ended, "incidents still run after the check is gone")

    async def until(self, true: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        await until(true, within=self.patience, otherwise=otherwise, every=LOOK_AGAIN)

    async def remove(self) -> None:
        for resource, names, namespace in (
            (NODE_HEALTH_CHECKS, [self.name], ""),
            (TEMPLATES, self.templates, "default"),
            (REQUESTS, [name for name in self.requests.latest if name.startswith(self.name)], "default"),
            (NODES, self.nodes, ""),
        ):
            for name in names:
                await self._remove(resource, name, namespace)

    async def _remove(self, resource: Resource, name: str, namespace: str) -> None:
        try:
            found = await self.client.get(resource, name, namespace)
            if found["metadata"].get("finalizers"):
                patch = {"metadata": {"finalizers": None}}
                await self.client.merge_patch(resource, name, patch, namespace)
            await self.client.delete(resource, name, namespace)
        except NotFound:
            return
