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

`tests/workflows/pool_pause.py` is a small workflow built only from these.

Each call is an ordinary activity: the Temporal UI shows input, result and every attempt, and a query never
repeats it (ADR 15).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, NoReturn, TypeVar

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from objects.field_problem import FieldProblem
    from objects.frozen import Frozen
    from objects.short_text import Brief, cut_to_bytes

Result = TypeVar("Result")
Message = TypeVar("Message", bound=Frozen)
Order = TypeVar("Order")

FOR_EVER = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_interval=timedelta(seconds=10))
TWICE = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_attempts=2)
ONCE = RetryPolicy(maximum_attempts=1)
SUMMARY_BYTES = 350
"""The size of the JSON of a summary; the server allows 400 including its envelope."""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """The name, timeouts and retries of one activity."""

    name: str
    start_to_close: timedelta
    """The longest time of one attempt; without heartbeats also how long a killed worker stays unnoticed."""
    schedule_to_close: timedelta | None
    """The longest time of all attempts, including the wait for a worker; None: no limit."""
    retry: RetryPolicy
    heartbeat: timedelta | None = None
    """The longest time between two heartbeats; a killed worker is noticed then. None: there are none."""

    @property
    def attempt(self) -> timedelta:
        """The time of an attempt by its own clock; it ends before Temporal times it out."""
        return self.start_to_close * 0.9


def in_summary(words: str | Brief) -> str:
    """One line within the limits of the UI (`LONGEST_LINE` characters) and of the server."""
    brief = words if isinstance(words, Brief) else Brief(words)
    return cut_to_bytes(brief.within(), SUMMARY_BYTES)


async def call(
    contract: Contract,
    argument: Frozen,
    result: type[Result],
    *,
    summary: str | Brief,
    task_queue: str | None = None,
) -> Result:
    """The answer of an activity, on the workflow's queue or another; `summary` explains the call in the UI.

    Raises:
        ActivityError: no worker accepted or completed it in time.

    """
    answer: Any = await workflow.execute_activity(
        contract.name,
        argument,
        task_queue=task_queue,
        result_type=result,
        start_to_close_timeout=contract.start_to_close,
        schedule_to_close_timeout=contract.schedule_to_close,
        heartbeat_timeout=contract.heartbeat,
        retry_policy=contract.retry,
        summary=in_summary(summary),
    )
    done: Result = answer
    return done


async def finished(call: Awaitable[Result], obey_cancel: Callable[[], None]) -> Result:
    """Await the call to its end; a cancel meanwhile is obeyed, and does not cut the call short."""
    calling = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(calling)
    except asyncio.CancelledError:
        obey_cancel()
        return await calling


class FinishedCalls:
    """Calls of one workflow that are awaited to their end even if the workflow is cancelled.

    A call cut short would lose its effects. So each call needs a contract with a limit, or is a question
    without whose answer the workflow cannot go on.
    """

    def __init__(self, obey_cancel: Callable[[], None]) -> None:
        """`obey_cancel` is called when a cancel comes during a call; the main loop obeys all others."""
        self._obey_cancel = obey_cancel

    async def call(
        self,
        contract: Contract,
        argument: Frozen,
        result: type[Result],
        *,
        summary: str | Brief,
        task_queue: str | None = None,
    ) -> Result:
        """Like the function `call`, but awaited to its end."""
        calling = call(contract, argument, result, summary=summary, task_queue=task_queue)
        return await finished(calling, self._obey_cancel)


def in_words(error: ActivityError) -> str:
    """The cause of a failed call, in words for people."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type is None and cause.cause:
        return str(cause.cause)  # an error of the SDK, which could not decode the arguments
    return str(cause or error)


class InvalidMessage(ValueError):
    """The values of a signal or update are not its message; it says which field is wrong, and its value."""

    def __init__(self, words: str, field: str = "") -> None:
        super().__init__(f"{field}: {words}" if field else words)
        self.field = field
        """ "": the whole message."""


def read_message(kind: type[Message], values: Sequence[object]) -> Message:
    """The message in the decoded values of a signal or update; without a value, or with null, the default.

    A handler takes any number of values of any type, and reads them itself: Temporal repeats a task whose
    handler raises an error until the code changes, so one wrong signal would stop the workflow.

    Raises:
        InvalidMessage: there are several values, or the value is not such a message.

    """
    if len(values) > 1:
        raise InvalidMessage(f"takes one JSON value (found {len(values)} values)")
    if not values or values[0] is None:
        return kind()
    try:
        return kind.model_validate(values[0])
    except ValidationError as error:
        problem = FieldProblem.of(error)
        raise InvalidMessage(problem.sentence, problem.field) from None  # Temporal stores causes, too


class StandingOrders(Generic[Order]):
    """The orders of one workflow, by updates and signals, recorded and not yet obeyed."""

    def __init__(self, write_down: Callable[[Order], None], *, when_cancelled: Order) -> None:
        """`write_down` puts an order into the memory of the workflow; it must not await anything."""
        self._write_down = write_down
        self._when_cancelled = when_cancelled
        self._given = self._obeyed = 0

    def give(self, order: Order) -> None:
        """Record an order, in the task in which it arrived."""
        self._write_down(order)
        self._given += 1

    def obey_cancel(self) -> None:
        """Record a cancel as an order. Temporal notifies a run of its first cancel only."""
        self.give(self._when_cancelled)

    @property
    def has_new(self) -> bool:
        """True if an order arrived since the main loop last obeyed; it must not rest then."""
        return self._given > self._obeyed

    def obey(self) -> None:
        """Begin a step of the main loop with the orders recorded so far."""
        self._obeyed = self._given


class Wakes:
    """The signals without facts to one run, which make the workflow observe again.

    Wakes that arrive while the main loop is busy are answered by one observation.
    """

    def __init__(self) -> None:
        self._received = self._answered = 0

    def receive(self) -> None:
        """Record a wake; the signal handler does nothing else."""
        self._received += 1

    @property
    def has_new(self) -> bool:
        """True if a wake arrived since the last answer; the main loop must not rest then."""
        return self._received > self._answered

    def answer(self) -> None:
        """Start an observation; a wake that arrives from now on requires another one."""
        self._answered = self._received


WRONG_ID = "WrongWorkflowId"
"""The type of the failure of a workflow whose id does not match its subject."""


class RunInput(Frozen):
    """The input of a workflow that continues in new runs; a subclass adds its key and its memory.

    Continue-as-new happens while no call is in progress, right before the workflow rests; the next run begins
    with the memory of this one. Its input names the run that it continues: a copy made in the Temporal UI
    continues no run, and begins with an empty memory.
    """

    continues: str | None = None
    """The previous run; None for the first one."""

    def is_handed_over(self) -> bool:
        """True if the previous run created this input, and it is not a copy."""
        return self.continues == workflow.info().continued_run_id


def refuse_other_id(expected: str) -> None:
    """Fail this workflow permanently if its id does not match its subject.

    The id of a workflow names its subject, and Temporal keeps ids unique, so each subject has one workflow. A
    copy with a new id fails in its first task, before any effect.

    Raises:
        ApplicationError: it has another id.

    """
    own = workflow.info().workflow_id
    if own != expected:
        message = f"nothing was done: the workflow of this subject is {expected}, and this one is {own}"
        raise ApplicationError(message, type=WRONG_ID, non_retryable=True)


def is_new_run_due() -> bool:
    """True if the server suggests a new run because of the length of the history."""
    return workflow.info().is_continue_as_new_suggested()


def begin_a_new_run(handed_over: RunInput) -> NoReturn:
    """End this run; the next one begins with `handed_over`, marked as its continuation."""
    continued = handed_over.model_copy(update={"continues": workflow.info().run_id})
    workflow.continue_as_new(continued)
