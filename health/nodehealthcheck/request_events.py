"""Events of a NodeHealthCheck about its requests: that one was made, and that one was deleted.

Who made one tells of it: one that names no incident was told by the reference (decision 39). The reference
tells of the deletions that it orders itself, when a Node has recovered or is no target any more (semantics
1.5). No request says who deleted it. So one that goes while its Node was unhealthy all the time is told in
words that are true whoever did it: somebody else, or we after an order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.announcement import Severity
from health.check_sight import CheckSight
from health.request_sight import RequestSight

_YOUNG = timedelta(minutes=10)
"""A request that is seen for the first time is told only if it is so recent that it may be untold."""


@dataclass(frozen=True)
class RequestNote:
    """One Event; `uid` is that of the request, and one request has one Event of each reason."""

    severity: Severity
    reason: str
    message: str
    uid: str


def request_notes(before: CheckSight | None, after: CheckSight, now: datetime) -> Iterator[RequestNote]:
    """What to tell; at the start (`before` is None) the requests that are there may be untold."""
    for target in after.targets.values() if before is None else ():
        for request in target.requests:
            yield from _created(target.name, request, now)
    for change in after.request_changes:
        if change.made is not None:
            yield from _created(change.target, change.made, now)
        if change.deleted is not None:
            stayed_unhealthy = _stayed_unhealthy(change.target, before, after)
            yield _deleted(change.target, change.deleted, is_interrupted=stayed_unhealthy)


def _created(target: str, request: RequestSight, now: datetime) -> Iterator[RequestNote]:
    if not request.is_unsigned and now - request.created <= _YOUNG:
        message = f"Created remediation object for node {target}"
        yield RequestNote(Severity.NORMAL, "RemediationCreated", message, request.uid)


def _deleted(target: str, request: RequestSight, *, is_interrupted: bool) -> RequestNote:
    what = f"remediation CR of kind {request.reference.kind} with name {request.reference.name}"
    if is_interrupted:
        message = f"Node {target} is still unhealthy, but its {what} was deleted"
        return RequestNote(Severity.WARNING, "RemediationInterrupted", message, request.uid)
    return RequestNote(Severity.NORMAL, "RemediationRemoved", f"Deleted {what}", request.uid)


def _stayed_unhealthy(target: str, before: CheckSight | None, after: CheckSight) -> bool:
    """Whether the same condition lasted all the time: one that fails anew may have recovered in between."""
    fact = after.fact(target)
    return before is not None and fact is not None and fact == before.fact(target)
