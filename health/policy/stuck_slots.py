"""StuckSlots: remediations that fill a limit for so long that a person should look. Pure.

A slot is stuck once its remediation has been in progress for over an hour while a target waits for the slot.
By then something is wrong: a classic remediation is overdue after 30 minutes, and steps of an escalation
take minutes each. The request hangs on a finalizer, its remediator is gone, or every step failed. A shorter
time would warn about slow remediators. While no target waits, a long remediation does no harm here.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.model.references import CheckReference
from health.policy.limits import (
    AppliedLimit,
    ScopesOf,
    Slot,
    UnderWay,
    Waiting,
    applied_limits,
    slots_in_flight,
)
from objects.durations import in_words

STUCK_AFTER = timedelta(hours=1)
_MOST_NAMES = 5


@dataclass(frozen=True)
class StuckSlots:
    """The stuck slots of one limit, with the checks that wait for them."""

    limit: str
    """The limit in words."""
    check: CheckReference | None
    """The check whose annotation sets the limit; None: the policy sets it."""
    holders: tuple[UnderWay, ...]
    """The oldest first."""
    waiting: frozenset[CheckReference]
    """The checks of the waiting targets."""

    def __str__(self) -> str:
        names = ", ".join(map(str, self.holders[:_MOST_NAMES]))
        more = len(self.holders) - _MOST_NAMES
        others = f", and {more} more" if more > 0 else ""
        since = f"in progress for over {in_words(STUCK_AFTER)}"
        return f"{self.limit} is reached, and these have been {since}: {names}{others}"


def stuck_slots(
    scopes_of: ScopesOf, under_way: Iterable[UnderWay], waiting: Iterable[Waiting], now: datetime
) -> tuple[StuckSlots, ...]:
    """The limits in flight that remediations have filled for too long while targets wait."""
    limits: dict[str, AppliedLimit] = {}
    checks: defaultdict[str, set[CheckReference]] = defaultdict(set)
    for remediation in {target.remediation.counts_as: target.remediation for target in waiting}.values():
        for limit in applied_limits(scopes_of(remediation.check), remediation):
            if limit.is_of_starts:  # starts leave the last hour by themselves
                continue
            words = _words(limit)
            limits[words] = limit
            checks[words].add(remediation.check)
    holders = _holders(scopes_of, under_way) if limits else {}
    stuck = {words: _stuck(limit, holders, now) for words, limit in sorted(limits.items())}
    return tuple(
        StuckSlots(words, limits[words].scope.check, found, frozenset(checks[words]))
        for words, found in stuck.items()
        if found
    )


def _holders(scopes_of: ScopesOf, under_way: Iterable[UnderWay]) -> Mapping[Slot, Sequence[UnderWay]]:
    holders: defaultdict[Slot, list[UnderWay]] = defaultdict(list)
    for holder in under_way:
        for slot in slots_in_flight(scopes_of(holder.remediation.check), holder.remediation):
            holders[slot].append(holder)
    return holders


def _stuck(
    limit: AppliedLimit, holders: Mapping[Slot, Sequence[UnderWay]], now: datetime
) -> tuple[UnderWay, ...]:
    found = [holder for slot in limit.slots for holder in holders.get(slot, ())]
    if len(found) < limit.most:
        return ()
    old = [holder for holder in found if now - holder.since > STUCK_AFTER]
    return tuple(sorted(old, key=lambda holder: (holder.since, holder.target)))


def _words(limit: AppliedLimit) -> str:
    if limit.label:
        return f"maxInFlightByLabel {limit.labelled}: {limit.most} of {limit.scope.chosen_by}"
    return f"maxInFlight={limit.most} of {limit.scope.chosen_by}"
