"""UpgradePause: the workflow that pauses checks during a cluster upgrade and unpauses them afterwards.

`health.upgrade.next_pass` decides; this workflow observes, does the one thing that is due, and observes
again, until it can only wait. It has timers only for retries, for the times of orders, and one for a long
upgrade. The detector starts it, wakes it, and starts it again after a termination; the new one reads its
state from the annotations.

An order that comes before the first observation waits briefly until the checks are known, so that the sender
of an update-with-start learns whether the order can be obeyed. A cancel is an order to unpause every check
and to pause none in this upgrade. The workflow does not end before the upgrade, because the detector would
start a new one, which would pause the checks again.
"""

import asyncio
import contextlib
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from health.upgrade.memory import CheckPauseState, PauseMemory
    from health.upgrade.next_pass import MOST_PATCHES, Pass, having_written, next_pass
    from health.upgrade.observation import UpgradeObservation
    from health.upgrade.packed_memory import UnreadableMemory, packed, unpacked
    from objects.brief import Brief
    from workflows.contracts import detector_queue
    from workflows.kit.calls import FinishedCalls, in_summary, in_words
    from workflows.kit.messages import StandingOrders, Wakes
    from workflows.kit.runs import begin_a_new_run, is_new_run_due, refuse_other_id
    from workflows.orders import read_or_refuse, read_order
    from workflows.upgrade_contracts import (
        MOST_IN_RESULT,
        OBSERVE_UPGRADE,
        UPGRADE_PAUSE,
        WAKE_UPGRADE_PAUSE,
        WARN_OF_LONG_UPGRADE,
        WRITE_PAUSES,
        ForgetOrder,
        PauseOrder,
        UnpauseOrder,
        UpgradePauseInput,
        UpgradePauseResult,
        UpgradePauseState,
        WarnOfLongUpgradeInput,
        WarnOfLongUpgradeResult,
        WritePausesInput,
        WritePausesResult,
        upgrade_pause_id,
    )
    from workflows.upgrade_orders import Order, earlier, exact, knows_checks, ordered, refuse_senseless
    from workflows.upgrade_questions import UpgradeQuestions

CANCELLED = UnpauseOrder(reason="cancelled in Temporal")
NOTHING_SEEN = "asks the detector"
STATE_PAGE = 200
"""Checks in one answer of the query `state`: 0.8 MB with the longest texts."""
GROWN = 3
"""The growth of the history since the first full observation, after which a new run begins."""
KNOWN_WITHIN = timedelta(seconds=5)
"""How long an order waits for the first observation, and its sender for an answer."""

MEMORY_UNREADABLE = "MemoryUnreadable"
"""The type of the error that refuses an order where the memory of the run before cannot be read."""


def _handed_over(start: UpgradePauseInput) -> PauseMemory:
    """The memory of the previous run, with the cancel that an unreadable memory could not keep."""
    if not start.memory or not start.is_handed_over():
        return PauseMemory()
    memory = _read(start)
    return ordered(memory, CANCELLED, start.cancelled_at) if start.cancelled_at else memory


def _read(start: UpgradePauseInput) -> PauseMemory:
    """The memory in the input. An unreadable memory is not an empty one: it forbids every change."""
    try:
        return unpacked(start.memory)
    except UnreadableMemory as error:
        command = f"temporal workflow terminate --workflow-id {upgrade_pause_id(start.cluster)}"
        why = (
            f"the memory of the run before cannot be read. `{command}` ends this workflow, and the next one "
            f"unpauses the checks with our mark when no upgrade is under way. The cause: {error}"
        )
        return PauseMemory(unreadable=why)


@workflow.defn(name=UPGRADE_PAUSE)
class UpgradePause:
    """The pause of one upgrade of one cluster."""

    @workflow.init
    def __init__(self, start: UpgradePauseInput) -> None:
        self._cluster = start.cluster
        memory = _handed_over(start)
        began = memory.began or workflow.now()
        self._memory = memory.model_copy(update={"began": began})
        self._unread = start.memory if memory.unreadable else ""
        """The memory of the run before, which the next run may be able to read."""
        self._began = began
        self._orders: StandingOrders[Order] = StandingOrders(self._write_down, when_cancelled=CANCELLED)
        self._calls = FinishedCalls(self._orders.obey_cancel)
        self._wakes = Wakes()
        self._observation: UpgradeObservation | None = None
        self._questions = UpgradeQuestions(start.cluster)
        self._loaded_events = 0
        """The length of the history after the first full observation."""
        self._details = NOTHING_SEEN
        self._is_resting = False
        self._wakes_at: datetime | None = None

    @workflow.run
    async def run(self, start: UpgradePauseInput) -> UpgradePauseResult:
        """Carry out passes until the upgrade is over and all checks are unpaused."""
        refuse_other_id(upgrade_pause_id(start.cluster))
        while True:
            try:
                self._begin_a_new_run_if_due()
                self._orders.obey()
                self._wakes.answer()
                passed = await self._look()
                if passed.patches:
                    await self._write(passed)
                elif passed.warning:
                    await self._warn(passed.warning)
                elif self._is_woken() or self._has_report_due():
                    continue
                elif passed.is_over and workflow.all_handlers_finished():
                    return self._concluded(passed)
                elif passed.is_over:  # an order that waited for this observation arrives now
                    await workflow.wait_condition(workflow.all_handlers_finished)
                else:
                    await self._rest(passed)
            except asyncio.CancelledError:
                self._orders.obey_cancel()

    @workflow.update
    async def pause(self, *values: object) -> str:
        """Pause a check until the upgrade is over, or for a time."""
        order = read_order(PauseOrder, values)
        return f"pauses {await self._give(order)}: {order.reason}"

    @workflow.update
    async def unpause(self, *values: object) -> str:
        """Unpause checks that were paused for the upgrade; they are not paused again in this one."""
        order = read_order(UnpauseOrder, values)
        return f"unpauses {await self._give(order)} until the upgrade is over: {order.reason}"

    @workflow.update
    async def forget(self, *values: object) -> str:
        """Treat a check as not handled in this upgrade."""
        order = read_order(ForgetOrder, values)
        return f"treats {await self._give(order)} as not handled in this upgrade: {order.reason}"

    @pause.validator
    def _refuse_pause(self, *values: object) -> None:
        self._refuse(read_or_refuse(PauseOrder, values))

    @unpause.validator
    def _refuse_unpause(self, *values: object) -> None:
        self._refuse(read_or_refuse(UnpauseOrder, values))

    @forget.validator
    def _refuse_forget(self, *values: object) -> None:
        self._refuse(read_or_refuse(ForgetOrder, values))

    @workflow.signal(name=WAKE_UPGRADE_PAUSE)
    def wake(self, *_values: object) -> None:
        self._wakes.receive()

    @workflow.query
    def state(self, after: str = "") -> UpgradePauseState:
        """The state of the pause, with the checks whose uids come `after`."""
        memory = self._memory
        observed_checks = (
            {check.uid: check for check in self._observation.checks} if self._observation else {}
        )
        handled, failed = memory.by_uid, memory.failed_by_uid
        later = sorted(uid for uid in {*handled, *observed_checks, *failed} if uid > after)
        page = later[:STATE_PAGE]
        checks = tuple(observed_checks[uid] for uid in page if uid in observed_checks)
        return UpgradePauseState(
            details=self._details,
            unreadable=memory.unreadable,
            observed=self._observation and self._observation.model_copy(update={"checks": checks}),
            handled=tuple(handled[uid] for uid in page if uid in handled),
            failed=tuple(failed[uid] for uid in page if uid in failed),
            orders=() if after else memory.orders,
            upgrading_since=memory.upgrade.since if memory.upgrade else None,
            warned_at=memory.warned_at,
            is_resting=self._is_resting,
            wakes_at=self._wakes_at,
            next_after=page[-1] if len(later) > len(page) else "",
        )

    def _refuse(self, order: Order) -> None:
        if earlier(self._memory, order) is None:
            refuse_senseless(order, self._observation)

    async def _give(self, order: Order) -> str:
        """Record the order, and return its checks in words."""
        if self._memory.unreadable:
            raise ApplicationError(self._memory.unreadable, type=MEMORY_UNREADABLE)
        if not self._knows_checks():
            with contextlib.suppress(TimeoutError):
                await workflow.wait_condition(
                    self._knows_checks, timeout=KNOWN_WITHIN, timeout_summary="until the checks are known"
                )
        if (record := earlier(self._memory, order)) is not None:
            return record.check or "every check"
        meant = exact(order, self._observation)
        self._orders.give(meant)
        return meant.check or "every check"

    def _knows_checks(self) -> bool:
        return knows_checks(self._observation)

    def _write_down(self, order: Order) -> None:
        self._memory = ordered(self._memory, order, workflow.now())

    async def _look(self) -> Pass:
        """The next pass, by a new observation; the question reports the handled checks."""
        while True:
            question = self._questions.question(*self._known_by_now())
            answer = await self._calls.call(
                OBSERVE_UPGRADE,
                question,
                UpgradeObservation,
                summary=self._question,
                task_queue=detector_queue(self._cluster),
            )
            self._questions.take(question, answer)
            if not answer.has_more:
                break
        self._loaded_events = self._loaded_events or workflow.info().get_current_history_length()
        self._observation = self._questions.observed(answer)
        passed = next_pass(self._observation, self._memory, workflow.now())
        self._memory = passed.memory
        self._say(passed)
        return passed

    @property
    def _question(self) -> str:
        if self._observation is None:
            return "is an upgrade under way, and which checks are there?"
        return "is it still under way?" if self._observation.is_under_way else "is there still no upgrade?"

    def _known_by_now(self) -> tuple[tuple[datetime, ...], tuple[str, ...]]:
        """The transitions of the known upgrade, and its settled checks."""
        upgrade = self._memory.upgrade
        return upgrade.transitions if upgrade else (), self._memory.settled

    def _has_report_due(self) -> bool:
        return self._questions.has_report_due(*self._known_by_now())

    async def _write(self, passed: Pass) -> None:
        seen_at = self._observation.seen_at if self._observation else None
        request = WritePausesInput(cluster=self._cluster, patches=passed.patches, seen_at=seen_at)
        first, others = passed.patches[0], len(passed.patches) - 1
        more = f"and {others} more" if others else ""
        summary = Brief(first.action.lower(), str(first.reference), more)
        try:
            result = await self._calls.call(WRITE_PAUSES, request, WritePausesResult, summary=summary)
        except ActivityError as error:
            result = WritePausesResult.unanswered(passed.patches, in_words(error))
        written = having_written(passed, result.answers, workflow.now(), workflow.random().random())
        # An order that came meanwhile is in the current memory.
        self._memory = self._memory.taking_over(written, passed.patches)

    async def _warn(self, message: str) -> None:
        """Emit the Event about a long upgrade; nothing depends on it, so it is tried once."""
        upgrade = self._memory.upgrade
        began = upgrade.began if upgrade else self._began
        paused = tuple(
            check
            for check in self._memory.handled
            if check.how is CheckPauseState.PAUSED and not check.is_deleted
        )
        for first in range(0, max(len(paused), 1), MOST_PATCHES):
            request = WarnOfLongUpgradeInput(
                cluster=self._cluster,
                since=began,
                message=message,
                checks=paused[first : first + MOST_PATCHES],
                is_first=first == 0,
            )
            with contextlib.suppress(ActivityError):
                await self._calls.call(
                    WARN_OF_LONG_UPGRADE, request, WarnOfLongUpgradeResult, summary="the upgrade takes long"
                )
        self._memory = self._memory.model_copy(update={"warned_at": workflow.now()})

    def _begin_a_new_run_if_due(self) -> None:
        """Called at each step, because a workflow that is woken during each observation never rests.

        A run whose history is long because of the first observation of thousands of checks goes on for a
        while.
        """
        has_grown = workflow.info().get_current_history_length() > GROWN * self._loaded_events > 0
        if is_new_run_due() and has_grown and workflow.all_handlers_finished():
            begin_a_new_run(self._handed_on())

    def _handed_on(self) -> UpgradePauseInput:
        """The input of the next run. A run without a readable memory takes no order but a cancel."""
        if not self._unread:
            return UpgradePauseInput(cluster=self._cluster, memory=packed(self._memory))
        orders = self._memory.orders
        cancelled_at = orders[-1].given if orders else None
        return UpgradePauseInput(cluster=self._cluster, memory=self._unread, cancelled_at=cancelled_at)

    async def _rest(self, passed: Pass) -> None:
        self._is_resting, self._wakes_at = True, passed.until
        timeout = passed.until - workflow.now() if passed.until else None
        summary = in_summary(passed.next_event)
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(self._is_woken, timeout=timeout, timeout_summary=summary)
        self._is_resting, self._wakes_at = False, None

    def _is_woken(self) -> bool:
        return self._wakes.has_new or self._orders.has_new

    def _say(self, passed: Pass) -> None:
        """Set the details; `state` leaves out the failed writes, which it has as `failed`."""
        self._details = passed.why
        workflow.set_current_details(passed.markdown)

    def _concluded(self, passed: Pass) -> UpgradePauseResult:
        memory = self._memory
        checks = sorted(
            memory.handled, key=lambda check: check.how is CheckPauseState.UNPAUSED and not check.reason
        )
        return UpgradePauseResult(
            reason=passed.details,
            upgrading_since=memory.upgrade.since if memory.upgrade else None,
            started=self._began,
            ended=workflow.now(),
            checks=tuple(checks[:MOST_IN_RESULT]),
            left_out=len(checks[MOST_IN_RESULT:]) + memory.forgotten,
            orders=memory.orders,
        )
