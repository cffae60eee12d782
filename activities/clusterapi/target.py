"""A Machine with its Node, and the Cluster that both are judged in, as the API servers have them now."""

from dataclasses import replace
from typing import cast

from activities.live_objects import LiveObjects
from activities.revalidation import Confirmed
from health.gate.cluster_context import ClusterContext
from health.gate.health_check import HealthCheck
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.cluster import CHECK, CLUSTERS, Cluster, Clusters, judge, kubeconfig_secret
from health.kinds.clusterapi.machine import MACHINES, Machine, MachineTarget
from health.model.references import TargetReference
from kube.errors import KindUnknown, NotFound
from kube.resource import Object
from objects.group_kind import ServedKind


def machine_of(confirmed: Confirmed) -> MachineTarget:
    """The target of a check of Machines."""
    return cast("MachineTarget", confirmed.target)


async def read_clusters(live: LiveObjects, check: HealthCheck) -> ClusterContext:
    """The Cluster of the check, as the context that the check is judged in; none where there is none."""
    named = cast("MachineHealthCheck", check)
    namespace, name = named.metadata.namespace, named.spec.cluster_name
    try:
        found = [Cluster.model_validate(await _get(live, CLUSTERS, name, namespace))]
    except KindUnknown:
        raise
    except NotFound:
        found = []
    return ClusterContext(of_kinds={CHECK: judge(found)})


async def read_machine(
    live: LiveObjects, reference: TargetReference, context: ClusterContext
) -> MachineTarget:
    """The Machine of that name, whatever uid it has; its Node where its control plane is initialized."""
    resource = await live.management.discovery.first_served(MACHINES)
    found = await live.management.client.get(resource, reference.name, reference.namespace)
    target = MachineTarget(Machine.model_validate(found))
    cluster = Clusters.in_context(context).of(reference.namespace, target.machine.cluster_name)
    if cluster is None or not cluster.is_control_plane_initialized:
        return target
    return replace(target, node=await live.node_of(target, kubeconfig_secret(target.node_cluster)))


async def _get(live: LiveObjects, kind: ServedKind, name: str, namespace: str) -> Object:
    resource = await live.management.discovery.first_served(kind)
    return await live.shared.get(resource, name, namespace)
