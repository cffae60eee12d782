"""Receivers: the receivers of the policy as the API server has it now, and one message to one of them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import ValidationError

from activities.notifications.sender import (
    AppriseSender,
    DeliveryFailure,
    DeliveryProblem,
    PlainMessage,
    ReceiverFiles,
)
from health.model.notification import Notification
from health.notification.messages import Summary, body_of, title_of
from health.policy.policy import DEFAULTS, POLICY, InvalidPolicyError, StoredPolicy
from health.policy.receivers import Receiver
from kube.client import SharedReads
from kube.errors import KubernetesError, none_if_absent
from kube.resource import CONFIG_MAPS

INVALID = "the policy is invalid; paramedic policy check names the field"


class Receivers:
    """The receivers in the policy of one installation, with the files of its Secret."""

    def __init__(
        self, reads: SharedReads, namespace: str, files: ReceiverFiles, sender: AppriseSender
    ) -> None:
        """`namespace` contains the ConfigMap of the policy."""
        self._reads = reads
        self._namespace = namespace
        self._files = files
        self._sender = sender

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

    async def send(self, receiver: Receiver, message: Notification | Summary) -> None:
        """Send the message once.

        Raises:
            DeliveryFailure: it was not delivered.

        """
        url = await self._files.read(receiver.url_file)
        text = PlainMessage(title_of(message), body_of(message, datetime.now(UTC)))
        await self._sender.send(receiver.name, url, text)
