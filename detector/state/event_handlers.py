"""Event handlers: who is told of changes of the cluster state. Must not raise and must not wait."""

from typing import Protocol

from detector.state.request_index import SeenRequest
from health.model.references import CheckReference


class ChangeHandler(Protocol):
    """Is told of changes."""

    def __call__(self, check: CheckReference, target: str | None) -> None:
        """The answer for `target`, or without one the check's own numbers or spec, may have changed."""


class RequestHandler(Protocol):
    """Is told what became of a request."""

    def __call__(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """The request came (nothing before), changed or went (nothing after); the cluster state shows it."""
