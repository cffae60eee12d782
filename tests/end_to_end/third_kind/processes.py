"""Detector and worker with the made-up kind: an entry in each registry, and nothing else."""

from typing import NoReturn

from activities.kind_activities import ConfirmedStep, KindActivities
from activities.live_objects import LiveObjects
from activities.registry import KIND_ACTIVITIES
from detector import detector
from detector.registry import WATCHED_KINDS
from detector.state.cluster_state import ClusterState
from detector.state.machine_join import MachineJoin
from detector.watched_kind import WatchedKind, WatchedTargets
from health.cluster.cluster_context import ClusterContext
from health.kinds.registry import CHECK_KINDS
from health.model.node import Node
from health.model.references import TargetReference, kind_name
from health.model.remediation_request import INCIDENT, TARGET_UID, template_contents
from kube.resource import Object, resource_of
from runtime.process import run_process
from tests.end_to_end.third_kind.check import (
    MACHINE_HEALTH_CHECK,
    MACHINES,
    Machine,
    MachineHealthCheck,
    MachineTarget,
)
from worker import worker


class MachineActivities(KindActivities[MachineHealthCheck, MachineTarget]):
    """The reads of the made-up kind, and the contents of its requests."""

    async def read_target(
        self,
        live: LiveObjects,
        reference: TargetReference,
        context: ClusterContext,  # noqa: ARG002
    ) -> MachineTarget:
        found = await live.management.client.get(resource_of(MACHINES), reference.name, reference.namespace)
        return MachineTarget(Machine.model_validate(found))

    async def new_request(
        self, step: ConfirmedStep[MachineHealthCheck, MachineTarget], template: Object
    ) -> Object:
        incident, used = step.act.incident, step.act.step.template
        return {
            "apiVersion": used.api_version,
            "kind": used.request_kind,
            "metadata": {
                "name": step.confirmed.target.metadata.name,
                "namespace": used.namespace,
                "annotations": {INCIDENT: incident.full_id, TARGET_UID: incident.target.uid},
            },
            "spec": template_contents(template, step.act.step),
        }


def target(machine: Machine, node: Node | None, *, is_read: bool) -> MachineTarget:  # noqa: ARG001
    return MachineTarget(machine)


def machines(cluster_state: ClusterState) -> MachineJoin:
    return MachineJoin(cluster_state, kind_name(MACHINES.group_kind), target)


def register() -> None:
    kind = MACHINE_HEALTH_CHECK.group_kind
    CHECK_KINDS[kind] = MACHINE_HEALTH_CHECK
    KIND_ACTIVITIES[kind] = MachineActivities()
    WATCHED_KINDS[kind] = WatchedKind(targets=WatchedTargets(Machine, machines))


def run_detector() -> NoReturn:
    register()
    run_process(detector.run)


def run_worker() -> NoReturn:
    register()
    run_process(worker.run)
