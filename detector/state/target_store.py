"""TargetStore: every possible target of checks, by kind and namespace, as last seen.

Two Leases matter to a target: its own, and for a Machine also that of its Node, which other programs take.
Leases are in the management cluster, so Nodes of workload clusters have none.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from detector.state.check_state import CheckState
from health.kinds.registry import CHECK_KINDS
from health.model.kind_names import kind_name
from health.model.references import CheckReference, TargetReference
from health.model.target import Target, TargetName, TargetPlace, node_name
from kube.lease import name_for, name_for_node, node_of
from objects.clusters import MANAGEMENT_CLUSTER


def place_of(check: CheckReference) -> TargetPlace:
    """The kind and namespace of a check's targets."""
    kind = CHECK_KINDS.get(check.group_kind)  # None: an incident of another version of Paramedic
    return TargetPlace(kind_name(kind.targets.group_kind) if kind else "", check.namespace)


class TargetStore:
    """All possible targets, whether a check selects them or not."""

    def __init__(self) -> None:
        self._places: defaultdict[TargetPlace, dict[str, Target]] = defaultdict(dict)
        self._undecodable: dict[TargetName, str] = {}
        """Objects that exist but do not decode, with the error; no check selects them."""

    def put(self, name: TargetName, target: Target | None) -> None:
        """Store the target of this name; None removes it."""
        if target is None:
            self._places[name.place].pop(name.name, None)
        else:
            self._places[name.place][name.name] = target

    def put_undecodable(self, name: TargetName, problem: str) -> None:
        """Store why an existing target does not decode; "" if it decodes again or is gone."""
        if problem:
            self._undecodable[name] = problem
        else:
            self._undecodable.pop(name, None)

    def frozen(self, place: TargetPlace) -> "TargetStore":
        """Return a copy with the targets of one place only."""
        store = TargetStore()
        store._places[place] = dict(self.at(place))
        store._undecodable = dict(self._undecodable)
        return store

    def at(self, place: TargetPlace) -> Mapping[str, Target]:
        """All targets of a kind in a namespace, by name."""
        return self._places.get(place, {})

    def of(self, check: CheckReference) -> Mapping[str, Target]:
        """All possible targets of `check`, by name."""
        return self.at(place_of(check))

    def get(self, check: CheckReference, name: str) -> Target | None:
        return self.of(check).get(name)

    def is_unreadable(self, name: TargetName) -> bool:
        """True if the object exists but does not decode."""
        return name in self._undecodable

    def problem(self, target: TargetReference) -> str | None:
        """Why the target, or its Node, exists but does not decode; None if both decode."""
        name = TargetName.of(target)
        own = self._undecodable.get(name)
        if own is not None:
            return f"{target} cannot be read: {own}"
        seen = self.at(name.place).get(target.name)
        if seen is None or seen.metadata.uid != target.uid:
            return None
        of_node = self._undecodable.get(node_name(seen.node_name, seen.node_cluster))
        return None if of_node is None else f"Node {seen.node_name} of {target} cannot be read: {of_node}"


def own_lease(check: CheckReference, target: Target) -> str:
    """The name of the Lease that an incident of `check` acquires on its target."""
    place = place_of(check)
    return name_for(place.kind, place.namespace, target.metadata.name)


def lease_of_its_node(target: Target) -> str:
    """The name of the Lease of the target's Node; "" without a Node in the management cluster."""
    is_here = target.node_cluster == MANAGEMENT_CLUSTER
    return name_for_node(target.node_name) if target.node_name and is_here else ""


def concerned(
    lease: str, check: CheckReference, check_state: CheckState, targets: TargetStore
) -> Iterator[str]:
    """The unhealthy targets of `check` to which the Lease of this name matters."""
    if not check.namespace:
        if node_of(lease) in check_state.unhealthy:
            yield node_of(lease)
        return
    is_of_node = bool(node_of(lease))
    if not is_of_node and not lease.startswith(f"{place_of(check).kind.lower()}-"):
        return
    for name in check_state.unhealthy:
        target = targets.get(check, name)
        if target is not None and lease == (
            lease_of_its_node(target) if is_of_node else own_lease(check, target)
        ):
            yield name
