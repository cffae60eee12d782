"""Event handlers are called on each change of the cluster state. They must not raise and must not wait.

The guard reports an exception of a handler, and the other handlers are still called.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from detector.state.request_index import SeenRequest
from health.model.approval import Approval
from health.model.order import OrderRecord
from health.model.order_annotations import AnnotatedObject
from health.model.references import CheckReference, IncidentReference, RequestReference
from runtime.guard import Guard


class ChangeHandler(Protocol):
    """Called on changes of checks and targets."""

    def __call__(self, check: CheckReference, target: str | None) -> None:
        """The answer for `target` may have changed; None: the check's own numbers or spec."""


class RequestHandler(Protocol):
    """Called on changes of remediation requests of any check."""

    def __call__(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """The request came (no `before`), changed or went (no `after`); the state shows it already."""


class OrderHandler(Protocol):
    """Called with orders of people to an incident, and with its question to them."""

    def __call__(
        self, incident: IncidentReference, orders: Sequence[OrderRecord], approval: Approval | None
    ) -> None:
        """The incident got these orders, or refused them since, and asks for this approval."""


class AnnotationHandler(Protocol):
    """Called on changes of annotations that give orders."""

    def __call__(self, subject: AnnotatedObject, order: str) -> None:
        """The annotation for this order came, changed or went."""


ContextHandler = Callable[[], None]
"""Called when the cluster context has changed."""


@dataclass(frozen=True, kw_only=True)
class EventHandlers:
    """The handlers of one cluster state, in the order in which they are called."""

    guard: Guard
    of_changes: list[ChangeHandler] = field(default_factory=list)
    of_requests: list[RequestHandler] = field(default_factory=list)
    of_orders: list[OrderHandler] = field(default_factory=list)
    of_annotations: list[AnnotationHandler] = field(default_factory=list)
    of_context: list[ContextHandler] = field(default_factory=list)

    def add_change_handler(self, handler: ChangeHandler) -> None:
        """Call `handler` on changes from now on, after the handlers that were added before."""
        self.of_changes.append(handler)

    def add_request_handler(self, handler: RequestHandler) -> None:
        self.of_requests.append(handler)

    def add_order_handler(self, handler: OrderHandler) -> None:
        self.of_orders.append(handler)

    def add_annotation_handler(self, handler: AnnotationHandler) -> None:
        self.of_annotations.append(handler)

    def add_context_handler(self, handler: ContextHandler) -> None:
        self.of_context.append(handler)

    def notify_orders(
        self, incident: IncidentReference, orders: Sequence[OrderRecord], approval: Approval | None
    ) -> None:
        for handler in self.of_orders:
            with self.guard.item("order events", f"{_name_of(handler)} {incident.workflow_id}"):
                handler(incident, orders, approval)

    def notify_annotation(self, subject: AnnotatedObject, order: str) -> None:
        for handler in self.of_annotations:
            with self.guard.item("order annotations", f"{_name_of(handler)} {subject}"):
                handler(subject, order)

    def notify_context(self) -> None:
        for handler in self.of_context:
            with self.guard.item("events", _name_of(handler)):
                handler()

    def notify_change(self, check: CheckReference, target: str | None) -> None:
        """Tell handlers that the answer for `target`, or (None) the check itself, may have changed."""
        for handler in self.of_changes:
            with self.guard.item("events", _Notification(handler, check, target)):
                handler(check, target)

    def notify_request(
        self, request: RequestReference, before: SeenRequest | None, after: SeenRequest | None
    ) -> None:
        for handler in self.of_requests:
            with self.guard.item("request events", f"{_name_of(handler)} {request}"):
                handler(before, after)


class _Notification(NamedTuple):
    """One call of a handler; formatted only if it fails, since there are so many."""

    handler: ChangeHandler
    check: CheckReference
    target: str | None

    def __str__(self) -> str:
        return f"{_name_of(self.handler)} {self.check} {self.target or ''}"


def _name_of(
    handler: ChangeHandler | RequestHandler | OrderHandler | AnnotationHandler | ContextHandler,
) -> str:
    """The name of a handler, for the log."""
    return str(getattr(handler, "__qualname__", type(handler).__name__))
