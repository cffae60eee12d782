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
could not be written then are enough to know this. A new order is carried out once, before these rows. A pause
of another user or tool is never removed.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from health.upgrade.orders import OrderName, PauseOrderRecord, latest_for
from health.upgrade.pausable_check import PausableCheck, PauseAction
from objects.frozen import Frozen


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


class PauseMoment(Frozen):
    """The upgrade and the orders, by which each check is decided."""

    now: datetime
    is_under_way: bool
    is_turned_off: bool = False
    """True: a setting turns the pause off, and only marks of our form are removed."""
    is_in_shadow: bool = False
    """True: the policy forbids every pause."""
    began: datetime
    """When the upgrade began, in whole seconds: the value of our mark."""
    handled_until: datetime | None = None
    """The checks created before were handled in this upgrade, except the pending ones; None: no check was."""
    pending: tuple[str, ...] = ()
    """The uids of the checks whose latest write failed."""
    orders: tuple[PauseOrderRecord, ...] = ()


@dataclass(frozen=True)
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
