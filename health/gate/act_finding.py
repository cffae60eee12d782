"""The findings of an act that no watch shows, for status and Events (rules 13 and 27, NHC 1.5).

Examples are the disruption budget of etcd, a Lease taken a moment ago, and the API server's answer to a
request. An act that broke off, or that met other facts than those of its admission, has no such finding; the
finding of an earlier act then stays.
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
    """True if the finding needs a new report; the words of the same finding may differ at each act."""
    return found is not None and (before is None or _kind_of(before) != _kind_of(found))


def _kind_of(found: Hold) -> tuple[str, bool]:
    return found.reason, bool(found.request_error)


def finding(before: Hold | None, hold: Hold | None) -> Hold | None:
    """The latest finding after an act that `hold` stopped, or nothing did; `before` is the earlier one."""
    if hold is None or hold.reason in _FOUND or hold.request_error:
        return hold
    return before
