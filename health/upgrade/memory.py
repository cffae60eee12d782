"""PauseMemory: what an upgrade pause remembers between two syncs, and hands to its next run.

Which checks are paused by us is known by their annotations. The memory adds what no annotation has: up to
which time all checks were handled, the orders of people, and since when each check is in its state. If it is
lost, the next run begins by the annotations alone.
"""

import dataclasses
from collections.abc import Iterable
from datetime import datetime, timedelta

from pydantic.dataclasses import dataclass

from health.cluster.upgrade import UpgradePhase
from health.upgrade.decision import (
    CheckPauseState,
    OrderName,
    PauseDecision,
    PauseMoment,
    PauseOrderRecord,
    PauseRefusal,
    RefusedOrder,
    is_handled,
)
from health.upgrade.pausable_check import PausableCheck
from objects.bounds import FailFast, Time
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText

LONG_UPGRADE = timedelta(hours=6)
MOST_TRANSITIONS = 100
"""The maximum of further signals in one answer."""
TURNED_OFF = "PARAMEDIC_UPGRADE_PAUSE is off"


class UpgradeObservation(Frozen):
    """The upgrade of the cluster, and the settings of its pause."""

    phase: OpenEnum[UpgradePhase]
    since: datetime | None = None
    """The transition of the signal: the first one while under way, the latest once over."""
    also_since: tuple[datetime, ...] = ()
    """The transitions of other signals that are also under way."""
    sign: str | None = None
    why_unknown: ShortText | None = None
    is_turned_off: bool = False
    """True: a setting turns the pause off; our checks are then unpaused in every phase."""
    is_in_shadow: bool = False
    """True: the policy puts every check in shadow."""
    long_upgrade_seconds: float = LONG_UPGRADE.total_seconds()
    seen_at: datetime | None = None

    @property
    def transitions(self) -> tuple[datetime, ...]:
        """The transitions of all signals under way."""
        since = () if self.since is None else (self.since,)
        return (*since, *self.also_since) if self.is_under_way else ()

    @property
    def is_under_way(self) -> bool:
        return self.phase is UpgradePhase.UNDER_WAY and not self.is_turned_off

    @property
    def is_over(self) -> bool:
        return self.is_turned_off or self.phase in {UpgradePhase.OVER, UpgradePhase.NEVER}

    @property
    def long_upgrade(self) -> timedelta:
        return timedelta(seconds=self.long_upgrade_seconds)


MOST_NAMES = 500
"""The maximum of checks that an answer, a state or a result lists."""
MOST_ORDERS = 100
PUT_OFF = "the time was too short"
"""The problem of a check whose write is left to the next sync."""
SETTLED_AFTER = timedelta(minutes=1)
"""Later, no worker applies a write whose answer was lost."""

_INTEREST = (
    None,
    CheckPauseState.AWAITED,
    CheckPauseState.UNPAUSED_BY_OTHERS,
    CheckPauseState.UNPAUSED,
    CheckPauseState.FOUND_PAUSED,
    CheckPauseState.PAUSED,
)


@dataclass(frozen=True, kw_only=True)
class CheckRow(FailFast):
    """One check in an upgrade, for people."""

    check: str
    state: OpenEnum[CheckPauseState]
    since: Time | None = None
    """When it was first seen in this state; None in the answer of one sync."""
    order: int = 0
    """The number of the order that it follows; 0: none."""
    problem: ShortText | None = None
    """Why its latest write failed; None: it did not."""


@dataclass(frozen=True, kw_only=True)
class SyncedChecks(FailFast):
    """The result of one sync of all checks."""

    listed_at: Time
    """Shortly before the checks were listed, in whole seconds, by the API server's clock."""
    paused: int = 0
    found_paused: int = 0
    unpaused: int = 0
    written: int = 0
    failed: int = 0
    """Checks that could not be written."""
    put_off: int = 0
    """Those of them for which the time was too short."""
    rows: tuple[CheckRow, ...] = ()
    """At most MOST_NAMES; those with a problem first, and those paused by us last."""
    left_out: int = 0
    """The number of further rows."""
    has_new: bool = True
    """False: all checks were handled before, by `handled_until` of the moment."""
    pending: tuple[str, ...] = ()
    """The uids of the failed checks; none if there are more than MOST_NAMES."""
    orders: tuple[PauseOrderRecord, ...] = ()
    """The orders by which it decided, with the full names of their checks."""
    refused: tuple[RefusedOrder, ...] = ()

    @property
    def names_the_failed(self) -> bool:
        return self.failed == len(self.pending)


@dataclasses.dataclass(frozen=True)
class CheckDone:
    """One check after a sync, with its decision."""

    check: PausableCheck
    """As it was listed."""
    decision: PauseDecision
    problem: str | None = None
    """Why it was not written; None: it was, or needed no write."""

    @property
    def state(self) -> CheckPauseState | None:
        """Its state. If its write failed, this is the state before."""
        if self.problem is None:
            return self.decision.state
        if self.check.is_paused:
            return CheckPauseState.PAUSED
        return CheckPauseState.UNPAUSED if self.check.is_marked else CheckPauseState.AWAITED

    @property
    def interest(self) -> tuple[bool, int, str]:
        """The key that sorts checks for people: those with a problem first, those that are paused last."""
        return self.problem is None, _INTEREST.index(self.state), str(self.check.reference)


def summed_up(
    all_done: Iterable[CheckDone],
    moment: PauseMoment,
    refused: tuple[RefusedOrder, ...],
    listed_at: datetime,
) -> SyncedChecks:
    """The result of a sync by `moment`: its numbers, and the rows that matter most to people."""
    all_done = tuple(all_done)
    done = sorted((one for one in all_done if one.state is not None), key=lambda one: one.interest)
    failed, states = [one for one in done if one.problem is not None], [one.state for one in done]
    rows = [
        CheckRow(
            check=str(one.check.reference),
            state=one.state or "",
            order=one.decision.order.number if one.decision.order else 0,
            problem=one.problem,
        )
        for one in done[:MOST_NAMES]
    ]
    return SyncedChecks(
        listed_at=listed_at,
        paused=states.count(CheckPauseState.PAUSED),
        found_paused=states.count(CheckPauseState.FOUND_PAUSED),
        unpaused=states.count(CheckPauseState.UNPAUSED) + states.count(CheckPauseState.UNPAUSED_BY_OTHERS),
        written=sum(one.decision.action is not None and one.problem is None for one in done),
        failed=len(failed),
        put_off=sum(one.problem == PUT_OFF for one in failed),
        rows=tuple(rows),
        left_out=len(done[MOST_NAMES:]),
        has_new=not all(is_handled(one.check, moment.handled_until, moment.pending) for one in all_done),
        pending=tuple(one.check.uid for one in failed) if len(failed) <= MOST_NAMES else (),
        orders=moment.orders,
        refused=refused,
    )


@dataclass(frozen=True, kw_only=True)
class KnownUpgrade(FailFast):
    """The upgrade that the memory is about."""

    since: Time | None = None
    """When the first of its signals began, by the clock of the controller that set it."""
    began: Time
    """The same in whole seconds; without a time, when it was first seen. The value of our marks."""
    transitions: tuple[datetime, ...] = ()
    """The transitions of all its signals under way at the last observation."""
    is_over: bool = False
    """True once its end was seen."""

    def is_another(self, transitions: tuple[datetime, ...]) -> bool:
        """True if an upgrade with these transitions is a later one (rule 35); other signals may join."""
        if not transitions or not self.transitions:
            return self.is_over
        return min(transitions) > max(self.transitions)


@dataclass(frozen=True, kw_only=True)
class PauseMemory(FailFast):
    """The memory of an upgrade pause between two syncs."""

    upgrade: KnownUpgrade | None = None
    """None: no upgrade was seen under way."""
    handled_until: Time | None = None
    pending: tuple[str, ...] = ()
    """This and `handled_until`: as in PauseMoment."""
    orders: tuple[PauseOrderRecord, ...] = ()
    """The orders of people, the latest last."""
    given: int = 0
    """The number of the latest order."""
    synced: SyncedChecks | None = None
    """The latest sync, with the rows since when each check is in its state; None: there was none."""
    settled_at: Time | None = None
    """When a write whose result is unknown can no longer be applied; None: there is none."""
    warned_at: Time | None = None
    """When the Event about the long upgrade was emitted."""
    began: Time | None = None
    """When the first run began; None in that run."""

    def for_upgrade(self, observed: UpgradeObservation, now: datetime) -> "PauseMemory":
        """The memory for an observation: another upgrade begins without handled checks and old orders."""
        earlier = self.upgrade
        if not observed.is_under_way:
            over = None if earlier is None else dataclasses.replace(earlier, is_over=True)
            return dataclasses.replace(self, upgrade=over)
        if earlier is not None and not earlier.is_another(observed.transitions):
            same = dataclasses.replace(earlier, transitions=observed.transitions)
            return dataclasses.replace(self, upgrade=same)
        began = observed.since or now
        upgrade = KnownUpgrade(
            since=observed.since, began=began.replace(microsecond=0), transitions=observed.transitions
        )
        orders = tuple(order for order in self.orders if order.given >= upgrade.began or order.is_kept(now))
        return PauseMemory(
            upgrade=upgrade, orders=orders, given=self.given, settled_at=self.settled_at, began=self.began
        )

    def having_been_ordered(self, order: PauseOrderRecord) -> "PauseMemory":
        """The memory with one more order; only the latest orders are kept."""
        orders = (*self.orders, order)[-MOST_ORDERS:]
        return dataclasses.replace(self, orders=orders, given=order.number)

    def moment(self, observed: UpgradeObservation, now: datetime) -> PauseMoment:
        """The facts for the decisions. A pause without an upgrade is marked with the present time."""
        is_of_upgrade = self.upgrade is not None and observed.is_under_way
        return PauseMoment(
            now=now,
            is_under_way=observed.is_under_way,
            is_turned_off=observed.is_turned_off,
            is_in_shadow=observed.is_in_shadow,
            began=self.upgrade.began if self.upgrade and is_of_upgrade else now.replace(microsecond=0),
            handled_until=self.handled_until,
            pending=self.pending,
            orders=self.orders,
        )

    def having_synced(self, synced: SyncedChecks, moment: PauseMoment, now: datetime) -> "PauseMemory":
        """The memory after a sync by `moment`; orders that came meanwhile stay as they are.

        The rows get the time of their state; after the upgrade, those that need nothing more stay.
        """
        earlier = {row.check: row for row in self.synced.rows} if self.synced else {}
        rows = {} if moment.is_under_way else dict(earlier)
        for row in synced.rows:
            before = earlier.get(row.check)
            since = before.since if before is not None and before.state == row.state else now
            rows[row.check] = dataclasses.replace(row, since=since)
        left_out_before = self.synced.left_out if self.synced and not moment.is_under_way else 0
        shown = dataclasses.replace(
            synced,
            rows=tuple(rows.values())[:MOST_NAMES],
            left_out=max(synced.left_out, left_out_before),
            orders=(),
            refused=(),
        )
        named = {order.number: order for order in synced.orders}
        refused = {order.number for order in synced.refused}
        pending, handled_until = self.pending, self.handled_until
        if synced.names_the_failed:
            pending = synced.pending
            for number, order in named.items():
                if synced.has_new or order.done_until is None:
                    named[number] = dataclasses.replace(order, done_until=synced.listed_at)
            if moment.is_under_way and synced.has_new:  # else it stays, and the detector learns nothing new
                handled_until = synced.listed_at
        return dataclasses.replace(
            self,
            synced=shown,
            pending=pending,
            handled_until=handled_until,
            orders=tuple(
                named.get(order.number, order) for order in self.orders if order.number not in refused
            ),
            settled_at=now + SETTLED_AFTER if synced.failed else self.settled_at,
        )

    def having_lost(self, now: datetime) -> "PauseMemory":
        """The memory after a sync without an answer."""
        return dataclasses.replace(self, settled_at=now + SETTLED_AFTER)

    def is_over(self, observed: UpgradeObservation, now: datetime) -> bool:
        """True if nothing is left to do: the upgrade is over, and no check is or will be paused by us."""
        is_settled = self.settled_at is None or now >= self.settled_at
        synced = self.synced
        return observed.is_over and is_settled and synced is not None and not (synced.failed or synced.paused)


def needless(orders: Iterable[PauseOrderRecord], observed: UpgradeObservation) -> tuple[RefusedOrder, ...]:
    """The new orders that make no sense in the observed state of the upgrade."""
    refused = []
    for order in orders:
        if order.done_until is not None:
            continue
        if observed.is_turned_off:
            refused.append(RefusedOrder(number=order.number, refused=PauseRefusal.OFF, why=TURNED_OFF))
        elif observed.is_over and order.order is OrderName.PAUSE and order.until is None:
            why = "no upgrade is under way, so a pause needs a time"
            refused.append(RefusedOrder(number=order.number, refused=PauseRefusal.NO_UPGRADE, why=why))
    return tuple(refused)
