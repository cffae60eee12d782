"""The errors of requests to a Kubernetes API server, in one tree by what a caller can do.

Every message is one sentence with the request and the answer.
"""

from collections.abc import Awaitable
from datetime import timedelta
from typing import TypeVar

Found = TypeVar("Found")


class KubernetesError(Exception):
    """A request to the API server failed; the message is one sentence."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str | None = None,
        path: str | None = None,
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        """One sentence: the request and the answer."""
        self.status = status
        """The HTTP status; None without an answer."""
        self.reason = reason
        """The reason in the Status of the answer ("AlreadyExists"), if it has one."""
        self.path = path
        """The path of the request, without its query."""
        self.retry_after = retry_after
        """The Retry-After of the server, if it sent one."""


def retry_after(error: BaseException) -> timedelta:
    """The Retry-After of the error; zero if the server sent none."""
    requested_wait = error.retry_after if isinstance(error, KubernetesError) else None
    return requested_wait or timedelta()


class NotConfigured(KubernetesError):
    """There is no kubeconfig and no service account, or the file cannot be read."""


class Unreachable(KubernetesError):
    """Refused, reset, timed out, untrusted, or cut before the answer was complete: a retry may help."""


class Silent(Unreachable):
    """Nothing arrived on an open stream for as long as the caller allows."""


class Malformed(Unreachable):
    """The answer is not one of an API server: it is incomplete, or from another server."""


class OverBound(Malformed):
    """A list, or a cache, is larger than kube/answer_bounds.py allows."""


class TooLarge(Malformed):
    """An answer has more bytes than kube/answer_bounds.py allows; a smaller page may fit."""


class Unauthorized(KubernetesError):
    """401: the server does not accept our credentials, even freshly read ones."""


class RequestRefused(KubernetesError):
    """The cluster refuses the request as it is: a missing right, a schema, a quota or an admission plugin.

    Admission plugins choose the status: webhooks answer 403 or 400, a ValidatingAdmissionPolicy 422.
    """


class Forbidden(RequestRefused):
    """403: a role is missing, or an admission plugin refused."""


class NotFound(KubernetesError):
    """404: the object does not exist; on a create: the namespace does not exist."""


class KindUnknown(NotFound):
    """404: the server does not serve this apiVersion or kind."""


class AlreadyExists(KubernetesError):
    """409: an object with this name exists already."""


class Conflict(KubernetesError):
    """409: a precondition failed, because the object is another one, or has another version."""


class Expired(KubernetesError):
    """410: the server no longer knows that resourceVersion or continue token, so list again."""


class Invalid(RequestRefused):
    """400, 422: the server, or an admission plugin, refuses the object: repeating it cannot help."""


class TooManyRequests(KubernetesError):
    """429: the server is busy, or a budget does not allow it now; see `retry_after`."""


class ServerFault(KubernetesError):
    """5xx: the server, or something it depends on, failed; see `retry_after`."""


class LeaseTaken(KubernetesError):
    """The Lease is held by `holder`, and still valid."""

    def __init__(self, holder: str, *, path: str) -> None:
        super().__init__(f"The Lease {path} is held by {holder}.", reason="LeaseTaken", path=path)
        self.holder = holder
        """The holderIdentity of the Lease."""


async def none_if_absent(reading: Awaitable[Found]) -> Found | None:
    """The result of `reading`; None if the object does not exist.

    A plain 404 proves less: a load balancer without a backend also answers 404. If a missing object allows
    actions, such an answer must not count as absence (rule 3).

    Raises KubernetesError as `reading` does; also KindUnknown, which does not prove absence.
    """
    try:
        return await reading
    except KindUnknown:
        raise
    except NotFound:
        return None
