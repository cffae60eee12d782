"""NotificationDelivery: the workflow that delivers one notification to one receiver, and fails if it cannot.

It has no handlers and no memory: Temporal repeats its activity until `GIVEN_UP_AFTER` is over.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from workflows.kit import call, in_words
    from workflows.notification_contracts import (
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
