"""A receiver of notifications, played by a script; it implements the contract of the activity by name."""

import asyncio

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Interceptor, Worker

from tests.support.story.fake_cluster import Gate
from workflows.notification import (
    NOTIFY,
    Delivery,
    NotificationInput,
    NotifyResult,
    notification_queue,
)


async def _beat() -> None:
    """Heartbeats, as of the real activity: without them an attempt that hangs is tried again."""
    while True:
        activity.heartbeat()
        await asyncio.sleep(1)


class FakeReceiver:
    """The notifications that it got, in order; a closed gate makes it hang."""

    def __init__(self) -> None:
        self.told: list[NotificationInput] = []
        self.gate = Gate()
        self.attempts = 0
        self.is_failing = False

    @property
    def events(self) -> list[str]:
        return [one.notification.event for one in self.told]

    @activity.defn(name=NOTIFY.name)
    async def notify(self, asked: NotificationInput) -> NotifyResult:
        self.attempts += 1
        beating = asyncio.create_task(_beat())
        try:
            await self.gate.pass_through()
        finally:
            beating.cancel()
        if self.is_failing:
            raise ApplicationError("it answered 500", type="Rejected")
        self.told.append(asked)
        return NotifyResult(delivery=Delivery.SENT)

    def worker(self, client: Client, cluster: str, *interceptors: Interceptor) -> Worker:
        return Worker(
            client,
            task_queue=notification_queue(cluster),
            activities=[self.notify],
            interceptors=interceptors,
        )
