"""Etcd: asks an OpenShift cluster, right before an act, whether etcd can spare a control-plane node."""

from activities.step_result import ASK_AGAIN_SECONDS, StepHeld
from health.gate.etcd_disruption import NAMESPACE, DisruptionBudget, GuardPod, objection
from health.model.observation import HoldReason
from kube.connection import ClusterConnection
from kube.errors import KindUnknown
from kube.resource import PODS, Resource

_OPENSHIFT = ("config.openshift.io/v1", "ClusterVersion")
_BUDGETS = Resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)


class Etcd:
    """The etcd of one OpenShift cluster, by its disruption budget."""

    def __init__(self, connection: ClusterConnection) -> None:
        self._client = connection.client
        self._discovery = connection.discovery

    async def refuse_loss(self, node_name: str) -> None:
        """Return if the node can go; other clusters than OpenShift have no such rule.

        Raises:
            StepHeld: it must stay.
            KubernetesError: the API server could not be asked.

        """
        if not await self._is_openshift():
            return
        budgets = await self._client.list(_BUDGETS, NAMESPACE)
        pods = await self._client.list(PODS, NAMESPACE)
        why = objection(
            node_name,
            [DisruptionBudget.model_validate(budget) for budget in budgets],
            [GuardPod.model_validate(pod) for pod in pods],
        )
        if why:
            raise StepHeld.because(HoldReason.CONTROL_PLANE, why, ask_again_seconds=ASK_AGAIN_SECONDS)

    async def _is_openshift(self) -> bool:
        """True for OpenShift.

        A single 404 proves nothing, because an API server that starts serves its CRDs late.
        """
        try:
            await self._discovery.resource(*_OPENSHIFT)
        except KindUnknown:
            return await self._discovery.served_now(*_OPENSHIFT) is not None
        return True
