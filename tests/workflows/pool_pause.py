"""A second workflow, made only from the kit: a pool is paused until its upgrade is over.

A wake makes it observe the pool again; it continues after an hour, or on an order.
"""

import asyncio
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from health.model.order import StandingOrder
    from objects.frozen import Frozen
    from workflows.kit import (
        Contract,
        FinishedCalls,
        RunInput,
        StandingOrders,
        Wakes,
        begin_a_new_run,
        is_new_run_due,
    )

_MINUTE, _ONCE = timedelta(minutes=1), RetryPolicy(maximum_attempts=1)
OBSERVE = Contract(name="observe", start_to_close=_MINUTE, schedule_to_close=_MINUTE, retry=_ONCE)
PAUSE = Contract(name="pause", start_to_close=_MINUTE, schedule_to_close=_MINUTE, retry=_ONCE)
GO_ON = Contract(name="go_on", start_to_close=_MINUTE, schedule_to_close=_MINUTE, retry=_ONCE)


class Pool(Frozen):
    name: str
    is_upgraded: bool = False


class Memory(Frozen):
    until: datetime
    reason: str = "an hour is over"
    is_paused: bool = False


class PoolPauseInput(RunInput):
    pool: Pool
    memory: Memory | None = None


class PauseOrder(StandingOrder):
    reason: str = "pause was ordered"


class EndOrder(StandingOrder):
    reason: str = "end was ordered"


Order = PauseOrder | EndOrder


@workflow.defn
class PoolPause:
    @workflow.init
    def __init__(self, start: PoolPauseInput) -> None:
        handed_over = start.memory if start.is_handed_over() else None
        self._pool = start.pool
        self._memory = handed_over or Memory(until=workflow.now() + timedelta(hours=1))
        self._orders: StandingOrders[Order] = StandingOrders(
            self._write_down, when_cancelled=EndOrder(reason="cancelled")
        )
        self._calls = FinishedCalls(self._orders.obey_cancel)
        self._wakes = Wakes()

    @workflow.run
    async def run(self, start: PoolPauseInput) -> str:  # noqa: ARG002  `__init__` took it
        while True:
            try:
                self._orders.obey()
                self._wakes.answer()
                if not self._memory.is_paused:
                    await self._calls.call(PAUSE, self._pool, Pool, summary="pause")
                    self._memory = self._memory.model_copy(update={"is_paused": True})
                seen = await self._calls.call(OBSERVE, self._pool, Pool, summary="is it upgraded?")
                if seen.is_upgraded or workflow.now() >= self._memory.until:
                    await self._calls.call(GO_ON, self._pool, Pool, summary="go on")
                    return "upgraded" if seen.is_upgraded else self._memory.reason
                await self._rest()
            except asyncio.CancelledError:
                self._orders.obey_cancel()

    @workflow.update
    def pause(self, order: PauseOrder) -> datetime:
        self._orders.give(order)
        return self._memory.until

    @workflow.signal
    def end(self, order: EndOrder) -> None:
        self._orders.give(order)

    @workflow.signal
    def wake(self) -> None:
        self._wakes.receive()

    def _write_down(self, order: Order) -> None:
        now, until = workflow.now(), self._memory.until
        if isinstance(order, EndOrder):
            until = now
        elif now < until:
            until = order.until(now) or until
        else:
            return
        self._memory = self._memory.model_copy(update={"until": until, "reason": order.reason})

    async def _rest(self) -> None:
        if is_new_run_due():
            begin_a_new_run(PoolPauseInput(pool=self._pool, memory=self._memory))
        try:
            await workflow.wait_condition(self._is_woken, timeout=self._memory.until - workflow.now())
        except TimeoutError:
            return

    def _is_woken(self) -> bool:
        return self._wakes.has_new or self._orders.has_new
