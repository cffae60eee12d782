"""The errors of talking to a Kubernetes API server: one tree, told apart by what a caller can do.

    KubernetesError
    ├── NotConfigured     no API server is known, or its configuration cannot be read
    ├── Unreachable       no complete answer arrived: trying again may help
    │   ├── Silent        a stream lives, but nothing came for too long
    │   └── Malformed     what came is no answer of a Kubernetes API server
    │       └── TooLarge  the answer has more bytes than any real one
    ├── Unauthorized      401: it does not know us
    ├── Forbidden         403: it knows us and refuses
    ├── NotFound          404: no such object (or, on a create, no such namespace)
    │   └── KindUnknown   404: it does not serve this kind at all
    ├── AlreadyExists     409: the name is taken
    ├── Conflict          409: the object changed since it was read
    ├── Expired           410: it forgot that resourceVersion: list again
    ├── Invalid           400, 422: the object is refused
    ├── TooManyRequests   429: it asks us to slow down
    ├── ServerFault       5xx: it failed
    └── LeaseTaken        somebody else holds the Lease

Every message is one sentence: what was asked, and what was answered.
"""

from datetime import timedelta


class KubernetesError(Exception):
    """A request to the API server did not succeed."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str = "",
        path: str = "",
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        """One sentence: what was asked, and what was answered."""
        self.status = status
        """The HTTP status, or None if no answer arrived."""
        self.reason = reason
        """The reason of the Status that came back ("AlreadyExists"), or ""."""
        self.path = path
        """The path that was asked for, without its query."""
        self.retry_after = retry_after
        """How long the server asks us to wait, where it says so."""


def retry_after(error: BaseException) -> timedelta:
    """Return how long to wait, as the server asks, before the same request; nothing where it does not."""
    told = error.retry_after if isinstance(error, KubernetesError) else None
    return told or timedelta()


class NotConfigured(KubernetesError):
    """No kubeconfig and no service account, or one that cannot be read."""


class Unreachable(KubernetesError):
    """Refused, reset, timed out, untrusted, or cut before the answer was complete."""


class Silent(Unreachable):
    """Nothing arrived on an open stream for as long as the caller allows."""


class Malformed(Unreachable):
    """An answer arrived that an API server does not give: half of one, or somebody else's."""


class TooLarge(Malformed):
    """An answer has more bytes than kube/answer_bounds.py allows; a smaller page may fit."""


class Unauthorized(KubernetesError):
    """The server does not accept our credentials, not even freshly read ones."""


class Forbidden(KubernetesError):
    """We may not do this: a role is missing, or an admission plugin refused."""


class NotFound(KubernetesError):
    """There is no such object; on a create: no such namespace."""


class KindUnknown(NotFound):
    """The server does not serve this apiVersion or kind."""


class AlreadyExists(KubernetesError):
    """An object of this name is there already."""


class Conflict(KubernetesError):
    """A precondition failed: the object is not the one, or not the version, that was meant."""


class Expired(KubernetesError):
    """The server no longer knows that resourceVersion or continue token."""


class Invalid(KubernetesError):
    """The server refuses the object or the request as it stands: repeating it cannot help."""


class TooManyRequests(KubernetesError):
    """The server is busy, or a budget does not allow it now; see `retry_after`."""


class ServerFault(KubernetesError):
    """The server, or something it depends on, failed; see `retry_after`."""


class LeaseTaken(KubernetesError):
    """The Lease is held by `holder`, and still valid."""

    def __init__(self, holder: str, *, path: str = "") -> None:
        super().__init__(f"The Lease {path} is held by {holder}.", reason="LeaseTaken", path=path)
        self.holder = holder
        """holderIdentity of the one who has it."""
