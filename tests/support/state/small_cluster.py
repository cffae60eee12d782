"""SmallCluster: the state of a cluster with Nodes and a NodeHealthCheck."""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from detector.dispatching.incident_queues import OpenIncidents
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.node import Node
from health.model.observation import Observation
from health.model.references import IncidentReference
from health.model.remediation_request import (
    ATTEMPT,
    GREW_OLD,
    GREW_OLD_FLAG,
    NODE_NAME,
    TARGET_UID,
    TEMPLATE_NAME,
    RemediationRequest,
)
from health.model.target import TargetName
from objects.timestamps import stamp
from tests.support.state.small_state import LONG_AGO, WORKERS, SmallState
from tests.support.values.builders import NOW, check_object, condition, node_object

REQUEST_KIND = ("example.com/v1", "Reboot")


class SmallCluster(SmallState):
    """One check over nodes with the label role=worker, with a timer of 5 minutes for Ready=Unknown."""

    kind = NODE_HEALTH_CHECK
    stored_status: ClassVar = {"phase": "Enabled"}
    without_threshold: ClassVar = {"minHealthy": 0}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.open = OpenIncidents()

    def check_body(self, annotations: dict[str, str] | None, **spec: Any) -> dict[str, Any]:
        conditions = [{"type": "Ready", "status": "Unknown", "duration": spec.pop("duration", "5m")}]
        body = check_object(**{"unhealthyConditions": conditions} | spec)
        body["metadata"]["annotations"] = annotations or {}
        return body

    def unhealthy(self, name: str) -> None:
        self.node(name, ready="Unknown", since=LONG_AGO)

    def node(
        self, name: str, *, ready: str = "True", since: datetime = NOW, uid: str = "", **metadata: Any
    ) -> None:
        self.node_with(name, condition("Ready", ready, since), **{"uid": uid or f"uid-{name}", **metadata})

    def node_with(self, name: str, *conditions: dict[str, Any], **metadata: Any) -> None:
        """Add a Node with exactly these conditions."""
        defaults = {"labels": {"role": "worker"}, "name": name, "uid": f"uid-{name}"}
        made = node_object(*conditions, **{**defaults, **metadata})
        self.cluster_state.target_changed(TargetName("Node", "", name), Node.model_validate(made))

    def delete_node(self, name: str) -> None:
        self.cluster_state.target_changed(TargetName("Node", "", name), None)

    def request(  # noqa: PLR0913  each is a mark of the request
        self,
        target: str,
        *,
        uid: str = "",
        age: timedelta = timedelta(0),
        old: bool = False,
        owner: str = "",
        attempt: int = 1,
        template: str = "",
        exists: bool = True,
    ) -> None:
        owned_by = {
            "apiVersion": NODE_HEALTH_CHECK.api_version,
            "kind": owner or CHECK.kind,
            "name": CHECK.name,
            "uid": "check-uid",
        }
        marks = {ATTEMPT: str(attempt)} | ({GREW_OLD: GREW_OLD_FLAG} if old else {})
        marks |= {TEMPLATE_NAME: template} if template else {}
        metadata = {
            "name": f"{target}-{uid}" if uid else target,
            "namespace": "remediators",
            "uid": uid or f"request-{target}",
            "creationTimestamp": stamp(self.now - age),
            "annotations": {NODE_NAME: target, TARGET_UID: f"uid-{target}"} | marks,
            "ownerReferences": [owned_by],
        }
        made = RemediationRequest.model_validate({"metadata": metadata})
        self.cluster_state.request_changed(*REQUEST_KIND, made, exists=exists)

    def delete_request(self, target: str, *, uid: str = "", age: timedelta = timedelta(0)) -> None:
        self.request(target, uid=uid, age=age, exists=False)

    def answered(self, name: str, observation: Observation | None) -> None:
        self.open.put(incident_of(name), observation, self.now)


CHECK = SmallCluster.named()


def incident_of(node: str, check: str = WORKERS, *, uid: str = "") -> IncidentReference:
    return SmallCluster.incident(node, check, uid=uid)
