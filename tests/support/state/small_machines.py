"""SmallMachines: the state of a cluster with Machines of OpenShift, their Nodes and a MachineHealthCheck."""

from datetime import datetime
from typing import Any

from detector.attempts.attempts import Attempts
from detector.attempts.unrequested_ends import UnrequestedEnds
from detector.openshift.kind import machine_join
from health.gate.back_off import RemediationBackOff
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.openshift.machine import EXTERNAL_REMEDIATION, Machine
from health.model.node import Node
from health.model.references import IncidentReference
from health.model.target import TargetName, node_name
from health.policy.policy import Policy
from kube.record import Key
from objects.timestamps import stamp
from tests.support.state.small_state import LONG_AGO, SmallState
from tests.support.values.builders import condition, node_object
from tests.support.values.openshift import MACHINE_SET, NAMESPACE, TEMPLATE, check_object

REQUEST_KIND = (TEMPLATE["apiVersion"], "Metal3Remediation")
UNKNOWN = {"type": "Ready", "status": "Unknown", "timeout": "300s"}


class SmallMachines(SmallState):
    """One check over all Machines of its namespace, with a timer of 5 minutes for Ready=Unknown."""

    kind = MACHINE_HEALTH_CHECK
    namespace = NAMESPACE

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.attempts = Attempts(Policy, self.cluster_state, lambda: self.now)
        self.attempts.complete()
        self.join = machine_join(self.cluster_state)
        self.is_read = True
        ends = UnrequestedEnds(self.cluster_state, self.attempts, lambda _: self.is_read, lambda: self.now)
        self.cluster_state.event_handlers.add_change_handler(ends.changed)

    def check_body(self, annotations: dict[str, str] | None, **spec: Any) -> dict[str, Any]:
        return check_object(annotations, **{"unhealthyConditions": [UNKNOWN], **spec})

    def unhealthy(self, name: str) -> None:
        self.node(name, ready="Unknown")
        self.machine(name, node=name)

    def node(
        self,
        name: str,
        *,
        ready: str = "True",
        since: datetime = LONG_AGO,
        heard_of: datetime = LONG_AGO,
        annotations: dict[str, str] | None = None,
    ) -> None:
        says = condition("Ready", ready, since) | {"lastHeartbeatTime": stamp(heard_of)}
        body = node_object(says, name=name, uid=f"node-uid-{name}", annotations=annotations or {})
        node = Node.model_validate(body)
        self.cluster_state.target_changed(TargetName("Node", "", name), node)
        self.join.node_changed(node_name(name))

    def delete_node(self, name: str) -> None:
        self.cluster_state.target_changed(TargetName("Node", "", name), None)
        self.join.node_changed(node_name(name))

    def machine(  # noqa: PLR0913  each is a mark of the Machine
        self,
        name: str,
        *,
        node: str = "",
        namespace: str = NAMESPACE,
        created: datetime = LONG_AGO,
        deleted: datetime | None = None,
        owners: tuple[dict[str, Any], ...] = (MACHINE_SET,),
        phase: str = "Running",
        mark: str | None = None,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
    ) -> None:
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "labels": labels or {},
            "creationTimestamp": stamp(created),
            "ownerReferences": list(owners),
        }
        marks = {} if mark is None else {EXTERNAL_REMEDIATION: mark}
        metadata["annotations"] = {**(annotations or {}), **marks}
        if deleted is not None:
            metadata["deletionTimestamp"] = stamp(deleted)
        status: dict[str, Any] = {"phase": phase, "lastUpdated": stamp(created)}
        if node:
            status["nodeRef"] = {"name": node}
        machine = Machine.model_validate({"metadata": metadata, "status": status})
        self.join.target_changed(Key(namespace, name), machine)

    def break_node(self, name: str, problem: str) -> None:
        """Report the Node as an object that cannot be decoded; the watch then also reports it as gone."""
        self.cluster_state.targets.put_undecodable(node_name(name), problem)
        self.join.node_changed(node_name(name))
        self.delete_node(name)

    def break_machine(self, name: str, problem: str) -> None:
        """Report the Machine as an object that cannot be decoded, and as gone."""
        self.cluster_state.targets.put_undecodable(TargetName("Machine", NAMESPACE, name), problem)
        self.delete_machine(name)

    def delete_machine(self, name: str, namespace: str = NAMESPACE) -> None:
        self.join.target_changed(Key(namespace, name), None)

    def unsigned_request(self, machine: str) -> None:
        """A request as the machine-api-operator creates it: only its owner reference names the Machine."""
        owner = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": machine}
        self.request_of_operator(REQUEST_KIND, owner | {"uid": f"uid-{machine}"})

    def _back_off(self, incident: IncidentReference) -> RemediationBackOff:
        target = self.cluster_state.targets.get(incident.check, incident.target.name)
        return self.attempts.before(TargetName.of(incident.target), target)


CHECK = SmallMachines.named()
