"""LateRequest: whether a request that appears is one that its incident does not know of. Pure.

An incident acts within a few seconds on an admission, or not at all (decision 4). So a request of its own
that appears within that time is its own doing, and no news. One that appears later was committed after its
act was given up, made by a worker that was frozen, or is shown by a watch that lags: the incident must be
woken, as one that is left alone removes it. If it has ended, another one does.
"""

from datetime import datetime, timedelta

from health.observation import ENDED, Observation


def admitted_at(told: Observation, *, would_act: bool, before: datetime | None) -> datetime | None:
    """Since when an incident may be acting on an admission that it was told; None: it is not.

    `before` is the same before it was told this. An incident asks between its acts: one that was told that
    nothing is to be done, or would not act, has none under way. A hold may be told while the request of its
    latest act is not seen yet.
    """
    if not would_act or told.state in ENDED:
        return None
    return told.seen_at if told.is_admitted else before


def has_late_request(
    told: Observation, now: Observation, admitted: datetime | None, acted_on_within: timedelta
) -> bool:
    """Whether a request appeared since `told` that no act on the admission seen at `admitted` made."""
    if not appeared(told, now):
        return False
    return admitted is None or now.seen_at is None or now.seen_at - admitted > acted_on_within


def appeared(told: Observation, now: Observation) -> frozenset[str]:
    """The uids of the requests that are seen now, and that the incident was not told of."""
    return frozenset(one.uid for one in now.requests) - {one.uid for one in told.requests}
