"""OrderRemoval: removes a person's order to remediate from a target, once the order is over."""

from functools import partial

from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference
from health.model.remediation_order import REMEDIATE, RemediationOrder, order_in
from kube.connection import ClusterConnection
from kube.errors import KindUnknown, NotFound
from kube.resource import Object
from kube.retry_on_conflict import ObjectIdentity, patch_as_read


class OrderRemoval:
    """Removes exactly the order of the incident: a later order on the target stays."""

    def __init__(self, management: ClusterConnection) -> None:
        self._management = management

    async def remove(self, order: RemediationOrder, incident: IncidentReference) -> None:
        """Remove the annotation. It is no failure if the order or the target is gone.

        Raises:
            KubernetesError: it was not removed, or the result is unknown.

        """
        kind, target = CHECK_KINDS.get(incident.check.group_kind), incident.target
        if kind is None or order.check != str(incident.check):
            return
        resource = await self._management.discovery.first_served(kind.targets)
        identity = ObjectIdentity(resource, target.namespace, target.name, target.uid)
        try:
            await patch_as_read(self._management.client, identity, partial(_without, order))
        except KindUnknown:
            raise
        except NotFound:
            return


def _without(order: RemediationOrder, found: Object) -> Object:
    annotations = found["metadata"].get("annotations") or {}
    if order_in(annotations.get(REMEDIATE, "")) != order:
        return {}
    return {"metadata": {"annotations": {REMEDIATE: None}}}
