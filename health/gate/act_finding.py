"""What an act found that no watch shows, for status and Events (rules 13 and 27, NHC 1.5).

The disruption budget of etcd, a Lease that was taken a moment ago, what the API server answers to a request.
An act that broke off, or found other facts than those that admitted it, says nothing of that: what an
earlier one found is still the latest that is known.
"""

from health.model.observation import Hold, HoldReason

_FOUND = frozenset(
    {
        HoldReason.NO_CONTROLLER,
        HoldReason.TAKEN,
        HoldReason.TAKEN_BY_REQUEST,
        HoldReason.CONTROL_PLANE,
        HoldReason.EARLIER_REQUEST,
        HoldReason.TEMPLATE,
        HoldReason.REFUSED,
    }
)


def is_new(before: Hold | None, found: Hold | None) -> bool:
    """Whether people are to read something else now; the words of one finding may be others at each act."""
    return found is not None and (before is None or _kind_of(before) != _kind_of(found))


def _kind_of(found: Hold) -> tuple[str, bool]:
    return found.reason, bool(found.request_error)


def finding(before: Hold | None, hold: Hold | None) -> Hold | None:
    """What is known after an act that was held by `hold`, or by nothing; `before` is what was known."""
    if hold is None or hold.reason in _FOUND or hold.request_error:
        return hold
    return before
