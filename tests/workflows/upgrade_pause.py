"""UpgradePause: a second workflow, from the kit alone: a pool is paused for as long as an order stands."""

import asyncio
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from objects.frozen import Frozen
    from workflows.kit.calls import Contract, FinishedCalls
    from workflows.kit.standing_orders import StandingOrder, StandingOrders

_MINUTE, _ONCE = timedelta(minutes=1), RetryPolicy(maximum_attempts=1)
PAUSE = Contract("pause", _MINUTE, _MINUTE, _ONCE)
GO_ON = Contract("go_on", _MINUTE, _MINUTE, _ONCE)


class Pool(Frozen):
    name: str


class PauseOrder(StandingOrder):
    reason: str = "pause was ordered"


class EndOrder(StandingOrder):
    reason: str = "end was ordered"


Order = PauseOrder | EndOrder


@workflow.defn
class UpgradePause:
    @workflow.init
    def __init__(self, pool: Pool) -> None:
        self._pool, self._until, self._reason = pool, workflow.now() + timedelta(hours=1), "an hour is over"
        self._orders: StandingOrders[Order] = StandingOrders(
            self._write_down, when_cancelled=EndOrder(reason="cancelled")
        )
        self._calls = FinishedCalls(self._orders.obey_cancel)

    @workflow.run
    async def run(self, pool: Pool) -> str:
        await self._calls.call(PAUSE, pool, Pool, summary="pause")
        while workflow.now() < self._until:
            self._orders.obey()
            try:
                await self._rest()
            except asyncio.CancelledError:
                self._orders.obey_cancel()
        await self._calls.call(GO_ON, pool, Pool, summary="go on")
        return self._reason

    @workflow.update
    def pause(self, order: PauseOrder) -> datetime:
        self._orders.give(order)
        return self._until

    @workflow.signal
    def end(self, order: EndOrder) -> None:
        self._orders.give(order)

    def _write_down(self, order: Order) -> None:
        now = workflow.now()
        if isinstance(order, EndOrder):
            self._until, self._reason = now, order.reason
        elif now < self._until:
            self._until, self._reason = order.until(now) or self._until, order.reason

    async def _rest(self) -> None:
        try:
            await workflow.wait_condition(lambda: self._orders.has_new, timeout=self._until - workflow.now())
        except TimeoutError:
            return
