"""A real ClusterState with Machines and their Nodes, filled as the reflectors fill it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from detector.answers.observation_builder import ObservationBuilder
from detector.attempts.attempts import Attempts
from detector.attempts.deletions import Deletions, MarkedTargets
from detector.context.check_freshness import CheckFreshness
from detector.openshift.kind import machine_join
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.gate.check_holds import CHECK_HOLDS, CheckHoldRow
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.openshift.machine import EXTERNAL_REMEDIATION, Machine
from health.model.node import Node
from health.model.observation import Observation
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import RemediationRequest
from health.model.target import TargetName, node_name
from health.policy.policy import Policy
from kube.record import Key
from objects.timestamps import stamp
from tests.support.values.builders import NOW, condition, node_object
from tests.support.values.openshift import MACHINE_SET, NAMESPACE, TEMPLATE, check_object

CHECK = CheckReference(kind="MachineHealthCheck", namespace=NAMESPACE, name="workers")
REQUEST_KIND = (TEMPLATE["apiVersion"], "Metal3Remediation")
UNKNOWN = {"type": "Ready", "status": "Unknown", "timeout": "300s"}
LONG_AGO = NOW - timedelta(hours=1)


def named(name: str) -> CheckReference:
    return CHECK.model_copy(update={"name": name})


class SmallMachines:
    """One check over all Machines of its namespace, with a timer of 5 minutes for Ready=Unknown."""

    def __init__(self, *, check_hold_rows: Sequence[CheckHoldRow] = CHECK_HOLDS) -> None:
        self.cluster_state = ClusterState("main-0a1b", check_hold_rows=check_hold_rows)
        self.told: list[str | None] = []
        self.now = NOW
        self._generation = 0
        self.attempts = Attempts(Policy, self.cluster_state, lambda: self.now)
        self.attempts.complete()
        self._join = machine_join(self.cluster_state)
        self.is_read = True
        for observer in (Deletions, MarkedTargets):
            made = observer(self.cluster_state, self.attempts, lambda _: self.is_read, lambda: self.now)
            self.cluster_state.event_handlers.add_change_handler(made.changed)
        self.cluster_state.event_handlers.add_change_handler(lambda _, target: self.told.append(target))

    def check(
        self,
        annotations: dict[str, str] | None = None,
        status: dict[str, Any] | None = None,
        name: str = CHECK.name,
        **spec: Any,
    ) -> None:
        body = check_object(annotations, **{"unhealthyConditions": [UNKNOWN], **spec})
        self._generation += 1
        body["metadata"] |= {"name": name, "generation": self._generation}
        body["status"] = status or {}
        record = CheckRecord.model_validate(body)
        self.cluster_state.check_changed(MACHINE_HEALTH_CHECK, named(name), record)

    def delete_check(self) -> None:
        self.cluster_state.check_changed(MACHINE_HEALTH_CHECK, CHECK, None)

    def node(
        self, name: str, *, ready: str = "True", since: datetime = LONG_AGO, heard_of: datetime = LONG_AGO
    ) -> None:
        says = condition("Ready", ready, since) | {"lastHeartbeatTime": stamp(heard_of)}
        node = Node.model_validate(node_object(says, name=name, uid=f"uid-{name}"))
        self.cluster_state.target_changed(TargetName("Node", "", name), node)
        self._join.node_changed(node_name(name), node)

    def delete_node(self, name: str) -> None:
        self.cluster_state.target_changed(TargetName("Node", "", name), None)
        self._join.node_changed(node_name(name), None)

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
    ) -> None:
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "labels": labels or {},
            "creationTimestamp": stamp(created),
            "ownerReferences": list(owners),
        }
        if mark is not None:
            metadata["annotations"] = {EXTERNAL_REMEDIATION: mark}
        if deleted is not None:
            metadata["deletionTimestamp"] = stamp(deleted)
        status: dict[str, Any] = {"phase": phase, "lastUpdated": stamp(created)}
        if node:
            status["nodeRef"] = {"name": node}
        machine = Machine.model_validate({"metadata": metadata, "status": status})
        self._join.target_changed(Key(namespace, name), machine)

    def break_node(self, name: str, problem: str) -> None:
        """Report the Node as one that cannot be decoded; the watch then also reports it as gone."""
        self.cluster_state.targets.put_undecodable(node_name(name), problem)
        self._join.node_decoding_changed(node_name(name))
        self.delete_node(name)

    def break_machine(self, name: str, problem: str) -> None:
        """Report the Machine as one that cannot be decoded, and as gone."""
        self.cluster_state.targets.put_undecodable(TargetName("Machine", NAMESPACE, name), problem)
        self.delete_machine(name)

    def delete_machine(self, name: str, namespace: str = NAMESPACE) -> None:
        self._join.target_changed(Key(namespace, name), None)

    def unsigned_request(self, machine: str) -> None:
        """A request as the machine-api-operator creates it: only its owner reference names the Machine."""
        owner = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": machine}
        metadata = {
            "name": machine,
            "namespace": NAMESPACE,
            "uid": f"request-{machine}",
            "creationTimestamp": stamp(self.now),
            "ownerReferences": [owner | {"uid": f"uid-{machine}"}],
        }
        request = RemediationRequest.model_validate({"metadata": metadata})
        self.cluster_state.request_changed(*REQUEST_KIND, request, exists=True)

    def numbers(self) -> tuple[int, int]:
        """The numbers of healthy Machines and of all."""
        allowance = self.cluster_state.allowance(CHECK)
        assert allowance is not None
        return allowance.healthy, allowance.total

    def wanted(self) -> set[str]:
        return {incident.target.name for incident in self.cluster_state.all_wanted()}

    def observe(self, name: str, *, is_handled: bool = True, check: str = CHECK.name) -> Observation:
        target = TargetReference(kind="Machine", namespace=NAMESPACE, name=name, uid=f"uid-{name}")
        incident = IncidentReference(cluster="main-0a1b", check=named(check), target=target)
        freshness = CheckFreshness(age=timedelta(), limit=timedelta(minutes=1), is_handled=is_handled)
        back_off = self.attempts.before(TargetName.of(target), self.cluster_state.targets.get(CHECK, name))
        return ObservationBuilder(
            cluster_state=self.cluster_state,
            incident=incident,
            freshness=freshness,
            now=self.now,
            back_off=back_off,
        ).observation()
