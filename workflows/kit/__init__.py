"""The building blocks of our workflows, independent of their subject.

Rule: a workflow has these as fields and inherits none of them, so it is one class with its own handlers,
state and loop. A handler only records its message, and waits at most briefly to validate it; only the main
loop calls activities. A cancel is an order like any other, so that objects in a cluster are cleaned up before
the workflow ends:

    @workflow.init
    def __init__(self, start: PoolPauseInput) -> None:              # a RunInput: key and memory
        self._memory = start.memory if start.is_handed_over() else Memory()
        self._orders = StandingOrders(self._write_down, when_cancelled=EndOrder(reason="cancelled"))
        self._calls = FinishedCalls(self._orders.obey_cancel)
        self._wakes = Wakes()

    @workflow.run
    async def run(self, start: PoolPauseInput) -> Result:
        while True:
            try:
                self._orders.obey()                                 # recorded orders count from here
                self._wakes.answer()
                ...                                                 # decide by values, purely
                await self._calls.call(PAUSE, asked, Paused, summary="pause the pool")
                if is_new_run_due():
                    begin_a_new_run(PoolPauseInput(..., memory=self._memory))
                await workflow.wait_condition(self._is_woken, timeout=...)  # an order, or a wake
            except asyncio.CancelledError:
                self._orders.obey_cancel()

- `calls`: a `Contract` with all timeouts of an activity; `FinishedCalls` never cut a call short. A
  `Companion` is a workflow that goes on when this one ends.
- `messages`: `StandingOrders` of people, as updates and as signals, and `Wakes`, the signal of the detector.
- `runs`: continue-as-new.

`tests/workflows/pool_pause.py` is a small workflow built only from these.
"""
