"""Sends one message to a receiver of the policy: to the service behind an apprise URL, bounded in time.

The URL comes from a Secret alone. Services of apprise that act on this machine (syslog, D-Bus) or read a
local file are refused, and so are redirects: a receiver could otherwise make us call any address that we can
reach. Errors of the library quote URLs, and URLs are secrets, so none of its text is kept.
"""

import asyncio
import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from threading import Thread

from pydantic import ValidationError

from health.model.notification import Notification
from health.notification import Summary, body_of, title_of
from health.policy.policy import DEFAULTS, POLICY, InvalidPolicyError, StoredPolicy
from health.policy.receivers import Receiver
from kube.client import SharedReads
from kube.errors import KubernetesError, none_if_absent
from kube.resource import CONFIG_MAPS
from objects.address import is_loopback

WITHIN = timedelta(seconds=10)
"""For the whole message, from the resolution of the host to the answer."""
INVALID = "the policy is invalid; paramedic policy check names the field"
MOST_CHARACTERS = 8192
"""Of a file with an address."""
_OF_FILES = frozenset({"template", "keyfile", "subfile"})
"""Parameters of URLs by which services of apprise read local files, or fetch them from other addresses."""
_PLUGINS = "apprise.plugins."
_MAIL = "apprise.plugins.email."


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


@dataclass(frozen=True)
class PlainMessage:
    """The text of one message, without markup."""

    title: str
    body: str


class ReceiverFiles:
    """The files in one directory that is mounted from a Secret, each with one apprise URL.

    A file is read for each message, so an edit of the Secret needs no restart.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def read(self, name: str) -> str:
        """The single line in the file.

        Raises:
            DeliveryFailure: there is no such file, or it has not one line of printable ASCII.

        """
        try:
            text = await asyncio.to_thread(self._text, name)
        except OSError as error:
            raise self._failure(name, f"cannot be read: {error.strerror}") from None
        if not text.isascii() or not text.isprintable() or not text or " " in text:
            raise self._failure(name, "must have one line of ASCII without spaces")
        if len(text) > MOST_CHARACTERS:
            raise self._failure(name, f"has more than {MOST_CHARACTERS} characters")
        return text

    def _text(self, name: str) -> str:
        with (self._directory / name).open(encoding="ascii", errors="replace") as file:
            return file.read(MOST_CHARACTERS + 2).strip()

    def _failure(self, name: str, why: str) -> DeliveryFailure:
        return DeliveryFailure(DeliveryProblem.FILE_UNREADABLE, f"the file {name} in {self._directory} {why}")


class AppriseSender:
    """Sends messages in threads, one at a time to each receiver: apprise blocks."""

    def __init__(self, within: timedelta = WITHIN) -> None:
        self._within = within
        self._under_way: set[str] = set()
        """The receivers whose latest message has not ended, perhaps long after our limit."""

    async def send(self, receiver: str, url: str, message: PlainMessage) -> None:
        """Send the message once.

        Raises:
            DeliveryFailure: it was not delivered.

        """
        if receiver in self._under_way:
            raise DeliveryFailure(DeliveryProblem.NO_ANSWER, "an earlier message is still under way")
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        failures: list[DeliveryFailure] = []

        def work() -> None:
            try:
                deliver(url, message, self._within)
            except DeliveryFailure as failure:
                failures.append(failure)
            except Exception as error:  # noqa: BLE001  its text may quote the address
                problem = f"unexpected {type(error).__name__}"
                failures.append(DeliveryFailure(DeliveryProblem.INTERNAL_ERROR, problem))
            self._under_way.discard(receiver)
            with suppress(RuntimeError):  # the process has ended meanwhile
                loop.call_soon_threadsafe(ended.set)

        self._under_way.add(receiver)
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


def deliver(url: str, message: PlainMessage, within: timedelta = WITHIN) -> None:
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
    if not sender.notify(body=message.body, title=message.title, body_format=NotifyFormat.TEXT):
        raise DeliveryFailure(DeliveryProblem.REJECTED, "its service was not reached, or did not accept it")


def _refused(sentence: str) -> DeliveryFailure:
    return DeliveryFailure(DeliveryProblem.ADDRESS_REFUSED, sentence)


class Receivers:
    """The receivers in the policy of one installation; each method raises DeliveryFailure."""

    def __init__(
        self, reads: SharedReads, namespace: str, files: ReceiverFiles, sender: AppriseSender
    ) -> None:
        """`namespace` contains the ConfigMap of the policy."""
        self._reads = reads
        self._namespace = namespace
        self._files = files
        self._sender = sender

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
        url = await self._files.read(receiver.url_file)
        text = PlainMessage(title_of(message), body_of(message, datetime.now(UTC)))
        await self._sender.send(receiver.name, url, text)
