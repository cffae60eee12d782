"""The activities of an order by annotation: read it, give it to incidents, answer it, and remove it.

Each reads the live object first, which must have the uid of the input. Only annotations that give orders are
removed, and only with the value that was taken: the patch is for the version that was read, so a newer order
is kept.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.client import (
    Client as TemporalClient,
)
from temporalio.client import (
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError, RPCStatusCode

from activities.attempt import Attempt, AttemptFailure, InputRefused
from activities.event_recorder import EventRecorder
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from health.model.order import OrderMessage, Refusal
from health.model.order_annotations import ORDER_NAMES, AnnotatedObject, AnnotatedOrderKey, digest_of
from health.model.references import IncidentReference
from health.runbook.annotated_order import LONGEST_VALUE, Receipt, ReceiptOutcome, kept_event
from health.runbook.obeying import recorded_order
from health.runbook.order_spec import OrderSpec
from health.runbook.orders import ORDERS
from kube.bounded import bounded
from kube.connection import ClusterConnection
from kube.errors import none_if_absent
from kube.resource import Object, Resource
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from objects.event import Event, InvolvedObject
from objects.group_kind import ServedKind
from workflows.annotated_order_contracts import (
    ANSWER_ORDER,
    GIVE_ORDER,
    READ_ORDER,
    AnswerOrderInput,
    AnswerOrderResult,
    GiveOrderInput,
    GiveOrderResult,
    ReadOrderInput,
    ReadOrderResult,
    RemovalOutcome,
)
from workflows.messages import State
from workflows.orders import refusal_in

AT_ONCE = 20
"""Incidents that get an order at once."""
RPC_TIMEOUT = timedelta(seconds=5)
ANSWER_TIMEOUT = timedelta(seconds=8)
"""For one incident; the update has an id, so it is given again without being obeyed twice."""
NO_ANSWER = "no worker answers"
ENDED = "it has ended meanwhile, and a later incident does not get the order"


class LiveAnnotations:
    """Reads the objects that may have such annotations."""

    def __init__(self, connection: ClusterConnection) -> None:
        self._connection = connection

    async def read(self, key: AnnotatedOrderKey) -> Object | None:
        """The object as the API server has it now; None if it is gone or has another uid.

        Raises:
            InputRefused: it is no object that we give orders for.
            KubernetesError: the API server cannot be asked.

        """
        subject = key.subject
        resource = await self._resource(key)
        found = await none_if_absent(self._connection.client.get(resource, subject.name, subject.namespace))
        return found if found is not None and found["metadata"]["uid"] == subject.uid else None

    async def remove(self, key: AnnotatedOrderKey, digest: str) -> RemovalOutcome:
        """Remove the annotation if its value has this digest.

        Raises:
            InputRefused: it is no object that we give orders for.
            KubernetesError: it was not removed, or the result is unknown; Conflict: the object changed in
                each try.

        """
        outcome = RemovalOutcome.GONE

        def removing(found: Object) -> dict[str, Any]:
            nonlocal outcome
            value = _value(found, key.annotation)
            is_ours = value is not None and digest_of(value) == digest
            outcome = RemovalOutcome.GONE if value is None or is_ours else RemovalOutcome.CHANGED
            return {"metadata": {"annotations": {key.annotation: None}}} if is_ours else {}

        subject = key.subject
        resource = await self._resource(key)
        identity = ObjectIdentity(resource, subject.namespace, subject.name, subject.uid)
        found = await none_if_absent(patch_as_read(self._connection.client, identity, removing))
        return RemovalOutcome.GONE if found is None else outcome

    async def _resource(self, key: AnnotatedOrderKey) -> Resource:
        kind = kind_of(key.subject)
        if key.order not in ORDER_NAMES or kind is None:
            raise InputRefused(f"{key.annotation} on {key.subject} is no order")
        return await self._connection.discovery.first_served(_served(kind, key.subject))


class ReadOrder:
    """The activity `read_order`: the annotation as the API server has it."""

    def __init__(self, objects: LiveAnnotations) -> None:
        self._objects = objects

    @activity.defn(name=READ_ORDER.name)
    async def read_order(self, request: ReadOrderInput) -> ReadOrderResult:
        """Return the live value, its digest, and the field manager that wrote it."""
        tried = await Attempt(READ_ORDER).tried(str(request.key.subject), self._objects.read(request.key))
        if isinstance(tried, AttemptFailure):
            return ReadOrderResult(problem=tried.why)
        value = _value(tried, request.key.annotation)
        if tried is None or value is None:
            return ReadOrderResult()
        return ReadOrderResult(
            digest=digest_of(value),
            value=value[: LONGEST_VALUE + 1],
            manager=_manager(tried["metadata"], request.key.annotation),
        )


class GiveOrder:
    """The activity `give_order`: an update for each incident."""

    def __init__(self, temporal: TemporalClient) -> None:
        self._temporal = temporal

    @activity.defn(name=GIVE_ORDER.name)
    async def give_order(self, request: GiveOrderInput) -> GiveOrderResult:
        """Give the order to each incident; those that time did not allow are unanswered."""
        spec, attempt = ORDERS[request.order], Attempt(GIVE_ORDER)
        ours = {"order_id": request.order_id, "began_before": request.began_before}
        message: OrderMessage = spec.message.model_validate({**request.message, **ours})

        async def given(incident: IncidentReference) -> Receipt:
            tried = await attempt.tried(incident.workflow_id, self._give(spec, message, incident))
            if isinstance(tried, AttemptFailure):
                return Receipt.of(incident, ReceiptOutcome.UNANSWERED, tried.why)
            return tried

        receipts = tuple(await bounded(AT_ONCE, given, request.incidents))
        return GiveOrderResult(receipts=receipts)

    async def _give(
        self, spec: OrderSpec[Any], message: OrderMessage, incident: IncidentReference
    ) -> Receipt:
        handle: WorkflowHandle[Any, Any] = self._temporal.get_workflow_handle(incident.workflow_id)
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT.total_seconds()):
                complete = await _completed(spec, message, handle)
                if isinstance(complete, Refusal):
                    return Receipt.of(incident, ReceiptOutcome.REFUSED, complete.why)
                answer = await handle.execute_update(
                    spec.name, complete, id=message.order_id, result_type=str, rpc_timeout=RPC_TIMEOUT
                )
        except WorkflowUpdateFailedError as error:
            refusal = refusal_in(error.cause)
            why = f"{refusal.field}: {refusal.why}" if refusal.field else refusal.why
            return Receipt.of(incident, ReceiptOutcome.REFUSED, why)
        except (WorkflowUpdateRPCTimeoutOrCancelledError, TimeoutError):
            return Receipt.of(incident, ReceiptOutcome.UNANSWERED, NO_ANSWER)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return Receipt.of(incident, ReceiptOutcome.REFUSED, ENDED)
            return Receipt.of(incident, ReceiptOutcome.UNANSWERED, error.message)
        return Receipt.of(incident, ReceiptOutcome.GIVEN, answer)


class AnswerOrder:
    """The activity `answer_order`: the Event, and the removal of the annotation."""

    def __init__(self, objects: LiveAnnotations, event_recorder: EventRecorder) -> None:
        self._objects = objects
        self._event_recorder = event_recorder

    @activity.defn(name=ANSWER_ORDER.name)
    async def answer_order(self, request: AnswerOrderInput) -> AnswerOrderResult:
        """Emit the Event once, then remove the annotation if it has the value that was taken."""
        if request.answer is not None:
            of_answer = request.answer
            await self._emit(
                request.key,
                Event(
                    seed=request.seed,
                    severity=of_answer.severity,
                    reason=of_answer.reason,
                    message=of_answer.message,
                ),
            )
        removing = self._objects.remove(request.key, request.digest)
        tried = await Attempt(ANSWER_ORDER).tried(request.key.annotation, removing)
        if not isinstance(tried, AttemptFailure):
            return AnswerOrderResult(outcome=tried)
        if tried.is_refused:
            await self._emit(request.key, kept_event(request.key, request.seed, tried.why))
        return AnswerOrderResult(outcome=RemovalOutcome.KEPT, why=tried.why)

    async def _emit(self, key: AnnotatedOrderKey, event: Event) -> None:
        kind = kind_of(key.subject)
        if kind is not None:
            await self._event_recorder.write(kind, event, _involved(kind, key.subject))


async def _completed(
    spec: OrderSpec[Any], message: OrderMessage, handle: WorkflowHandle[Any, Any]
) -> OrderMessage | Refusal:
    """The message with the fields that the state of the incident supplies.

    An incident that got it in an earlier attempt may have moved on, so its record completes the message.
    """
    if spec.complete is None:
        return message
    state = await handle.query("state", result_type=State, rpc_timeout=RPC_TIMEOUT)
    earlier = recorded_order(state.memory, spec.name, message.order_id)
    if earlier is not None:
        return message.model_copy(update={"step": earlier.step})
    return spec.complete(message, state.situation(datetime.now(UTC)))


def kind_of(subject: AnnotatedObject) -> CheckKind | None:
    """The kind of check that the object belongs to; None if it is neither check nor target."""
    kinds = CHECK_KINDS.values()
    wanted = subject.group_kind
    return next((kind for kind in kinds if wanted in (kind.group_kind, kind.targets.group_kind)), None)


def _served(kind: CheckKind, subject: AnnotatedObject) -> ServedKind:
    return kind if kind.group_kind == subject.group_kind else kind.targets


def _involved(kind: CheckKind, subject: AnnotatedObject) -> InvolvedObject:
    return InvolvedObject(
        api_version=_served(kind, subject).api_version,
        kind=subject.kind,
        namespace=subject.namespace,
        name=subject.name,
        uid=subject.uid,
    )


def _value(found: Object | None, annotation: str) -> str | None:
    annotations = found["metadata"].get("annotations") if found else None
    value = annotations.get(annotation) if annotations else None
    return value if isinstance(value, str) else None


def _manager(metadata: Mapping[str, Any], annotation: str) -> str:
    """The field manager that wrote the annotation last; "" if the API server does not say."""
    for entry in metadata.get("managedFields") or ():
        of_annotations = entry.get("fieldsV1", {}).get("f:metadata", {}).get("f:annotations", {})
        if f"f:{annotation}" in of_annotations:
            return str(entry.get("manager", ""))
    return ""
