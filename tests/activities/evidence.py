"""The surroundings of a Node for evidence:

Pods on it and on other Nodes, and Events; and the input of the activity.
"""

from kube.client import Client
from kube.resource import EVENTS, PODS, Object
from workflows.contracts import ActInput, EvidenceInput

SECRET = "s3cr3t"
MADE = "tests.paramedic.dev/evidence"
"""The label of all objects that these tests create."""
MICRO_TIME = "2026-01-01T00:00:00.000000Z"


def evidence_asked(act: ActInput, **changes: object) -> EvidenceInput:
    """The input that an incident sends before this act."""
    asked = EvidenceInput(
        incident=act.incident,
        first_run_id="run-1",
        step=act.step,
        reason="Ready is False since long",
        fact=act.fact,
        generation=act.generation,
    )
    return asked.model_copy(update=changes)


async def make_pod(client: Client, name: str, node: str) -> None:
    container = {"name": "c", "image": "i", "env": [{"name": "PASSWORD", "value": SECRET}]}
    spec = {"nodeName": node, "containers": [container], "automountServiceAccountToken": False}
    metadata = {"name": name, "labels": {MADE: "yes"}, "annotations": {"token": SECRET}}
    body: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    await client.create(PODS, body, "default")


async def make_event(client: Client, name: str, about: Object, message: str) -> None:
    body: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "labels": {MADE: "yes"}},
        "involvedObject": {"apiVersion": "v1", "namespace": "", **about},
        "reason": "NodeNotReady",
        "message": message,
        "type": "Warning",
        "eventTime": MICRO_TIME,
        "reportingComponent": "tests",
        "reportingInstance": "tests",
        "action": "tested",
    }
    await client.create(EVENTS, body, "default")
