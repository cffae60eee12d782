"""Reads a Machine with its Node, and the Cluster that is their context, from the API servers."""

from dataclasses import replace
from typing import cast

from activities.live_objects import LiveObjects
from activities.revalidation import Confirmed, not_true
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.cluster import CHECK, CLUSTERS, Cluster, Clusters, judge, kubeconfig_secret
from health.kinds.clusterapi.machine import MACHINES, Machine, MachineTarget
from health.model.references import TargetReference
from kube.errors import KindUnknown, NotFound
from objects.group_kind import ServedKind


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
        _forget(live, CLUSTERS)
        raise
    except NotFound as error:
        raise not_true(f"Cluster {namespace}/{name} is gone") from error
    return ClusterContext(of_kinds={CHECK: judge([found])})


async def read_machine(
    live: LiveObjects, reference: TargetReference, context: ClusterContext
) -> MachineTarget:
    """The Machine of that name, with any uid; with its Node once the control plane is initialized."""
    try:
        resource = await live.management.discovery.first_served(MACHINES)
        found = await live.management.client.get(resource, reference.name, reference.namespace)
    except KindUnknown:
        _forget(live, MACHINES)
        raise
    target = MachineTarget(Machine.model_validate(found))
    cluster = Clusters.in_context(context).of(reference.namespace, target.machine.cluster_name)
    if cluster is None or not cluster.is_control_plane_initialized:
        return target
    secret = kubeconfig_secret(target.node_cluster)
    return replace(target, node=await live.node_of(target, secret, cluster.metadata.uid))


def _forget(live: LiveObjects, kind: ServedKind) -> None:
    """Discard the cached versions of the kind."""
    for api_version in kind.api_versions:
        live.management.discovery.forget(api_version)
