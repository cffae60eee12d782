"""TargetStore: every possible target of checks, by kind and namespace, as last seen.

Two Leases matter to a target: its own, and for a Machine also that of its Node, which other programs take.
Leases are in the management cluster, so Nodes of workload clusters have none.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from detector.state.check_state import CheckState
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference, TargetReference, kind_name
from health.model.target import Target, TargetName, TargetPlace, node_name
from health.policy.quorum import may_be_changing
from kube.lease import name_for, name_for_node, node_of
from objects.clusters import MANAGEMENT_CLUSTER

Handler = Callable[[TargetName, bool], None]
"""Called with a Node and whether it is expected now."""


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
        self._changing: defaultdict[str, dict[TargetName, Target]] = defaultdict(dict)
        """By the cluster of their Nodes, the targets that may be on the way out or in."""

    def put(self, name: TargetName, target: Target | None) -> None:
        """Store the target of this name; None removes it."""
        before = self._places[name.place].get(name.name)
        if before is not None:
            self._changing[before.node_cluster].pop(name, None)
        if target is None:
            self._places[name.place].pop(name.name, None)
            return
        self._places[name.place][name.name] = target
        if may_be_changing(target):
            self._changing[target.node_cluster][name] = target

    def changing(self, cluster: str) -> Mapping[TargetName, Target]:
        """The targets with Nodes in `cluster` that may be on the way out or in."""
        return self._changing.get(cluster, {})

    def put_undecodable(self, name: TargetName, problem: str) -> None:
        """Store why an existing target does not decode; "" if it decodes again or is gone."""
        if problem:
            self._undecodable[name] = problem
        else:
            self._undecodable.pop(name, None)

    def frozen(self) -> "TargetStore":
        store = TargetStore()
        store._places.update({place: dict(found) for place, found in self._places.items()})
        store._undecodable = dict(self._undecodable)
        store._changing.update({cluster: dict(found) for cluster, found in self._changing.items()})
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
        observed_target = self.at(name.place).get(target.name)
        if observed_target is None or observed_target.metadata.uid != target.uid:
            return None
        of_node = self._undecodable.get(node_name(observed_target.node_name, observed_target.node_cluster))
        return (
            None
            if of_node is None
            else f"Node {observed_target.node_name} of {target} cannot be read: {of_node}"
        )


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
        node = node_of(lease)
        if node is not None and node in check_state.unhealthy:
            yield node
        return
    is_of_node = node_of(lease) is not None
    if not is_of_node and not lease.startswith(f"{place_of(check).kind.lower()}-"):
        return
    for name in check_state.unhealthy:
        target = targets.get(check, name)
        if target is not None and lease == (
            lease_of_its_node(target) if is_of_node else own_lease(check, target)
        ):
            yield name


class LinkedNodes:
    """The Nodes that Machines are linked to and that therefore should exist.

    A Machine expects its Node until the Machine is being deleted. Machines of several APIs may expect one
    Node.
    """

    def __init__(self) -> None:
        self._node_of: dict[TargetName, TargetName] = {}
        self._machines_of: defaultdict[TargetName, set[TargetName]] = defaultdict(set)
        self._handlers: list[Handler] = []

    def add_handler(self, handler: Handler) -> None:
        """Call `handler` at once on each change from now on."""
        self._handlers.append(handler)

    def link(self, machine: TargetName, node: TargetName | None) -> None:
        """Record the Node that a Machine expects; None for no Node."""
        before = self._node_of.pop(machine, None)
        if node is not None:
            self._node_of[machine] = node
        if before == node:
            return
        if before is not None:
            self._unlink(machine, before)
        if node is not None:
            self._machines_of[node].add(machine)
            if len(self._machines_of[node]) == 1:
                self._notify(node, is_expected=True)

    def _unlink(self, machine: TargetName, node: TargetName) -> None:
        self._machines_of[node].discard(machine)
        if not self._machines_of[node]:
            del self._machines_of[node]
            self._notify(node, is_expected=False)

    def _notify(self, node: TargetName, *, is_expected: bool) -> None:
        for handler in self._handlers:
            handler(node, is_expected)
