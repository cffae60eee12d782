"""Detector and worker with the made-up kind: an entry in each registry, and nothing else."""

from typing import NoReturn

from activities.kind_activities import KindActivities, TemplateUse, attempt_of
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
from tests.end_to_end.third_kind.check import MACHINE_HEALTH_CHECK, MACHINES, Machine, MachineTarget
from worker import worker


async def read_machine(
    live: LiveObjects,
    reference: TargetReference,
    context: ClusterContext,  # noqa: ARG001
) -> MachineTarget:
    found = await live.management.client.get(resource_of(MACHINES), reference.name, reference.namespace)
    return MachineTarget(Machine.model_validate(found))


async def request_for_machine(live: LiveObjects, use: TemplateUse) -> Object:  # noqa: ARG001
    asked, confirmed, template = use
    attempt, step = attempt_of(asked), asked.step
    annotations = {INCIDENT: attempt.incident.full_id, TARGET_UID: attempt.incident.target.uid}
    return {
        "apiVersion": step.template.api_version,
        "kind": step.template.request_kind,
        "metadata": {
            "name": confirmed.target.metadata.name,
            "namespace": step.template.namespace,
            "annotations": annotations,
        },
        "spec": template_contents(template, step),
    }


def target(machine: Machine, node: Node | None, *, is_read: bool) -> MachineTarget:  # noqa: ARG001
    return MachineTarget(machine)


def machines(cluster_state: ClusterState) -> MachineJoin:
    return MachineJoin(cluster_state, kind_name(MACHINES.group_kind), target)


def register() -> None:
    kind = MACHINE_HEALTH_CHECK.group_kind
    CHECK_KINDS[kind] = MACHINE_HEALTH_CHECK
    KIND_ACTIVITIES[kind] = KindActivities(read_target=read_machine, new_request=request_for_machine)
    WATCHED_KINDS[kind] = WatchedKind(targets=WatchedTargets(Machine, machines))


def run_detector() -> NoReturn:
    register()
    run_process(detector.run)


def run_worker() -> NoReturn:
    register()
    run_process(worker.run)
