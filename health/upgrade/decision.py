"""decide: the action for one check, by its two annotations, the upgrade and the orders of people.

While an upgrade is under way (P: paused, M: marked):

    P M
    - -   new: write both; handled: nothing, because a person unpaused it (rule 34)
    P -   nothing: another user or tool paused it
    P M   nothing: it is already paused by us; a mark of an earlier upgrade is renewed
    - M   nothing: a person unpaused it; with the mark of an earlier upgrade it is as without (rule 35)

After the upgrade:

    P M   remove both
    - M   remove the mark
    P -   nothing
    - -   nothing

A check is handled if it existed when all checks were handled. The time of that look and the checks that
could not be written then are enough to know this. A pause of another user or tool is never removed.

An order of a person is for one check, or for all. A new order is carried out once for each check, before
these rows, so a person may edit its annotation by hand afterwards. The latest order for a check counts. An
order ends with the upgrade; a pause for a time ends at that time.
"""

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from pydantic.dataclasses import dataclass

from health.model.references import CheckReference
from health.upgrade.pausable_check import PausableCheck, PauseAction
from objects.bounds import FailFast, Time
from objects.frozen import Frozen, OpenEnum
from objects.short_text import PersonText, ShortText

MOST_NAMED = 10
"""The maximum of checks that a refusal names."""


class OrderName(StrEnum):
    """The orders that people can give to an upgrade pause."""

    PAUSE = "pause"
    UNPAUSE = "unpause"


class PauseRefusal(StrEnum):
    """Why an order is not carried out: the type of the error that its sender gets."""

    UNKNOWN_CHECK = "UnknownCheck"
    AMBIGUOUS_CHECK = "AmbiguousCheck"
    NOT_OURS = "PausedBySomebodyElse"
    NO_UPGRADE = "NoUpgrade"
    """A pause without a time needs an upgrade."""
    OFF = "TurnedOff"


class RefusedOrder(Frozen):
    """An order that could never be carried out."""

    number: int
    refused: OpenEnum[PauseRefusal]
    why: ShortText


@dataclass(frozen=True, kw_only=True)
class PauseOrderRecord(FailFast):
    """One order with its scope and times."""

    number: int
    """Increases with each order of an upgrade pause."""
    order: OpenEnum[OrderName]
    check: PersonText | None = None
    """Its name as the person wrote it, and once it is known the full one; None: every check."""
    reason: PersonText
    identity: PersonText = ""
    order_id: PersonText = ""
    """The id that its sender gave it; "": none."""
    given: Time
    until: Time | None = None
    """Until when a pause stays without an upgrade; None: it ends with the upgrade."""
    done_until: Time | None = None
    """The checks created before were handled by it, except those whose write failed; None: no check was."""

    def is_kept(self, now: datetime) -> bool:
        """True for a pause for a time that is not over yet."""
        return self.order is OrderName.PAUSE and self.until is not None and now < self.until


def latest_for(orders: Iterable[PauseOrderRecord], check: CheckReference) -> PauseOrderRecord | None:
    """The order that counts for a check, carried out or not."""
    names = {str(check), None}
    return max(
        (order for order in orders if order.check in names), key=lambda order: order.number, default=None
    )


def with_full_names(
    orders: Iterable[PauseOrderRecord], checks: Sequence[PausableCheck]
) -> tuple[tuple[PauseOrderRecord, ...], tuple[RefusedOrder, ...]]:
    """The orders for these checks, which are all that exist; and the new orders that are refused."""
    named, refused = [], []
    for order in orders:
        if order.check is None or order.done_until is not None:
            named.append(order)
            continue
        found = [check for check in checks if order.check in _names(check.reference)]
        if not found:
            reason = PauseRefusal.UNKNOWN_CHECK
            why = f"there is no check {order.check!r} among those that upgrades pause: {_listed(checks)}"
        elif len(found) > 1:
            reason, why = PauseRefusal.AMBIGUOUS_CHECK, f"{order.check!r} is ambiguous: {_listed(found)}"
        elif order.order is OrderName.UNPAUSE and found[0].is_paused and not found[0].is_marked:
            reason = PauseRefusal.NOT_OURS
            why = f"{found[0].reference} was paused by another user or tool, which must unpause it"
        else:
            named.append(dataclasses.replace(order, check=str(found[0].reference)))
            continue
        refused.append(RefusedOrder(number=order.number, refused=reason, why=why))
    return tuple(named), tuple(refused)


def _names(check: CheckReference) -> tuple[str, ...]:
    """The names by which a person may mean the check."""
    return (
        str(check),
        f"{check.namespace}/{check.name}",
        f"{check.kind_name}/{check.name}",
        check.name,
    )


def _listed(checks: Iterable[PausableCheck]) -> str:
    names = sorted(str(check.reference) for check in checks)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED]) or 'none'}{more}"


class CheckPauseState(StrEnum):
    """The state in which a check was found or left."""

    PAUSED = "Paused"
    """Paused by us: it has both annotations."""
    FOUND_PAUSED = "FoundPaused"
    """Paused by another user or tool, which also unpauses it."""
    UNPAUSED = "Unpaused"
    """Unpaused by us, at the end of the upgrade or by an order."""
    UNPAUSED_BY_OTHERS = "UnpausedByOthers"
    AWAITED = "Awaited"
    """It is not paused yet, but will be: until then the upgrade itself holds it."""


@dataclass(frozen=True, kw_only=True)
class PauseMoment(FailFast):
    """The upgrade and the orders, by which each check is decided."""

    now: Time
    is_under_way: bool
    is_turned_off: bool = False
    """True: a setting turns the pause off, and only marks of our form are removed."""
    is_in_shadow: bool = False
    """True: the policy forbids every pause."""
    began: Time
    """When the upgrade began, in whole seconds: the value of our mark."""
    handled_until: Time | None = None
    """The checks created before were handled in this upgrade, except the pending ones; None: no check was."""
    pending: tuple[str, ...] = ()
    """The uids of the checks whose latest write failed."""
    orders: tuple[PauseOrderRecord, ...] = ()


@dataclasses.dataclass(frozen=True)
class PauseDecision:
    """The state of a check once the action is written, and the order that it follows."""

    state: CheckPauseState | None = None
    """None: it has no part in the pause."""
    action: PauseAction | None = None
    """None: nothing is written."""
    order: PauseOrderRecord | None = None


def is_handled(check: PausableCheck, until: datetime | None, pending: Collection[str]) -> bool:
    """True if the check existed at that time, and its write did not fail."""
    return until is not None and check.created < until and check.uid not in pending


def decide(check: PausableCheck, moment: PauseMoment) -> PauseDecision:
    order = None if moment.is_turned_off else latest_for(moment.orders, check.reference)
    if check.is_going:
        return PauseDecision()
    if moment.is_under_way or (order is not None and order.is_kept(moment.now)):
        return _during(check, moment, order)
    return _afterwards(check, moment, order)


def _during(check: PausableCheck, moment: PauseMoment, order: PauseOrderRecord | None) -> PauseDecision:
    """The decision in an upgrade, or while a pause by order is kept."""
    is_new = order is not None and not is_handled(check, order.done_until, moment.pending)
    is_to_pause = order is not None and order.order is OrderName.PAUSE
    is_to_unpause = order is not None and order.order is OrderName.UNPAUSE
    is_old = moment.is_under_way and check.is_marked_before(moment.began)
    if check.is_paused and not check.is_marked:
        return PauseDecision(CheckPauseState.FOUND_PAUSED)
    if check.is_paused and is_new and is_to_unpause:
        return PauseDecision(CheckPauseState.UNPAUSED, PauseAction.UNPAUSE_MARKED, order)
    if check.is_paused:
        renewed = PauseAction.PAUSE if is_old else None
        return PauseDecision(CheckPauseState.PAUSED, renewed, order if is_to_pause else None)
    was_handled = is_handled(check, moment.handled_until, moment.pending)
    is_awaited = moment.is_under_way and not was_handled and (is_old or not check.is_marked)
    is_ordered = is_new and is_to_pause
    if (is_ordered or (is_awaited and not is_to_unpause)) and not _is_in_shadow(check, moment):
        return PauseDecision(CheckPauseState.PAUSED, PauseAction.PAUSE, order if is_ordered else None)
    if is_to_unpause:
        return PauseDecision(CheckPauseState.UNPAUSED, None, order)
    if _is_in_shadow(check, moment) and not check.is_marked:
        return PauseDecision()
    return PauseDecision(CheckPauseState.UNPAUSED_BY_OTHERS)


def _afterwards(check: PausableCheck, moment: PauseMoment, order: PauseOrderRecord | None) -> PauseDecision:
    if not check.is_marked or (moment.is_turned_off and check.marked_for is None):
        return PauseDecision()
    if check.is_paused:
        return PauseDecision(CheckPauseState.UNPAUSED, PauseAction.UNPAUSE)
    if order is not None and order.order is OrderName.UNPAUSE:
        return PauseDecision(CheckPauseState.UNPAUSED, PauseAction.REMOVE_MARK, order)
    return PauseDecision(CheckPauseState.UNPAUSED_BY_OTHERS, PauseAction.REMOVE_MARK)


def _is_in_shadow(check: PausableCheck, moment: PauseMoment) -> bool:
    return check.is_in_shadow or moment.is_in_shadow
