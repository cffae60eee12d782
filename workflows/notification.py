"""NotificationDelivery: the workflow that delivers one notification to one receiver, and its one activity.

An incident starts the workflow and does not wait for it. The activity has a task queue of its own, so that
receivers which do not answer take no worker slot of an act. Temporal repeats it with back-off until a
receiver has the message or the time is over.
"""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum

from temporalio import workflow
from temporalio.common import RetryPolicy, SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from health.model.notification import Notification
    from health.model.references import IncidentReference
    from health.runbook.notifications import Due
    from objects.frozen import Frozen, OpenEnum
    from workflows.kit import Contract, call, finished, in_summary, in_words
    from workflows.messages import CLUSTER

NOTIFICATION = "Notification"
"""The type of the workflow."""
NOT_DELIVERED = "NotDelivered"
"""The type of the failure of a notification that was given up."""
GIVEN_UP_AFTER = timedelta(hours=1)


class NotificationInput(Frozen):
    """Starts the delivery of one notification to one receiver of the policy."""

    cluster: str
    receiver: str
    notification: Notification

    @property
    def summary(self) -> str:
        """The summary of the workflow and of its call in the Temporal UI."""
        return f"tell {self.receiver}: {self.notification.event}"


class Delivery(StrEnum):
    """The result of a notification to one receiver."""

    SENT = "Sent"
    SUMMARIZED = "Summarized"
    """It was counted in a message about several notifications, because there were too many."""
    NOT_WANTED = "NotWanted"
    """The policy no longer names the receiver."""


class NotifyResult(Frozen):
    """The delivery, which is also the result of the workflow."""

    delivery: OpenEnum[Delivery]


NOTIFY = Contract(
    name="notify",
    start_to_close=timedelta(minutes=3),
    schedule_to_close=GIVEN_UP_AFTER,
    retry=RetryPolicy(initial_interval=timedelta(seconds=2), maximum_interval=timedelta(minutes=5)),
    heartbeat=timedelta(seconds=15),
)
"""An attempt may wait a minute for its turn, and for others before it."""


def notification_queue(cluster: str) -> str:
    """The task queue of the activity, polled by each worker."""
    return f"paramedic-{cluster}-notifications"


def notification_workflow_id(cluster: str, receiver: str, notification: Notification) -> str:
    return f"notification/{cluster}/{receiver}/{notification.id}"


async def start_delivery(due: Due, incident: IncidentReference, obey_cancel: Callable[[], None]) -> None:
    """Start the workflow that delivers a notification of an incident; it goes on when the incident ends.

    It returns when the workflow has started, also after a cancel: Temporal would not start it after our end.
    It starts nothing if a workflow of this id exists, open or closed.
    """
    cluster, receiver, notification = incident.cluster, due.receiver, due.notification
    request = NotificationInput(cluster=cluster, receiver=receiver, notification=notification)
    starting = workflow.start_child_workflow(
        NOTIFICATION,
        request,
        id=notification_workflow_id(cluster, receiver, notification),
        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        search_attributes=TypedSearchAttributes([SearchAttributePair(CLUSTER, cluster)]),
        static_summary=in_summary(request.summary),
    )
    with contextlib.suppress(WorkflowAlreadyStartedError):
        await finished(starting, obey_cancel)


@workflow.defn(name=NOTIFICATION)
class NotificationDelivery:
    """The workflow of one notification to one receiver; it has no handlers and no memory."""

    @workflow.run
    async def run(self, request: NotificationInput) -> NotifyResult:
        """Deliver the notification.

        Raises:
            ApplicationError: it was given up; Temporal then shows the workflow as failed.

        """
        queue = notification_queue(request.cluster)
        try:
            return await call(NOTIFY, request, NotifyResult, summary=request.summary, task_queue=queue)
        except ActivityError as error:
            message = f"{request.receiver} did not get the notification {request.notification.id}"
            why = error.cause.message if isinstance(error.cause, ApplicationError) else in_words(error)
            workflow.logger.warning("notification given up", extra={"problem": f"{message}: {why}"})
            raise ApplicationError(f"{message}: {why}", type=NOT_DELIVERED, non_retryable=True) from error
