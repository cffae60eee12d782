"""Etcd: asks an OpenShift cluster, right before an act, whether etcd can spare a master or an arbiter."""

from contextlib import suppress

from activities.attempt import InputRefused, StepHeld
from activities.requests import OwnRequests
from health.gate.etcd_disruption import NAMESPACE, DisruptionBudget, GuardPod, objection
from health.model.observation import HoldReason
from health.model.target import Target
from health.policy.quorum import is_member
from kube.connection import ClusterConnection
from kube.errors import KindUnknown
from kube.resource import PODS, Resource
from objects.clusters import MANAGEMENT_CLUSTER
from workflows.contracts import ActInput

_OPENSHIFT = ("config.openshift.io/v1", "ClusterVersion")
_BUDGETS = Resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)


class Etcd:
    """The guard of requests on OpenShift, by the disruption budget of etcd; it holds checks of every kind."""

    def __init__(self, connection: ClusterConnection, requests: OwnRequests) -> None:
        self._client = connection.client
        self._discovery = connection.discovery
        self._requests = requests

    async def refuse(self, act: ActInput, target: Target) -> None:
        """Return if the target can go; other clusters than OpenShift have no such rule.

        Raises StepHeld and KubernetesError.
        """
        if target.node_cluster != MANAGEMENT_CLUSTER or not is_member(target):
            return
        # If a request for the target exists, etcd has already spared the node (NHC 2.4/1).
        for request in act.requests:
            with suppress(InputRefused):
                if await self._requests.find(request, act.incident) is not None:
                    return
        # A single 404 proves nothing, because an API server that starts serves its CRDs late.
        try:
            await self._discovery.resource(*_OPENSHIFT)
        except KindUnknown:
            if await self._discovery.served_now(*_OPENSHIFT) is None:
                return
        budgets = await self._client.list(_BUDGETS, NAMESPACE)
        pods = await self._client.list(PODS, NAMESPACE)
        why = objection(
            target.node_name,
            [DisruptionBudget.model_validate(budget) for budget in budgets],
            [GuardPod.model_validate(pod) for pod in pods],
        )
        if why:
            raise StepHeld.because(HoldReason.CONTROL_PLANE, why)
