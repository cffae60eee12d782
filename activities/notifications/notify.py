"""Notify: the activity that delivers one notification to one receiver of the policy.

Others may write to Temporal, so the input names a receiver and nothing else of it: address and limit
come from the policy as the API server has it now. The activity waits in place for its turn, and heartbeats.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.attempt import heartbeats
from activities.notifications.sender import DeliveryFailure, DeliveryProblem, Receivers
from health.model.notification import Notification
from health.notification import RequestAllowance, Summary
from health.policy.receivers import Receiver
from workflows.notification import NOTIFY, Delivery, NotificationInput, NotifyResult

_log = logging.getLogger(__name__)
_ALL = "*"
"""All receivers, if the policy cannot be read; no receiver has this name."""


Send = Callable[[Receiver, Notification | Summary], Awaitable[object]]


@dataclass(frozen=True, eq=False)
class _Waiting:
    receiver: Receiver
    notification: Notification
    delivered: "asyncio.Future[Delivery]"


class ReceiverLane:
    """The notifications that wait for one receiver in this worker, and the one message to it at a time.

    Each notification is a request of its own while the allowance lasts. The last request of an allowance
    summarizes all waiting notifications. If a request fails, all of them fail with it: Temporal retries each
    with back-off, so a receiver that hangs costs one timeout and not one for each notification.
    """

    def __init__(self, send: Send, clock: Callable[[], float]) -> None:
        """`clock` returns seconds and never goes back."""
        self._send = send
        self._clock = clock
        self._waiting: list[_Waiting] = []
        self._allowance: RequestAllowance | None = None
        self._sender: asyncio.Task[None] | None = None

    async def deliver(self, receiver: Receiver, notification: Notification) -> Delivery:
        """Wait until a request has delivered it, alone or in a summary.

        Raises:
            DeliveryFailure: a request failed, with this notification or before it.

        """
        waiting = _Waiting(receiver, notification, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_all())
        try:
            return await waiting.delivered
        finally:
            if waiting in self._waiting:  # the worker stops, or the time of the attempt is over
                self._waiting.remove(waiting)

    async def _send_all(self) -> None:
        while self._waiting:
            # Wait for the allowance, by the limit of the policy as it was read last.
            most, now = self._waiting[-1].receiver.max_per_minute, timedelta(seconds=self._clock())
            allowance = (self._allowance or RequestAllowance.full(most, now)).refilled(most, now)
            self._allowance = allowance
            if wait := allowance.wait(most):
                await asyncio.sleep(wait.total_seconds())
                continue
            # One request, for one notification or as a summary.
            number = allowance.in_next_request(len(self._waiting))
            self._allowance = allowance.spent()
            batch, self._waiting = self._waiting[:number], self._waiting[number:]
            notifications = [waiting.notification for waiting in batch]
            message = Summary(notifications) if len(batch) > 1 else notifications[0]
            try:
                await self._send(batch[-1].receiver, message)
            except DeliveryFailure as failure:
                self._fail(batch, failure)
                continue
            except Exception as error:  # noqa: BLE001  its text may quote the address
                problem = f"unexpected {type(error).__name__}"
                self._fail(batch, DeliveryFailure(DeliveryProblem.INTERNAL_ERROR, problem))
                continue
            delivery = Delivery.SUMMARIZED if len(batch) > 1 else Delivery.SENT
            for waiting in batch:
                if not waiting.delivered.done():
                    waiting.delivered.set_result(delivery)

    def _fail(self, batch: Sequence[_Waiting], failure: DeliveryFailure) -> None:
        """Fail those of the request, and all that wait behind them."""
        for waiting in (*batch, *self._waiting):
            if not waiting.delivered.done():
                waiting.delivered.set_exception(failure)
        self._waiting.clear()


class Notify:
    """Delivers notifications, with one lane for each receiver."""

    def __init__(self, receivers: Receivers, clock: Callable[[], float]) -> None:
        """`clock` returns seconds and never goes back."""
        self._receivers = receivers
        self._clock = clock
        self._lanes: dict[str, ReceiverLane] = {}
        self._failing: dict[str, str] = {}
        """The problems of receivers that the policy names, or of all, to log each change once."""

    @activity.defn(name=NOTIFY.name)
    async def notify(self, request: NotificationInput) -> NotifyResult:
        """Deliver the notification.

        Raises:
            ApplicationError: it was not delivered; its type is the problem.

        """
        try:
            async with heartbeats():
                delivery = await self._deliver(request)
        except DeliveryFailure as failure:
            raise ApplicationError(
                str(failure),
                type=failure.problem,
                category=ApplicationErrorCategory.BENIGN,  # `_note` logs it once, and not for each attempt
            ) from None
        return NotifyResult(delivery=delivery)

    async def _deliver(self, request: NotificationInput) -> Delivery:
        async with self._noted(_ALL):
            receivers = await self._receivers.all()
        names = {receiver.name for receiver in receivers}
        self._failing = {name: problem for name, problem in self._failing.items() if name in names}
        receiver = next((receiver for receiver in receivers if receiver.name == request.receiver), None)
        if receiver is None:
            return Delivery.NOT_WANTED
        lane = self._lanes.setdefault(receiver.name, ReceiverLane(self._receivers.send, self._clock))
        async with self._noted(receiver.name):
            return await lane.deliver(receiver, request.notification)

    @contextlib.asynccontextmanager
    async def _noted(self, receiver: str) -> AsyncIterator[None]:
        """Note the failure of the block as the problem of the receiver, and its success as the end of it."""
        try:
            yield
        except DeliveryFailure as failure:
            self._note(receiver, str(failure))
            raise
        self._note(receiver, "")

    def _note(self, receiver: str, problem: str) -> None:
        before = self._failing.pop(receiver, "")
        if problem:
            self._failing[receiver] = problem
        if problem == before:
            return
        fields = {"receiver": receiver, "problem": problem}
        if problem:
            _log.warning("a receiver does not get its notifications", extra=fields)
        else:
            _log.info("a receiver gets its notifications again", extra=fields)
