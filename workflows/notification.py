"""NotificationDelivery: the workflow that delivers one notification to one receiver, and fails if it cannot.

It has no handlers and no memory: Temporal repeats its activity until `GIVEN_UP_AFTER` is over.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from workflows.kit.calls import call, in_words
    from workflows.notification_contracts import (
        HEARTBEAT,
        NOT_DELIVERED,
        NOTIFICATION,
        NOTIFY,
        NotificationInput,
        NotifyResult,
        notification_queue,
    )


@workflow.defn(name=NOTIFICATION)
class NotificationDelivery:
    """The workflow of one notification to one receiver."""

    @workflow.run
    async def run(self, asked: NotificationInput) -> NotifyResult:
        """Deliver the notification.

        Raises:
            ApplicationError: it was given up; Temporal then shows the workflow as failed.

        """
        summary = f"tell {asked.receiver}: {asked.notification.event}"
        queue = notification_queue(asked.cluster)
        try:
            return await call(
                NOTIFY, asked, NotifyResult, summary=summary, task_queue=queue, heartbeat=HEARTBEAT
            )
        except ActivityError as error:
            message = f"{asked.receiver} did not get the notification {asked.notification.id}"
            why = error.cause.message if isinstance(error.cause, ApplicationError) else in_words(error)
            workflow.logger.warning("notification given up", extra={"problem": f"{message}: {why}"})
            raise ApplicationError(f"{message}: {why}", type=NOT_DELIVERED, non_retryable=True) from error
