"""The activities for MachineHealthChecks of Cluster API: they ask owners to remediate, or make requests.

The owner of a Machine (a MachineSet, a control plane) uses two conditions: that the health check failed, and
that it is asked to remediate, so both are written at once. The owner removes the second one when it has
deleted the Machine or the Machine is healthy again; we never do (CAPI B.2.5).

Other controllers write conditions of a Machine all the time, so a write with a conflict is repeated after a
new look at the changed Machine alone: the other objects take longer to read than a busy writer waits.
"""

from dataclasses import dataclass, replace
from typing import cast

from activities.attempt import StepHeld, StepResult
from activities.kind_activities import KindActivities, TemplateUse, attempt_of
from activities.live_objects import LiveObjects
from activities.revalidation import Confirmed, Revalidation, not_true, target_as_read
from activities.target_lease import LeaseGuard
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.cluster import CHECK, CLUSTERS, Cluster, Clusters, judge, kubeconfig_secret
from health.kinds.clusterapi.kind import marking_failed, new_request
from health.kinds.clusterapi.machine import MACHINES, Machine, MachineTarget
from health.kinds.clusterapi.machine_conditions import asked_of_owner, status_patch
from health.model.references import Action, TargetReference
from kube.errors import Conflict, KindUnknown, NotFound, RequestRefused
from kube.resource import Object, Resource
from kube.retry_on_conflict import retry_on_conflict
from workflows.contracts import ActInput, ActResult


def machine_of(confirmed: Confirmed) -> MachineTarget:
    return cast("MachineTarget", confirmed.target)


async def read_clusters(live: LiveObjects, check: HealthCheck) -> ClusterContext:
    """The Cluster of the check, as its context.

    Raises:
        StepHeld: there is none, and without it a check does nothing.
        KubernetesError: as the client does.
        ValidationError: it cannot be read.

    """
    named = cast("MachineHealthCheck", check)
    namespace, name = named.metadata.namespace, named.spec.cluster_name
    try:
        resource = await live.management.discovery.first_served(CLUSTERS)
        found = Cluster.model_validate(await live.shared.get(resource, name, namespace))
    except KindUnknown:
        raise
    except NotFound as error:
        raise not_true(f"Cluster {namespace}/{name} is gone") from error
    return ClusterContext(of_kinds={CHECK: judge([found])})


async def read_machine(
    live: LiveObjects, reference: TargetReference, context: ClusterContext
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


TRIES = 10
"""Reads of a Machine until its mark is written; a few writers in between are usual."""


@dataclass(frozen=True)
class MarkMachine:
    """The action Action.MARK for Machines of Cluster API."""

    revalidation: Revalidation
    lease_guard: LeaseGuard

    async def take(self, act: ActInput) -> StepResult:
        """Ask its owner, unless the owner was already asked."""
        began = self.lease_guard.begin()
        confirmed = await self.revalidation.confirm(act)
        target = machine_of(confirmed)
        if target.machine.is_going or target.is_marked:
            return StepResult(ActResult.disrupted())
        # Read and write the same version, because conditions differ between versions.
        resource = await self.revalidation.live.management.discovery.first_served(MACHINES)

        async def mark() -> None:
            self.lease_guard.refuse_old_facts(act, began)
            await self._mark(act, confirmed, resource)

        async with self.lease_guard.lease(act, confirmed, began) as acquired:
            try:
                with target_as_read(act.incident.target):
                    await retry_on_conflict(mark, TRIES)
            except Conflict as error:
                raise not_true(f"{target.metadata.name} changed during each of {TRIES} tries") from error
            except RequestRefused as error:
                raise StepHeld.by(error, marking_failed(attempt_of(act), target, error.message)) from error
        return StepResult(ActResult.disrupted(acquired))

    async def _mark(self, act: ActInput, confirmed: Confirmed, resource: Resource) -> None:
        """Write our conditions among those of others, if the Machine as read now is still to be marked."""
        client, metadata = self.revalidation.live.management.client, confirmed.target.metadata
        found = await client.get(resource, metadata.name, metadata.namespace)
        target = replace(machine_of(confirmed), machine=Machine.model_validate(found))
        if target.machine.node_name != machine_of(confirmed).machine.node_name:
            raise not_true(f"{metadata.name} has another Node now")
        confirmed = replace(confirmed, target=target)
        self.revalidation.confirm_target(act, confirmed)
        if target.machine.is_going or target.is_marked:
            return
        # No earlier than the detector saw the Machine expired.
        now = self.revalidation.live.management.server_clock.now()
        now = now if act.seen_at is None else max(now, act.seen_at)
        failed = cast("MachineHealthCheck", confirmed.check).failure(target, now, confirmed.context)
        confirmed.refuse_other_step(act)
        if failed is None:
            raise not_true(f"{act.incident.check} no longer asks the owner of {metadata.name}")
        body = {
            "metadata": {"uid": metadata.uid, "resourceVersion": found["metadata"]["resourceVersion"]},
            "status": status_patch(found, asked_of_owner(failed), now),
        }
        await client.merge_patch(resource, metadata.name, body, metadata.namespace, subresource="status")


async def request_for_machine(live: LiveObjects, use: TemplateUse) -> Object:  # noqa: ARG001  as KindActivities
    act, confirmed, template = use
    machine = machine_of(confirmed).machine
    return new_request(attempt_of(act), act.step, template=template, machine=machine)


CLUSTER_API_ACTIVITIES = KindActivities(
    read_target=read_machine,
    read_context=read_clusters,
    new_request=request_for_machine,
    actions={Action.MARK: MarkMachine},
)
