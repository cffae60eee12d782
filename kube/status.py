"""Classifies HTTP statuses and Kubernetes `Status` objects as our errors.

A body counts only if it is a `Status`: proxies answer with HTML pages, and kube-apiserver answers an unknown
path in plain text.
"""

from datetime import timedelta

from pydantic import ValidationError

from kube.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KindUnknown,
    KubernetesError,
    Malformed,
    NotFound,
    ServerFault,
    TooManyRequests,
    Unauthorized,
)
from objects.frozen import FrozenObject
from objects.short_text import cut_to_length

_LONGEST_RETRY_AFTER_SECONDS = 300  # more is never meant, and an unbounded number could overflow
_MOST_DIGITS = 20  # longer numbers are ignored
_LONGEST_MESSAGE = 256  # characters; admission plugins quote whole objects
_LONGEST_REASON = 128  # characters; it is one word
_REDIRECTS = range(300, 400)
_NOT_FOUND = 404
_CONFLICT = 409
_SERVER_FAULTS = 500

_BY_STATUS: dict[int, type[KubernetesError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


class _Details(FrozenObject):
    name: str | None = None
    retry_after_seconds: int = 0


class Status(FrozenObject):
    """The part of a `Status` that describes an error."""

    kind: str | None = None
    code: int = 0
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_NO_STATUS = Status()


def classify(
    request: str, path: str, status: int, body: bytes, retry_after: str | None = None
) -> KubernetesError:
    """The error for an answer.

    `request` names the request ("GET /api/v1/nodes/a"), `retry_after` is the header as received.
    """
    if status in _REDIRECTS:
        # The target is not quoted, because the other end controls it.
        return Malformed(
            f"{request} was answered {status}: redirects are not followed.", status=status, path=path
        )
    is_number = retry_after is not None and retry_after.isdecimal() and len(retry_after) <= _MOST_DIGITS
    wait = _wait(int(retry_after)) if retry_after is not None and is_number else None
    try:
        answered = Status.model_validate_json(body)
    except ValidationError:
        answered = _NO_STATUS
    return from_status(request, path, status, answered if answered.kind == "Status" else _NO_STATUS, wait)


def from_status(
    request: str, path: str, code: int, answered: Status, retry_after: timedelta | None = None
) -> KubernetesError:
    """The error for a `Status`, which watches also contain in their stream."""
    kind = ServerFault if code >= _SERVER_FAULTS else _BY_STATUS.get(code, KubernetesError)
    if code == _CONFLICT and answered.reason == "AlreadyExists":
        kind = AlreadyExists
    # The server names a missing object; if it names none, the kind is missing.
    if code == _NOT_FOUND and not (answered.details and answered.details.name):
        kind = KindUnknown
    if retry_after is None and answered.details and answered.details.retry_after_seconds > 0:
        retry_after = _wait(answered.details.retry_after_seconds)
    reason = cut_to_length(answered.reason or "", _LONGEST_REASON)
    message = cut_to_length((answered.message or "").strip(), _LONGEST_MESSAGE)
    answer = f"{request} was answered {code} {reason}".rstrip()
    return kind(
        f"{answer}: {message}" if message else f"{answer}.",
        status=code,
        reason=reason or None,
        path=path,
        retry_after=retry_after,
    )


def _wait(seconds: int) -> timedelta:
    return timedelta(seconds=min(seconds, _LONGEST_RETRY_AFTER_SECONDS))
