"""Event handlers: who is told of changes of the cluster state. They must not raise and must not wait.

One that raises all the same is noted by the guard, and keeps no other from being told.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from detector.state.request_index import SeenRequest
from health.model.references import CheckReference, RequestReference
from runtime.guard import Guard


class ChangeHandler(Protocol):
    """Is told of changes."""

    def __call__(self, check: CheckReference, target: str | None) -> None:
        """The answer for `target`, or without one the check's own numbers or spec, may have changed."""


class RequestHandler(Protocol):
    """Is told what became of a request."""

    def __call__(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """The request came (nothing before), changed or went (nothing after); the cluster state shows it."""


ContextHandler = Callable[[], None]
"""Is told that the cluster context is another now."""


@dataclass(frozen=True)
class EventHandlers:
    """The handlers of one cluster state, in the order in which they are told."""

    guard: Guard
    of_changes: list[ChangeHandler] = field(default_factory=list)
    of_requests: list[RequestHandler] = field(default_factory=list)
    of_context: list[ContextHandler] = field(default_factory=list)

    def add_change_handler(self, handler: ChangeHandler) -> None:
        """Tell `handler` of changes from now on, after those that were added before."""
        self.of_changes.append(handler)

    def add_request_handler(self, handler: RequestHandler) -> None:
        """Tell `handler` what becomes of each request from now on."""
        self.of_requests.append(handler)

    def add_context_handler(self, handler: ContextHandler) -> None:
        """Tell `handler` from now on when the cluster context is another."""
        self.of_context.append(handler)

    def notify_context(self) -> None:
        """The cluster context is another."""
        for handler in self.of_context:
            with self.guard.item("events", _name_of(handler)):
                handler()

    def notify_change(self, check: CheckReference, target: str | None) -> None:
        """The answer for `target`, or the check itself, may have changed."""
        for handler in self.of_changes:
            with self.guard.item("events", _Notification(handler, check, target)):
                handler(check, target)

    def notify_request(
        self, request: RequestReference, before: SeenRequest | None, after: SeenRequest | None
    ) -> None:
        """The request came, changed or went."""
        for handler in self.of_requests:
            with self.guard.item("request events", f"{_name_of(handler)} {request}"):
                handler(before, after)


class _Notification(NamedTuple):
    """One call of a handler; as text only where it fails, as there are so many."""

    handler: ChangeHandler
    check: CheckReference
    target: str | None

    def __str__(self) -> str:
        return f"{_name_of(self.handler)} {self.check} {self.target or ''}"


def _name_of(handler: ChangeHandler | RequestHandler | ContextHandler) -> str:
    """Whose it is, for people."""
    return str(getattr(handler, "__qualname__", type(handler).__name__))
