"""One annotation that gives orders: a scripted cluster, detector and incident for its workflow."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

from temporalio import activity
from temporalio.client import WorkflowHandle, WorkflowHistory
from temporalio.testing import WorkflowEnvironment

from health.model.order_annotations import AnnotatedObject, AnnotatedOrderKey, digest_of
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.runbook.annotated_order import Receipt, ReceiptOutcome
from tests.support.story import workers
from tests.support.story.polling import PATIENCE_SECONDS, polled
from tests.support.story.runs import histories_of, is_idle
from workflows.annotated_order import AnnotatedOrder
from workflows.annotated_order_contracts import (
    ANSWER_ORDER,
    FIND_RECIPIENTS,
    GIVE_ORDER,
    READ_ORDER,
    AnnotatedOrderInput,
    AnnotatedOrderResult,
    AnswerOrderInput,
    AnswerOrderResult,
    FindRecipientsInput,
    GiveOrderInput,
    GiveOrderResult,
    ReadOrderInput,
    ReadOrderResult,
    Recipients,
    RemovalOutcome,
)
from workflows.contracts import worker_queue

NODE = AnnotatedObject(kind="Node", group="", name="node-4", uid="uid-of-node-4")
Handle = WorkflowHandle[AnnotatedOrder, AnnotatedOrderResult]


class Annotating:
    """The annotation, and what was done with it."""

    def __init__(self, environment: WorkflowEnvironment, cluster: str = "") -> None:
        self.environment, self.client = environment, environment.client
        self.cluster = cluster or f"test-{uuid4().hex[:8]}"
        self.value: str | None = "replacing its disk"
        """The value of the annotation; None: there is none."""
        self.next_value: str | None = None
        """A value that a person writes while the order is given."""
        self.value_after_answer: str | None = None
        """A value that a person writes before the annotation is removed."""
        self.may_remove = True
        self.unanswered = 0
        """How many times the incident does not answer."""
        self.began_later = False
        """True if another incident of the object begins after the first question."""
        self.questions = 0
        self.finds = asyncio.Event()
        """Cleared while the detector does not answer."""
        self.finds.set()
        self.refused = ""
        """Why the detector names no incident."""
        self.given: list[GiveOrderInput] = []
        self.events: list[str] = []

    @property
    def key(self) -> AnnotatedOrderKey:
        return AnnotatedOrderKey(cluster=self.cluster, subject=NODE, order="hold")

    @property
    def reasons(self) -> list[object]:
        """The reasons of the orders that the incident got, each once."""
        return list({one.order_id: one.message["reason"] for one in self.given}.values())

    @property
    def handle(self) -> Handle:
        return self.client.get_workflow_handle_for(AnnotatedOrder.run, self.key.workflow_id)

    @activity.defn(name=READ_ORDER.name)
    async def read(self, _: ReadOrderInput) -> ReadOrderResult:
        if self.value is None:
            return ReadOrderResult()
        return ReadOrderResult(digest=digest_of(self.value), value=self.value, manager="kubectl-annotate")

    @activity.defn(name=FIND_RECIPIENTS.name)
    async def find(self, asked: FindRecipientsInput) -> Recipients:
        if self.refused:
            return Recipients(refused=self.refused)
        target = TargetReference(kind="Node", group="", name=NODE.name, uid=NODE.uid)
        check = CheckReference(kind="NodeHealthCheck", name="workers")
        incident = IncidentReference(cluster=asked.key.cluster, check=check, target=target)
        self.questions += 1
        await self.finds.wait()
        if not self.began_later or self.questions == 1:
            return Recipients(incidents=(incident,))
        other = incident.model_copy(update={"check": check.model_copy(update={"name": "others"})})
        return Recipients(incidents=(incident, other))

    @activity.defn(name=GIVE_ORDER.name)
    async def give(self, asked: GiveOrderInput) -> GiveOrderResult:
        self.given.append(asked)
        outcome, words = ReceiptOutcome.GIVEN, "does nothing new for Node/node-4"
        if self.unanswered:
            self.unanswered -= 1
            outcome, words = ReceiptOutcome.UNANSWERED, "no worker answers"
        if self.next_value is not None:
            self.value, self.next_value = self.next_value, None
        receipt = Receipt(incident="workers/node-4", outcome=outcome, words=words)
        return GiveOrderResult(receipts=(receipt,))

    @activity.defn(name=ANSWER_ORDER.name)
    async def answer(self, asked: AnswerOrderInput) -> AnswerOrderResult:
        if asked.answer is not None:
            self.events.append(asked.answer.message)
        if self.value_after_answer is not None:
            self.value, self.value_after_answer = self.value_after_answer, None
        if self.value is not None and digest_of(self.value) != asked.digest:
            return AnswerOrderResult(outcome=RemovalOutcome.CHANGED)
        if not self.may_remove:
            return AnswerOrderResult(outcome=RemovalOutcome.KEPT, why="nodes is forbidden")
        self.value = None
        return AnswerOrderResult(outcome=RemovalOutcome.GONE)

    @asynccontextmanager
    async def processes(self) -> AsyncIterator[None]:
        async with (
            workers.detector(self.client, self.cluster, [self.find]),
            workers.worker(
                self.client,
                self.cluster,
                [self.read, self.give, self.answer],
                workflows=[AnnotatedOrder],
            ),
        ):
            yield

    async def start(self) -> Handle:
        return await self.client.start_workflow(
            AnnotatedOrder.run,
            AnnotatedOrderInput(key=self.key),
            id=self.key.workflow_id,
            task_queue=worker_queue(self.cluster),
        )

    async def is_asked(self) -> bool:
        return self.questions > 0

    async def passes(self, duration: timedelta) -> None:
        await self.environment.fast_forward(self.handle, duration)

    async def rests(self) -> None:
        """Wait until it waits for its timer and runs no activity."""
        await polled(lambda: is_idle(self.handle))

    async def histories(self) -> list[WorkflowHistory]:
        latest = (await self.handle.describe()).run_id
        return await histories_of(self.client, self.handle.id, latest)

    async def result(self) -> str:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return (await self.handle.result()).answer
