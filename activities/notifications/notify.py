"""Notify: the activity that delivers one notification to one receiver of the policy.

Others may write to Temporal, so the input names a receiver and nothing else of it: address, form and limit
come from the policy as the API server has it now. The activity waits in place for its turn, and heartbeats.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

from pydantic import ValidationError
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.notifications.delivery_failure import DeliveryFailure, DeliveryProblem
from activities.notifications.receiver_files import ReceiverFiles
from activities.notifications.receiver_lane import ReceiverLane
from activities.notifications.webhook import Post, WebhookSender
from health.model.notification import Notification
from health.notification.document import document
from health.notification.slack import slack
from health.notification.summary import Summary
from health.policy.policy import DEFAULTS
from health.policy.policy_document import POLICY, InvalidPolicyError, StoredPolicy
from health.policy.receivers import MessageForm, Receiver
from kube.absence import none_if_absent
from kube.errors import KubernetesError
from kube.resource import CONFIG_MAPS
from kube.shared_reads import SharedReads
from workflows.notification_contracts import NOTIFY, Delivery, NotificationInput, NotifyResult

_log = logging.getLogger(__name__)
HEARTBEAT_EVERY = timedelta(seconds=5)


class Notify:
    """Delivers notifications, with one lane for each receiver."""

    def __init__(
        self,
        reads: SharedReads,
        namespace: str,
        files: ReceiverFiles,
        webhook: WebhookSender,
        clock: Callable[[], float],
    ) -> None:
        """`namespace` contains the ConfigMap of the policy; `clock` is monotonic."""
        self._reads = reads
        self._namespace = namespace
        self._files = files
        self._webhook = webhook
        self._clock = clock
        self._lanes: dict[str, ReceiverLane] = {}
        self._failing: dict[str, str] = {}
        """The problem of each receiver, to log each change once."""

    @activity.defn(name=NOTIFY.name)
    async def notify(self, request: NotificationInput) -> NotifyResult:
        """Deliver the notification.

        Raises:
            ApplicationError: it was not delivered; its type is the problem.

        """
        try:
            async with _heartbeats():
                delivery = await self._deliver(request)
        except DeliveryFailure as failure:
            self._note(request.receiver, str(failure))
            raise ApplicationError(
                str(failure),
                type=failure.problem,
                next_retry_delay=failure.retry_after,
                category=ApplicationErrorCategory.BENIGN,  # `_note` logs it once, and not for each attempt
            ) from None
        self._note(request.receiver, "")
        return NotifyResult(delivery=delivery)

    async def _deliver(self, request: NotificationInput) -> Delivery:
        receiver = await self._receiver(request.receiver)
        if receiver is None:
            return Delivery.NOT_WANTED
        lane = self._lanes.setdefault(receiver.name, ReceiverLane(self._send, self._clock))
        return await lane.deliver(receiver, request.notification)

    async def _receiver(self, name: str) -> Receiver | None:
        try:
            found = await none_if_absent(self._reads.get(CONFIG_MAPS, POLICY, self._namespace))
            policy = DEFAULTS if found is None else StoredPolicy.model_validate(found).over(DEFAULTS)
        except (KubernetesError, ValidationError, InvalidPolicyError) as error:
            problem = f"the policy cannot be read: {type(error).__name__}"
            raise DeliveryFailure(DeliveryProblem.POLICY_UNREAD, problem) from None
        return next((one for one in policy.notifications if one.name == name), None)

    async def _send(self, receiver: Receiver, message: Notification | Summary) -> None:
        url = await self._files.read(receiver.url_file)
        token = None if receiver.token_file is None else await self._files.read(receiver.token_file)
        form = slack if receiver.form is MessageForm.SLACK else document
        body = form(message, datetime.now(UTC))
        await self._webhook.send(
            Post(url=url, token=token, body=body, id=message.id, allows_http=receiver.allow_http)
        )

    def _note(self, receiver: str, problem: str) -> None:
        if self._failing.get(receiver, "") == problem:
            return
        self._failing[receiver] = problem
        fields = {"receiver": receiver, "problem": problem}
        if problem:
            _log.warning("a receiver does not get its notifications", extra=fields)
        else:
            _log.info("a receiver gets its notifications again", extra=fields)


@contextlib.asynccontextmanager
async def _heartbeats() -> AsyncIterator[None]:
    """Heartbeats for the time of the block, so that a killed worker is noticed."""

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(HEARTBEAT_EVERY.total_seconds())

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
