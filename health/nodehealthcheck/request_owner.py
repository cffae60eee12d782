"""Which NodeHealthCheck a request belongs to: the one that owns it (semantics 2.4/4, decision 39)."""

from health.nodehealthcheck.check import API_VERSION, KIND
from health.references import CheckReference, TargetReference
from health.remediation_request import RemediationRequest


def owner_of(request: RemediationRequest) -> CheckReference | None:
    """The check that owns it; None if none does."""
    name = request.owner(KIND, API_VERSION)
    return CheckReference(kind=KIND, name=name) if name else None


def is_unsigned_for(request: RemediationRequest, target: TargetReference) -> bool:  # noqa: ARG001  as CheckKind
    """Never: the reference makes its check an owner of each request."""
    return False
