"""Receivers: the receivers of the policy as the API server has it now, and one message to one of them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import ValidationError

from activities.notifications.webhook import (
    DeliveryFailure,
    DeliveryProblem,
    Post,
    ReceiverFiles,
    WebhookSender,
)
from health.model.notification import Notification
from health.notification.messages import Summary, document, slack
from health.policy.policy import DEFAULTS, POLICY, InvalidPolicyError, StoredPolicy
from health.policy.receivers import MessageForm, Receiver
from kube.client import SharedReads
from kube.errors import KubernetesError, none_if_absent
from kube.resource import CONFIG_MAPS

INVALID = "the policy is invalid; paramedic policy check names the field"


class Receivers:
    """The receivers in the policy of one installation, with the files of its Secret."""

    def __init__(
        self, reads: SharedReads, namespace: str, files: ReceiverFiles, webhook: WebhookSender
    ) -> None:
        """`namespace` contains the ConfigMap of the policy."""
        self._reads = reads
        self._namespace = namespace
        self._files = files
        self._webhook = webhook

    async def all(self) -> Sequence[Receiver]:
        """The receivers that the policy names now, in its order.

        Raises:
            DeliveryFailure: the policy cannot be read.

        """
        try:
            found = await none_if_absent(self._reads.get(CONFIG_MAPS, POLICY, self._namespace))
            policy = DEFAULTS if found is None else StoredPolicy.model_validate(found).over(DEFAULTS)
        except KubernetesError as error:
            problem = f"the policy cannot be read: {type(error).__name__}"
            raise DeliveryFailure(DeliveryProblem.POLICY_UNREAD, problem) from None
        except (ValidationError, InvalidPolicyError):  # their text may quote an address
            raise DeliveryFailure(DeliveryProblem.POLICY_UNREAD, INVALID) from None
        return policy.notifications

    async def send(self, receiver: Receiver, message: Notification | Summary) -> int:
        """Send the message in one request. Returns the status of the answer, from 200 to 299.

        Raises:
            DeliveryFailure: it was not delivered.

        """
        url = await self._files.read(receiver.url_file)
        token = None if receiver.token_file is None else await self._files.read(receiver.token_file)
        form = slack if receiver.form is MessageForm.SLACK else document
        body = form(message, datetime.now(UTC))
        return await self._webhook.send(
            Post(url=url, token=token, body=body, id=message.id, allows_http=receiver.allow_http)
        )
