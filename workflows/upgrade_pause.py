"""UpgradePause: the workflow that pauses checks during a cluster upgrade and unpauses them afterwards.

Its loop: ask the detector whether an upgrade is under way, bring all checks in line by one sync, and wait for
a wake, an order, or a minute (less after news). Each check is decided by its live object
(`health.upgrade.decision`), so a sync that is lost, cut short or repeated loses nothing. The detector starts
and wakes the workflow, and starts it again after a termination.

An order is carried out by the next sync, and its sender is answered then. A cancel is an order to unpause
every check and to pause none in this upgrade. The workflow does not end before the upgrade, because the
detector would start a new one, which would pause the checks again.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from health.cluster.upgrade import PauseProgress
    from health.model.order import StandingOrder
    from health.upgrade.decision import OrderName, PauseOrderRecord, RefusedOrder
    from health.upgrade.memory import TURNED_OFF, PauseMemory, SyncedChecks, UpgradeObservation, needless
    from objects.durations import in_words as in_time
    from objects.short_text import escaped
    from objects.timestamps import stamp
    from workflows.contracts import detector_queue
    from workflows.kit import (
        FinishedCalls,
        StandingOrders,
        Wakes,
        begin_a_new_run,
        in_words,
        is_new_run_due,
        refuse_other_id,
    )
    from workflows.orders import read_or_refuse, read_order
    from workflows.upgrade_contracts import (
        OBSERVE_UPGRADE,
        SYNC_PAUSES,
        UPGRADE_PAUSE,
        WAKE_UPGRADE_PAUSE,
        ObserveUpgradeInput,
        PauseOrder,
        SyncPausesInput,
        UnpauseOrder,
        UpgradePauseInput,
        UpgradePauseResult,
        UpgradePauseState,
        upgrade_pause_id,
    )

Order = PauseOrder | UnpauseOrder
CANCELLED = UnpauseOrder(reason="cancelled in Temporal")
NOTHING_SEEN = "asks the detector"
ANSWERED_WITHIN = timedelta(seconds=10)
"""How long an order waits for the sync that carries it out, and its sender for an answer."""
FIRST_WAIT = timedelta(seconds=2)
LONGEST_WAIT = timedelta(minutes=1)
"""Each wait without news is twice as long as the one before, from the first to the longest."""
MOST_PROBLEMS = 5
"""The maximum of failed writes named in the details."""


@workflow.defn(name=UPGRADE_PAUSE)
class UpgradePause:
    """The pause of one upgrade of one cluster."""

    @workflow.init
    def __init__(self, start: UpgradePauseInput) -> None:
        self._cluster = start.cluster
        memory = start.memory if start.is_handed_over() else PauseMemory()
        self._began = memory.began or workflow.now()
        self._memory = replace(memory, began=self._began)
        self._orders: StandingOrders[Order] = StandingOrders(self._write_down, when_cancelled=CANCELLED)
        self._calls = FinishedCalls(self._orders.obey_cancel)
        self._wakes = Wakes()
        self._observed: UpgradeObservation | None = None
        self._refused: dict[int, RefusedOrder] = {}
        """The orders that this run has refused, by their number."""
        self._details = NOTHING_SEEN
        self._wait = FIRST_WAIT
        self._is_resting = False

    @workflow.run
    async def run(self, start: UpgradePauseInput) -> UpgradePauseResult:
        """Sync until the upgrade is over and all checks are unpaused."""
        refuse_other_id(upgrade_pause_id(start.cluster))
        while True:
            try:
                if is_new_run_due() and workflow.all_handlers_finished():
                    begin_a_new_run(UpgradePauseInput(cluster=self._cluster, memory=self._memory))
                self._orders.obey()
                self._wakes.answer()
                observed = await self._observe()
                if not (observed.is_under_way or observed.is_over):  # rule 36
                    why = observed.why_unknown or observed.phase
                    unknown = f"it is unknown whether the cluster is being upgraded: {why}"
                    self._say(f"changes nothing: {unknown}")
                elif (
                    await self._sync(observed)
                    and self._memory.is_over(observed, workflow.now())
                    and not self._has_news()
                    and workflow.all_handlers_finished()
                ):
                    return UpgradePauseResult(
                        reason=self._details, started=self._began, ended=workflow.now(), memory=self._memory
                    )
                await self._rest()
            except asyncio.CancelledError:
                self._orders.obey_cancel()

    @workflow.update
    async def pause(self, *values: object) -> str:
        """Pause a check until the upgrade is over, or for a time."""
        return await self._give(read_order(PauseOrder, values), "pauses {}: {}")

    @workflow.update
    async def unpause(self, *values: object) -> str:
        """Unpause checks that were paused for the upgrade; they are not paused again in this one."""
        return await self._give(read_order(UnpauseOrder, values), "unpauses {} until the upgrade is over: {}")

    @pause.validator
    def _refuse_pause(self, *values: object) -> None:
        read_or_refuse(PauseOrder, values)

    @unpause.validator
    def _refuse_unpause(self, *values: object) -> None:
        read_or_refuse(UnpauseOrder, values)

    @workflow.signal(name=WAKE_UPGRADE_PAUSE)
    def wake(self, *_values: object) -> None:
        self._wakes.receive()

    @workflow.query
    def state(self) -> UpgradePauseState:
        return UpgradePauseState(
            details=self._details,
            phase=self._observed.phase if self._observed else None,
            sign=self._observed.sign if self._observed else None,
            memory=self._memory,
            is_resting=self._is_resting,
        )

    async def _give(self, order: Order, answer: str) -> str:
        """Record the order, and answer once a sync has carried it out or refused it."""
        # An order that is sent again as its answer was lost, in this run or an earlier one, is recorded once.
        sent = (_name(order), order.order_id)
        earlier = [record for record in self._memory.orders if (record.order, record.order_id) == sent]
        if not earlier or not order.order_id:
            self._orders.give(order)
        record = earlier[0] if earlier and order.order_id else self._memory.orders[-1]
        number = record.number

        def recorded() -> PauseOrderRecord | None:
            """The record of the order now; None: it ended with its upgrade, and counts as carried out."""
            return next((now for now in self._memory.orders if now.number == number), None)

        def is_done() -> bool:
            now = recorded()
            return now is None or now.done_until is not None

        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: number in self._refused or is_done(),
                timeout=ANSWERED_WITHIN,
                timeout_summary="until the order is carried out",
            )
        if number in self._refused:
            raise ApplicationError(self._refused[number].why, type=self._refused[number].refused)
        later = "" if is_done() else "; it is not carried out yet, see `paramedic upgrade`"
        return answer.format((recorded() or record).check or "every check", order.reason) + later

    def _write_down(self, order: Order) -> None:
        now = workflow.now()
        record = PauseOrderRecord(
            number=self._memory.given + 1,
            order=_name(order),
            check=order.check,
            reason=order.reason,
            identity=order.identity,
            order_id=order.order_id,
            given=now,
            until=order.until(now) if isinstance(order, StandingOrder) else None,
        )
        self._memory = self._memory.having_been_ordered(record)

    async def _observe(self) -> UpgradeObservation:
        """The upgrade now; the question reports the handled checks, which the upgrade no longer holds."""
        memory = self._memory
        question = ObserveUpgradeInput(
            cluster=self._cluster,
            progress=PauseProgress(
                transitions=memory.upgrade.transitions if memory.upgrade else (),
                handled_until=memory.handled_until,
                pending=memory.pending,
            ),
            paused=memory.synced.paused if memory.synced else 0,
        )
        observed = await self._calls.call(
            OBSERVE_UPGRADE,
            question,
            UpgradeObservation,
            summary="is an upgrade under way?",
            task_queue=detector_queue(self._cluster),
        )
        if self._observed is None or observed.phase != self._observed.phase:
            self._wait = FIRST_WAIT
        self._observed = observed
        if observed.is_under_way or observed.is_over:
            self._memory = self._memory.for_upgrade(observed, workflow.now())
            self._refuse(needless(self._memory.orders, observed))
        return observed

    async def _sync(self, observed: UpgradeObservation) -> bool:
        """Bring all checks in line; False: no worker has answered."""
        moment = self._memory.moment(observed, workflow.now())
        warning = self._warning(observed)
        question = SyncPausesInput(
            cluster=self._cluster, moment=moment, warning=warning, seen_at=observed.seen_at
        )
        summary = "pause the checks" if observed.is_under_way else "unpause the checks"
        try:
            synced = await self._calls.call(SYNC_PAUSES, question, SyncedChecks, summary=summary)
        except ActivityError as error:
            self._memory = self._memory.having_lost(workflow.now())
            self._say(f"{_state(observed)}: the checks cannot be synced: {in_words(error)}")
            return False
        self._refuse(synced.refused)
        self._memory = self._memory.having_synced(synced, moment, workflow.now())
        if warning:
            self._memory = replace(self._memory, warned_at=workflow.now())
        if synced.put_off and synced.written:
            self._wakes.receive()  # it goes on at once
        self._say(self._words(observed, synced))
        return True

    def _refuse(self, refused: Iterable[RefusedOrder]) -> None:
        self._refused |= {one.number: one for one in refused}
        orders = tuple(order for order in self._memory.orders if order.number not in self._refused)
        self._memory = replace(self._memory, orders=orders)

    def _warning(self, observed: UpgradeObservation) -> str | None:
        """The message of the Event about a long upgrade, if it is due now."""
        upgrade = self._memory.upgrade
        if upgrade is None or not observed.is_under_way or self._memory.warned_at is not None:
            return None
        if workflow.now() < upgrade.began + observed.long_upgrade:
            return None
        return (
            f"paused for an upgrade of the cluster that began at {stamp(upgrade.began)} and takes longer "
            f"than {in_time(observed.long_upgrade)}; its targets are not remediated until it is over"
        )

    async def _rest(self) -> None:
        """Wait for a wake, an order or the timer, also for the end of a pause by order."""
        now = workflow.now()
        ends = [order.until - now for order in self._memory.orders if order.until and order.is_kept(now)]
        self._is_resting = True
        try:
            await workflow.wait_condition(
                self._has_news, timeout=min([self._wait, *ends]), timeout_summary="until the next sync"
            )
            self._wait = FIRST_WAIT
        except TimeoutError:
            self._wait = min(2 * self._wait, LONGEST_WAIT)
        finally:
            self._is_resting = False

    def _has_news(self) -> bool:
        return self._wakes.has_new or self._orders.has_new

    def _words(self, observed: UpgradeObservation, synced: SyncedChecks) -> str:
        warned = self._memory.warned_at
        long = f"; it takes long, as an Event said at {stamp(warned)}" if warned else ""
        total = synced.paused + synced.found_paused + synced.unpaused
        counts = f"{synced.paused} of {total} checks are paused by it, {synced.unpaused} were unpaused"
        problems = [f"{row.check}: {row.problem}" for row in synced.rows if row.problem][:MOST_PROBLEMS]
        failed = f"; {synced.failed} could not be written: {'; '.join(problems)}" if problems else ""
        return f"{_state(observed)}{long}: {counts}{failed}"

    def _say(self, words: str) -> None:
        self._details = words
        workflow.set_current_details(escaped(words))


def _name(order: Order) -> OrderName:
    return OrderName.PAUSE if isinstance(order, PauseOrder) else OrderName.UNPAUSE


def _state(observed: UpgradeObservation) -> str:
    if observed.is_turned_off:
        return TURNED_OFF
    if not observed.is_under_way:
        return "no upgrade is under way"
    since = f" since {stamp(observed.since)}" if observed.since else ""
    return f"the cluster is being upgraded{since}, says {observed.sign}"
