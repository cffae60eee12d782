"""Sends a test message to a receiver of the policy, as a worker sends notifications."""

from datetime import UTC, datetime
from pathlib import Path

from activities.notifications import DeliveryFailure, DeliveryProblem, Receivers
from cli.shared.errors import CommandError, NotFoundError
from cli.shared.leader import reading_settings
from cli.shared.options import ClusterChoice
from health.model.notification import Notification, message_id
from health.model.references import CheckReference, IncidentReference, TargetReference
from kube.client import SharedReads

EVENT = "Test"
"""The event of the message; no policy can name it, because no incident has it."""
_KIND, _GROUP = "Test", "paramedic.dev"


async def send_trial(choice: ClusterChoice, name: str, directory: Path | None) -> str:
    """Send the message; `directory` replaces that of the settings. Returns the sentence to print.

    Raises:
        CommandError: it was not delivered or answered, no such receiver, or the cluster cannot be read.

    """
    async with reading_settings(choice) as (settings, cluster, management):
        addresses = directory or Path(settings.notification_directory)
        receivers = Receivers(SharedReads(management.client), settings.namespace, addresses)
        try:
            known = {receiver.name: receiver for receiver in await receivers.all()}
            if name not in known:
                there = f"there is {', '.join(known)}" if known else "it names none"
                raise NotFoundError(f"the policy has no receiver {name!r}; {there}")
            await receivers.send(known[name], _message(name, cluster, datetime.now(UTC)))
        except DeliveryFailure as failure:
            got = "may have got" if failure.problem is DeliveryProblem.NO_ANSWER else "did not get"
            raise CommandError(f"the receiver {name} {got} the test message: {failure}") from None
    return f"the service of the receiver {name} accepted the test message"


def _message(receiver: str, cluster: str, now: datetime) -> Notification:
    """A notification about a check and a target of a kind that no cluster has."""
    check = CheckReference(kind=_KIND, group=_GROUP, name=receiver)
    target = TargetReference(kind=_KIND, group=_GROUP, name="test", uid="")
    return Notification(
        id=message_id(EVENT, cluster, receiver, now.isoformat()),
        event=EVENT,
        asks_a_person=False,
        incident=IncidentReference(cluster=cluster, check=check, target=target),
        at=now,
        title=f"Test message to the receiver {receiver}: no node is affected, and nothing is to be done",
        reason="a person sent it by paramedic policy notify",
        commands=("paramedic list",),
    )
