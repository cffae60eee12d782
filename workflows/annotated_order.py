"""AnnotatedOrder: the workflow of one order that a person gives by an annotation.

It reads the annotation, asks the detector for the incidents, gives them the order, emits an Event with the
answer, and removes the annotation. The detector starts it with nothing but the name of the annotation, so an
annotation that is gone meanwhile gives no order. The workflow stays open as long as the annotation
exists, so no value is taken twice, even by another detector or after a long time.

A cancel refuses the present value: the annotation is answered and removed, because the detector would start
another workflow for a kept one.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from health.model.order import OrderMessage, Refusal
    from health.runbook.annotated_order import (
        CANCELLED,
        Receipt,
        ReceiptOutcome,
        answered_event,
        parsed,
        refused_event,
    )
    from objects.backoff import Backoff
    from objects.event import Event
    from objects.frozen import Frozen
    from objects.short_text import short
    from workflows.annotated_order_contracts import (
        ANNOTATED_ORDER,
        ANSWER_ORDER,
        FIND_RECIPIENTS,
        GIVE_ORDER,
        READ_ORDER,
        WAKE_ANNOTATED_ORDER,
        AnnotatedOrderInput,
        AnnotatedOrderMemory,
        AnnotatedOrderResult,
        AnswerOrderInput,
        AnswerOrderResult,
        FindRecipientsInput,
        GiveOrderInput,
        GiveOrderResult,
        OrderAnswer,
        ReadOrderInput,
        ReadOrderResult,
        Recipients,
        RemovalOutcome,
    )
    from workflows.contracts import detector_queue
    from workflows.kit.calls import Contract, FinishedCalls, in_words
    from workflows.kit.messages import Wakes
    from workflows.kit.runs import begin_a_new_run, is_new_run_due, refuse_other_id

Result = TypeVar("Result")
GIVEN_FOR = timedelta(minutes=10)
"""An incident without an answer for so long does not get the order: its state may be another one."""
TOO_LATE = "no worker answered for 10 minutes; give the order again"
RETRIES = Backoff(timedelta(seconds=5), timedelta(hours=1))
"""Between two attempts to read, give or remove. The annotation may stay for ever without a right."""


class _TryAgain(Exception):
    """The order could not be read, given or removed now; the message says why."""


@workflow.defn(name=ANNOTATED_ORDER)
class AnnotatedOrder:
    """The workflow of one annotation; `run` ends when the annotation is gone."""

    @workflow.init
    def __init__(self, start: AnnotatedOrderInput) -> None:
        self._key = start.key
        self._memory = start.memory if start.is_handed_over() else AnnotatedOrderMemory()
        self._wakes = Wakes()
        self._calls = FinishedCalls(self._cancel)
        self._ends_cancelled = False
        self._failures = 0
        self._details = ""

    @workflow.run
    async def run(self, start: AnnotatedOrderInput) -> AnnotatedOrderResult:
        """Take the order, and each later one by the same annotation, until the annotation is gone."""
        refuse_other_id(start.key.workflow_id)
        while not await self._is_done():
            pass
        if self._ends_cancelled or self._memory.is_cancelled:
            raise asyncio.CancelledError
        return AnnotatedOrderResult(answer=self._details)

    async def _is_done(self) -> bool:
        """Take the present value, and rest; returns True once the annotation is gone."""
        self._wakes.answer()
        was_cancelled = self._memory.is_cancelled
        try:
            is_gone = await self._take()
            self._failures = 0
            if is_gone and not self._wakes.has_new:
                return True
            await self._pause()
        except _TryAgain as problem:
            self._failures += 1
            if was_cancelled or not self._memory.is_cancelled:
                await self._rest(str(problem))
        return False

    @workflow.signal(name=WAKE_ANNOTATED_ORDER)
    def wake(self, *_values: object) -> None:
        """Read the annotation again; the signal carries no value."""
        self._wakes.receive()

    def _cancel(self) -> None:
        self._memory = self._memory.model_copy(update={"is_cancelled": True})

    async def _take(self) -> bool:
        """Take the value of the annotation once; returns True if there is no annotation any more."""
        read = await self._call(READ_ORDER, ReadOrderInput(key=self._key), ReadOrderResult)
        if read.problem:
            raise _TryAgain(f"{self._key.subject} cannot be read: {read.problem}")
        if not read.digest:
            return True
        if read.digest != self._memory.taken:
            await self._give(read)
        return await self._remove()

    async def _give(self, read: ReadOrderResult) -> None:
        number = self._memory.number
        if read.digest != self._memory.giving:
            number += bool(self._memory.taken or self._memory.giving)
            is_cancelled = self._memory.is_cancelled
            self._memory = AnnotatedOrderMemory(number=number, giving=read.digest, is_cancelled=is_cancelled)
        seed = self._seed(number, read.digest)
        event = self._refused(seed) if self._memory.is_cancelled else await self._given(read, seed)
        answer = OrderAnswer(severity=event.severity, reason=event.reason, message=event.message)
        is_cancelled = self._memory.is_cancelled
        self._memory = AnnotatedOrderMemory(
            number=number, taken=read.digest, answer=answer, is_cancelled=is_cancelled
        )
        self._say(event.message)

    def _refused(self, seed: str) -> Event:
        """The Event of a cancelled order; some incidents may have got it before the cancel."""
        waiting = self._memory.recipients.incidents if self._memory.recipients else ()
        if not (waiting or self._memory.receipts):
            return refused_event(self._key, seed, Refusal(CANCELLED))
        words = f"{CANCELLED} before it answered"
        cut_off = (Receipt.of(incident, ReceiptOutcome.REFUSED, words) for incident in waiting)
        return answered_event(self._key, seed, (*self._memory.receipts, *cut_off), 0)

    def _seed(self, number: int, digest: str) -> str:
        """The identity of a value, by which its updates and its Event are made once."""
        return f"{workflow.info().first_execution_run_id}/{number}/{digest}"

    async def _given(self, read: ReadOrderResult, seed: str) -> Event:
        """Give the order to the incidents of the object; returns the Event that answers."""
        message = parsed(self._key, read.value, read.manager)
        if isinstance(message, Refusal):
            return refused_event(self._key, seed, message)
        recipients = self._memory.recipients or await self._recipients()
        if self._memory.is_cancelled:
            return self._refused(seed)
        if recipients.refused:
            return refused_event(self._key, seed, Refusal(recipients.refused))
        since = self._memory.since or workflow.now()
        self._memory = self._memory.model_copy(update={"recipients": recipients, "since": since})
        await self._give_to(recipients, message, seed)
        return answered_event(self._key, seed, self._memory.receipts, recipients.left_out)

    async def _recipients(self) -> Recipients:
        question, queue = FindRecipientsInput(key=self._key), detector_queue(self._key.cluster)
        return await self._call(FIND_RECIPIENTS, question, Recipients, task_queue=queue)

    async def _give_to(self, recipients: Recipients, message: OrderMessage, seed: str) -> None:
        """Give the order, and remember the answers, so that a retry is only for incidents without one.

        Raises:
            _TryAgain: an incident has not answered, and the order is not too old yet.

        """
        receipts = await self._receipts(message, recipients, seed)
        unanswered = [receipt for receipt in receipts if receipt.outcome == ReceiptOutcome.UNANSWERED]
        answered = [receipt for receipt in receipts if receipt not in unanswered]
        is_too_late = workflow.now() - (self._memory.since or workflow.now()) >= GIVEN_FOR
        if is_too_late:
            refusal = {"outcome": ReceiptOutcome.REFUSED, "words": TOO_LATE}
            answered += [receipt.model_copy(update=refusal) for receipt in unanswered]
        answers = zip(recipients.incidents, receipts, strict=True)
        waiting = tuple(incident for incident, receipt in answers if receipt in unanswered)
        changes = {
            "recipients": recipients.model_copy(update={"incidents": waiting}),
            "receipts": (*self._memory.receipts, *answered),
        }
        self._memory = self._memory.model_copy(update=changes)
        if unanswered and not is_too_late:
            raise _TryAgain(f"{unanswered[0].incident}: {unanswered[0].words}")

    async def _receipts(self, message: OrderMessage, recipients: Recipients, seed: str) -> Sequence[Receipt]:
        request = GiveOrderInput(
            order=self._key.order,
            message=message.model_dump(mode="json"),
            order_id=seed,
            began_before=self._memory.since,
            incidents=recipients.incidents,
        )
        return (await self._call(GIVE_ORDER, request, GiveOrderResult)).receipts

    async def _remove(self) -> bool:
        """Answer, and remove the annotation; returns True if there is none any more."""
        memory = self._memory
        seed = self._seed(memory.number, memory.taken)
        request = AnswerOrderInput(key=self._key, digest=memory.taken, seed=seed, answer=memory.answer)
        result = await self._call(ANSWER_ORDER, request, AnswerOrderResult)
        self._memory = self._memory.model_copy(update={"answer": None})
        if result.outcome not in (RemovalOutcome.GONE, RemovalOutcome.CHANGED):
            raise _TryAgain(f"{self._key.annotation} could not be removed: {result.why}")
        is_gone = result.outcome == RemovalOutcome.GONE
        self._ends_cancelled = is_gone and self._memory.is_cancelled
        self._memory = AnnotatedOrderMemory(number=memory.number + 1)
        return is_gone

    async def _call(
        self, contract: Contract, request: Frozen, result: type[Result], task_queue: str | None = None
    ) -> Result:
        """The answer of an activity, which is awaited to its end also after a cancel.

        Raises:
            _TryAgain: no worker completed it in time.

        """
        summary = f"{self._key.annotation} on {self._key.subject}"
        try:
            return await self._calls.call(contract, request, result, summary=summary, task_queue=task_queue)
        except ActivityError as error:
            raise _TryAgain(f"{contract.name}: {in_words(error)}") from error

    async def _rest(self, problem: str) -> None:
        """Wait until the next attempt or a wake."""
        self._say(problem)
        self._begin_a_new_run_if_due()
        wait = RETRIES.wait(self._failures, workflow.random().random())
        with contextlib.suppress(TimeoutError), self._noting_cancel():
            await workflow.wait_condition(
                lambda: self._wakes.has_new, timeout=wait, timeout_summary="tries again"
            )

    async def _pause(self) -> None:
        """Wait longer before each further value: a program may write the annotation again and again."""
        self._begin_a_new_run_if_due()
        with self._noting_cancel():
            await workflow.sleep(RETRIES.wait(self._memory.number, workflow.random().random()))

    @contextlib.contextmanager
    def _noting_cancel(self) -> Iterator[None]:
        """End the wait inside at a cancel; the next step obeys it."""
        try:
            yield
        except asyncio.CancelledError:
            self._cancel()

    def _begin_a_new_run_if_due(self) -> None:
        if is_new_run_due():
            begin_a_new_run(AnnotatedOrderInput(key=self._key, memory=self._memory))

    def _say(self, words: str) -> None:
        self._details = short(words)
        workflow.set_current_details(self._details)
