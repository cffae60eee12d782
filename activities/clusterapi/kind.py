"""The activities for MachineHealthChecks of Cluster API: they ask owners to remediate, or make requests.

The owner of a Machine (a MachineSet, a control plane) uses two conditions: that the health check failed, and
that it is asked to remediate, so both are written at once. The owner removes the second one when it has
deleted the Machine or the Machine is healthy again; we never do (CAPI B.2.5).

Other controllers write conditions of a Machine all the time, so a write with a conflict is repeated after a
new look at the changed Machine alone: the other objects take longer to read than a busy writer waits.
"""

from collections.abc import Mapping
from dataclasses import replace

from activities.attempt import StepHeld
from activities.kind_activities import ConfirmedStep, KindActivities, StepAction, StepWrite
from activities.live_objects import LiveObjects
from activities.revalidation import not_true, target_as_read
from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.cluster import CHECK, CLUSTERS, Cluster, Clusters, judge, kubeconfig_secret
from health.kinds.clusterapi.kind import marking_failed, new_request
from health.kinds.clusterapi.machine import MACHINES, Machine, MachineTarget
from health.kinds.clusterapi.machine_conditions import asked_of_owner, status_patch
from health.model.references import Action, TargetReference
from kube.errors import Conflict, KindUnknown, NotFound, RequestRefused
from kube.resource import Object
from kube.retry_on_conflict import retry_on_conflict

TRIES = 10
"""Reads of a Machine until its mark is written; a few writers in between are usual."""
MachineStep = ConfirmedStep[MachineHealthCheck, MachineTarget]


class ClusterApiActivities(KindActivities[MachineHealthCheck, MachineTarget]):
    """The reads and writes of MachineHealthChecks of Cluster API."""

    async def read_target(
        self, live: LiveObjects, reference: TargetReference, context: ClusterContext
    ) -> MachineTarget:
        """The Machine of that name, with any uid; with its Node once the control plane is initialized."""
        management = live.management
        resource = await management.discovery.first_served(MACHINES)
        found = await management.client.get(resource, reference.name, reference.namespace)
        target = MachineTarget(Machine.model_validate(found))
        cluster = Clusters.in_context(context).of(reference.namespace, target.machine.cluster_name)
        if cluster is None or not cluster.is_control_plane_initialized:
            return target
        secret = kubeconfig_secret(target.node_cluster)
        return replace(target, node=await live.node_of(target, secret, cluster.metadata.uid))

    async def read_context(self, live: LiveObjects, check: MachineHealthCheck) -> ClusterContext:
        """The Cluster of the check, as its context.

        Raises:
            StepHeld: there is none, and without it a check does nothing.
            KubernetesError: as the client does.
            ValidationError: it cannot be read.

        """
        namespace, name = check.metadata.namespace, check.spec.cluster_name
        try:
            resource = await live.management.discovery.first_served(CLUSTERS)
            found = Cluster.model_validate(await live.shared.get(resource, name, namespace))
        except KindUnknown:
            raise
        except NotFound as error:
            raise not_true(f"Cluster {namespace}/{name} is gone") from error
        return ClusterContext(of_kinds={CHECK: judge([found])})

    async def new_request(self, step: MachineStep, template: Object) -> Object:
        machine = step.confirmed.target.machine
        return new_request(step.attempt, step.act.step, template=template, machine=machine)

    @property
    def actions(self) -> Mapping[str, StepAction[MachineHealthCheck, MachineTarget]]:
        return {Action.MARK: _mark}


async def _mark(step: MachineStep) -> StepWrite | None:
    """Ask the owner of the Machine to remediate it, unless the owner was already asked."""
    act, target, management = step.act, step.confirmed.target, step.live.management
    if target.machine.is_going or target.is_marked:
        return None
    # Read and write the same version, because conditions differ between versions.
    resource = await management.discovery.first_served(MACHINES)
    name, namespace, uid = target.metadata.name, target.metadata.namespace, target.metadata.uid

    async def mark() -> None:
        """Write our conditions among those of others, if the Machine as read now is still to be marked."""
        step.age.refuse_old()
        found = await management.client.get(resource, name, namespace)
        live = replace(target, machine=Machine.model_validate(found))
        if live.machine.node_name != target.machine.node_name:
            raise not_true(f"{name} has another Node now")
        now = management.server_clock.now()
        confirmed = replace(step.confirmed, target=live)
        confirmed.refuse_changed_target(act, now)
        if live.machine.is_going or live.is_marked:
            return
        # No earlier than the detector saw the Machine expired.
        at = now if act.seen_at is None else max(now, act.seen_at)
        failed = confirmed.check.failure(live, at, confirmed.context)
        confirmed.refuse_other_step(act)
        if failed is None:
            raise not_true(f"{act.incident.check} no longer asks the owner of {name}")
        body = {
            "metadata": {"uid": uid, "resourceVersion": found["metadata"]["resourceVersion"]},
            "status": status_patch(found, asked_of_owner(failed), at),
        }
        await management.client.merge_patch(resource, name, body, namespace, subresource="status")

    async def write() -> None:
        try:
            with target_as_read(act.incident.target):
                await retry_on_conflict(mark, TRIES)
        except Conflict as error:
            raise not_true(f"{name} changed during each of {TRIES} tries") from error
        except RequestRefused as error:
            raise StepHeld.by(error, marking_failed(step.attempt, target, error.message)) from error

    return write
