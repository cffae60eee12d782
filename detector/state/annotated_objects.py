"""AnnotatedObjects: the Nodes, Machines and checks of the management cluster with orders in annotations.

A workload cluster gives no orders: the API server of such a cluster could write any annotation on its Nodes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from health.model.kind_names import kind_named
from health.model.order_annotations import AnnotatedObject, OrderAnnotation
from health.model.references import CheckReference
from health.model.target import Target, TargetName
from objects.clusters import MANAGEMENT_CLUSTER

Handler = Callable[[AnnotatedObject, str], None]
"""Called with an object and the name of an order whose annotation came, changed or went."""


class AnnotatedObjects:
    """The annotations as last seen; objects without one take no space."""

    def __init__(self, notify: Handler) -> None:
        self._notify = notify
        self._subjects: dict[TargetName | CheckReference, AnnotatedObject] = {}
        self._digests: dict[AnnotatedObject, dict[str, str]] = {}
        """The digests of the values, by the names of the orders."""

    def see_target(self, name: TargetName, target: Target | None) -> None:
        """A target was added, changed or (None) deleted."""
        orders = () if target is None else target.orders
        if name.cluster != MANAGEMENT_CLUSTER or not (orders or name in self._subjects):
            return
        kind, uid = kind_named(name.kind), "" if target is None else target.metadata.uid
        subject = AnnotatedObject(
            kind=kind.kind, group=kind.group, namespace=name.namespace, name=name.name, uid=uid
        )
        self._put(name, subject, orders)

    def see_check(self, check: CheckReference, uid: str, orders: Iterable[OrderAnnotation]) -> None:
        """A check was added, changed, or deleted (then it has no orders)."""
        found = tuple(orders)
        if not (found or check in self._subjects):
            return
        subject = AnnotatedObject(
            kind=check.kind, group=check.group, namespace=check.namespace, name=check.name, uid=uid
        )
        self._put(check, subject, found)

    def digest(self, subject: AnnotatedObject, order: str) -> str:
        """The digest of the annotation's value; "" if the object has no such annotation."""
        return self._digests.get(subject, {}).get(order, "")

    def all(self) -> Iterator[tuple[AnnotatedObject, str]]:
        for subject, digests in tuple(self._digests.items()):
            for order in digests:
                yield subject, order

    def _put(
        self, name: TargetName | CheckReference, subject: AnnotatedObject, orders: Iterable[OrderAnnotation]
    ) -> None:
        previous = self._subjects.pop(name, subject)
        before, after = self._digests.pop(previous, {}), dict(orders)
        if after:
            self._subjects[name], self._digests[subject] = subject, after
        if previous != subject:  # another object of the same name
            self._notify_changes(previous, before, {})
            before = {}
        self._notify_changes(subject, before, after)

    def _notify_changes(
        self, subject: AnnotatedObject, before: Mapping[str, str], after: Mapping[str, str]
    ) -> None:
        for order in sorted({order for order, _ in before.items() ^ after.items()}):
            self._notify(subject, order)
