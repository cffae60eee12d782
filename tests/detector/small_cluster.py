"""A real ClusterState for tests, filled as the reflectors fill it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from detector.dispatching.dispatch import OpenIncidents, subject_of
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.check.template_validity import TemplateKind, TemplateKinds
from health.gate.check_holds import CHECK_HOLDS, CheckHoldRow
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.node import Node
from health.model.observation import Observation
from health.model.references import CheckReference, IncidentReference, TargetReference
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
from tests.support.values.builders import NOW, check_object, condition, node_object

CHECK = CheckReference(kind="NodeHealthCheck", name="workers")
REQUEST_KIND = ("example.com/v1", "Reboot")


def incident_of(node: str, check: CheckReference = CHECK, *, uid: str = "") -> IncidentReference:
    """The incident of a Node that `SmallCluster.node` made."""
    target = TargetReference(kind="Node", name=node, uid=uid or f"uid-{node}")
    return IncidentReference(cluster="main-0a1b", check=check, target=target)


class SmallCluster:
    """One check over nodes with the label role=worker, with a timer of 5 minutes for Ready=Unknown."""

    def __init__(
        self,
        *,
        removes_confirmations: bool = True,
        check_hold_rows: Sequence[CheckHoldRow] = CHECK_HOLDS,
    ) -> None:
        self.template_kinds: TemplateKinds = lambda *_: None
        self.cluster_state = ClusterState(
            "main-0a1b",
            template_kinds=self._template_kind,
            check_hold_rows=check_hold_rows,
            removes_confirmations=removes_confirmations,
        )
        self.open = OpenIncidents(subject_of)
        self.now = NOW

    def _template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        return self.template_kinds(api_version, kind)

    def check(
        self,
        check: CheckReference = CHECK,
        *,
        phase: str = "Enabled",
        duration: str = "5m",
        generation: int = 3,
        annotations: dict[str, str] | None = None,
        **spec: Any,
    ) -> None:
        conditions = [{"type": "Ready", "status": "Unknown", "duration": duration}]
        body = check_object(**{"unhealthyConditions": conditions} | spec) | {"status": {"phase": phase}}
        body["metadata"] |= {
            "name": check.name,
            "generation": generation,
            "annotations": annotations or {},
        }
        self.cluster_state.check_changed(NODE_HEALTH_CHECK, check, CheckRecord.model_validate(body))

    def delete_check(self) -> None:
        self.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, None)

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
    ) -> None:
        self._request(target, uid, age, exists=True, old=old, owner=owner, attempt=attempt, template=template)

    def delete_request(self, target: str, *, uid: str = "", age: timedelta = timedelta(0)) -> None:
        self._request(target, uid, age, exists=False)

    def answered(self, name: str, observation: Observation | None) -> None:
        self.open.put(incident_of(name), observation, self.now)

    def _request(  # noqa: PLR0913  each is a mark of the request
        self,
        target: str,
        uid: str,
        age: timedelta,
        *,
        exists: bool,
        old: bool = False,
        owner: str = "",
        attempt: int = 1,
        template: str = "",
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
