"""Which Leases matter to a target: its own, and of a Machine also that of its Node, which others maintain."""

from collections.abc import Iterator

from detector.state.check_state import CheckState
from detector.state.target_store import TargetStore, place_of
from health.model.references import CheckReference
from health.model.target import Target
from kube.lease import name_for, name_for_node, node_of


def own_lease(check: CheckReference, target: Target) -> str:
    """The name of the Lease that an incident of `check` takes of its target."""
    place = place_of(check)
    return name_for(place.kind, place.namespace, target.metadata.name)


def lease_of_its_node(target: Target) -> str:
    """The name of the Lease of the Node that the target is, or is linked to; "" without one."""
    return name_for_node(target.node_name) if target.node_name else ""


def concerned(
    lease: str, check: CheckReference, cluster_state: CheckState, targets: TargetStore
) -> Iterator[str]:
    """The unhealthy targets of `check` to which the Lease of this name matters."""
    if not check.namespace:
        if node_of(lease) in cluster_state.unhealthy:
            yield node_of(lease)
        return
    is_of_node = bool(node_of(lease))
    if not is_of_node and not lease.startswith(f"{place_of(check).kind.lower()}-"):
        return
    for name in cluster_state.unhealthy:
        target = targets.get(check, name)
        if target is not None and lease == (
            lease_of_its_node(target) if is_of_node else own_lease(check, target)
        ):
            yield name
