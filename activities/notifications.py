"""Notify: the activity that delivers one notification to one receiver of the policy, by apprise.

Others may write to Temporal, so the input names a receiver and nothing else of it: address and limit
come from the policy as the API server has it now. The activity waits in place for its turn, and heartbeats.

The URL of a receiver comes from a Secret alone. Services of apprise that act on this machine (syslog, D-Bus)
or read a local file are refused, and so are redirects: a receiver could otherwise make us call any address
that we can reach. Errors of the library quote URLs, and URLs are secrets, so none of its text is kept.
"""

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from threading import Thread

from pydantic import ValidationError
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.attempt import heartbeats
from health.model.notification import Notification
from health.notification import RequestAllowance, Summary, body_of, title_of
from health.policy.policy import DEFAULTS, POLICY, InvalidPolicyError, Receiver, StoredPolicy
from kube.client import SharedReads
from kube.errors import KubernetesError, none_if_absent
from kube.resource import CONFIG_MAPS
from objects.address import is_loopback
from workflows.notification import NOTIFY, Delivery, NotificationInput, NotifyResult

WITHIN = timedelta(seconds=10)
"""For the whole message, from the resolution of the host to the answer."""
INVALID = "the policy is invalid; paramedic policy check names the field"
MOST_CHARACTERS = 8192
"""Of a file with an address."""
_OF_FILES = frozenset({"template", "keyfile", "subfile"})
"""Parameters of URLs by which services of apprise read local files, or fetch them from other addresses."""
_PLUGINS = "apprise.plugins."
_MAIL = "apprise.plugins.email."
_ALL = "*"
"""All receivers, if the policy cannot be read; no receiver has this name."""
_log = logging.getLogger(__name__)


class DeliveryProblem(StrEnum):
    """The kinds of failures, as the metric names them."""

    POLICY_UNREAD = "PolicyUnread"
    FILE_UNREADABLE = "FileUnreadable"
    ADDRESS_REFUSED = "AddressRefused"
    NO_ANSWER = "NoAnswer"
    """The receiver may have got the notification."""
    REJECTED = "Rejected"
    """There was no connection, or the service did not accept it; apprise does not tell these apart."""
    INTERNAL_ERROR = "InternalError"
    """An error of ours."""


class DeliveryFailure(Exception):
    """Why a notification was not delivered; a later attempt may succeed.

    No error of a library is chained: Temporal stores the failure of an activity with its causes.
    """

    def __init__(self, problem: DeliveryProblem, sentence: str) -> None:
        super().__init__(sentence)
        self.problem = problem


class Receivers:
    """The receivers in the policy of one installation, and their addresses.

    Each method raises DeliveryFailure. The addresses are files in one directory that is mounted from a
    Secret, each with one apprise URL. A file is read for each message, so an edit of the Secret needs no
    restart.
    """

    def __init__(
        self, reads: SharedReads, namespace: str, addresses: Path, within: timedelta = WITHIN
    ) -> None:
        """`namespace` contains the ConfigMap of the policy, `addresses` the files."""
        self._reads = reads
        self._namespace = namespace
        self._addresses = addresses
        self._within = within
        self._under_way: set[str] = set()
        """The receivers whose latest message has not ended, perhaps long after our limit."""

    async def all(self) -> Sequence[Receiver]:
        """The receivers that the policy names now, in its order."""
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
        """Send the message once, in a thread, one at a time to each receiver: apprise blocks."""
        url = await self._address(receiver.url_file)
        title, body = title_of(message), body_of(message, datetime.now(UTC))
        if receiver.name in self._under_way:
            raise DeliveryFailure(DeliveryProblem.NO_ANSWER, "an earlier message is still under way")
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        failures: list[DeliveryFailure] = []

        def work() -> None:
            try:
                _send(url, title, body, self._within)
            except DeliveryFailure as failure:
                failures.append(failure)
            except Exception as error:  # noqa: BLE001  its text may quote the address
                problem = f"unexpected {type(error).__name__}"
                failures.append(DeliveryFailure(DeliveryProblem.INTERNAL_ERROR, problem))
            self._under_way.discard(receiver.name)
            with contextlib.suppress(RuntimeError):  # the process has ended meanwhile
                loop.call_soon_threadsafe(ended.set)

        self._under_way.add(receiver.name)
        # A daemon, so that a service that hangs does not delay the end of the process.
        Thread(target=work, daemon=True).start()
        try:
            async with asyncio.timeout(self._within.total_seconds()):
                await ended.wait()
        except TimeoutError:
            late = f"no answer within {self._within.total_seconds():g} s"
            raise DeliveryFailure(DeliveryProblem.NO_ANSWER, late) from None
        if failures:
            raise failures[0]

    async def _address(self, name: str) -> str:
        """The single line in the file of that name."""

        def text() -> str:
            with (self._addresses / name).open(encoding="ascii", errors="replace") as file:
                return file.read(MOST_CHARACTERS + 2).strip()

        try:
            found, why = await asyncio.to_thread(text), None
        except OSError as error:
            found, why = "", f"cannot be read: {error.strerror}"
        if why is None and (not found.isascii() or not found.isprintable() or not found or " " in found):
            why = "must have one line of ASCII without spaces"
        if why is None and len(found) > MOST_CHARACTERS:
            why = f"has more than {MOST_CHARACTERS} characters"
        if why is not None:
            problem = f"the file {name} in {self._addresses} {why}"
            raise DeliveryFailure(DeliveryProblem.FILE_UNREADABLE, problem)
        return found


def _send(url: str, title: str, body: str, within: timedelta) -> None:
    """Send the message, and block until the service has answered, or sent nothing for too long.

    Raises:
        DeliveryFailure: the address is refused, or the service did not accept the message.

    """
    # Here, in a thread: apprise loads 180 services, which takes half a second.
    from apprise import Apprise, AppriseAsset, NotifyFormat, plugins  # noqa: PLC0415

    logging.getLogger("apprise").setLevel(logging.CRITICAL)  # its warnings may quote the address
    asset = AppriseAsset(storage_mode="memory", http_redirects=False, async_mode=False)
    parsed = plugins.url_to_dict(url, secure_logging=True)  # type: ignore[no-untyped-call]  # not annotated
    if parsed is None:
        raise _refused("its address is no URL of a service that apprise knows")
    if named := sorted(_OF_FILES & parsed["qsd"].keys()):
        raise _refused(f"its address has the parameter {named[0]}, which names a file")
    seconds = within.total_seconds()  # of a request: to connect, and between two parts of the answer
    limits = {"redirect": False, "cto": 0.4 * seconds, "rto": 0.6 * seconds, "retry": 0, "wait": 0}
    service = Apprise.instantiate({**parsed, **limits}, asset=asset)
    if service is None:
        raise _refused("its address lacks a part, or names a service that is not available here")
    module = type(service).__module__
    is_over_http = hasattr(sys.modules[module], "requests")
    if not module.startswith(_PLUGINS) or not (is_over_http or module.startswith(_MAIL)):
        raise _refused("its service is not one over HTTP or e-mail")
    has_both = service.protocol is not None and service.secure_protocol is not None
    if has_both and not service.secure and not is_loopback(str(parsed.get("host") or "")):
        raise _refused(f"{parsed['schema']}:// is not encrypted: the service has another one that is")
    sender = Apprise(asset=asset)
    sender.add(service)
    if not sender.notify(body=body, title=title, body_format=NotifyFormat.TEXT):
        raise DeliveryFailure(DeliveryProblem.REJECTED, "its service was not reached, or did not accept it")


def _refused(sentence: str) -> DeliveryFailure:
    return DeliveryFailure(DeliveryProblem.ADDRESS_REFUSED, sentence)


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
        self._note(receiver, None)

    def _note(self, receiver: str, problem: str | None) -> None:
        before = self._failing.pop(receiver, None)
        if problem is not None:
            self._failing[receiver] = problem
        if problem == before:
            return
        fields = {"receiver": receiver, "problem": problem or ""}
        if problem is not None:
            _log.warning("a receiver does not get its notifications", extra=fields)
        else:
            _log.info("a receiver gets its notifications again", extra=fields)
