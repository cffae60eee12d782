"""WebhookSender: makes one POST to the address of a receiver, bounded in time and size.

No redirect is followed: a receiver could otherwise make us call any address that we can reach. Its answer is
not read beyond the status and Retry-After.
"""

import asyncio
import errno
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import aiohttp
from aiohttp import hdrs

WITHIN = timedelta(seconds=10)
"""For the whole request, from the resolution of its host to the status of the answer."""
LONGEST_RETRY_AFTER = timedelta(minutes=15)
MOST_CHARACTERS = 8192
"""Of a file with an address or token."""
IDEMPOTENCY_KEY = "Idempotency-Key"
_SUCCESS, _REDIRECT, _TOO_MANY, _SERVER_ERROR = 200, 300, 429, 500


class DeliveryProblem(StrEnum):
    """The kinds of failures, as the metric names them."""

    POLICY_UNREAD = "PolicyUnread"
    FILE_UNREADABLE = "FileUnreadable"
    ADDRESS_REFUSED = "AddressRefused"
    NO_CONNECTION = "NoConnection"
    NO_ANSWER = "NoAnswer"
    """The receiver may have got the notification."""
    REJECTED = "Rejected"
    """An answer from 300 to 499; redirects are not followed."""
    RATE_LIMITED = "RateLimited"
    SERVER_ERROR = "ServerError"
    INTERNAL_ERROR = "InternalError"
    """An error of ours."""


class DeliveryFailure(Exception):
    """Why a notification was not delivered; a later attempt may succeed.

    Errors of libraries quote URLs, and URLs are secrets. So no such error is chained, and none of its text is
    kept: Temporal stores the failure of an activity with its causes.
    """

    def __init__(self, problem: DeliveryProblem, sentence: str, retry_after: timedelta | None = None) -> None:
        """`retry_after`: how long the receiver wants no request; None: it does not say."""
        super().__init__(sentence)
        self.problem = problem
        self.retry_after = retry_after


@dataclass(frozen=True, kw_only=True)
class Post:
    """One request, with an address and a token that no message quotes."""

    url: str
    token: str | None
    body: Mapping[str, Any]
    id: str
    """The idempotency key."""
    allows_http: bool = False

    @property
    def headers(self) -> dict[str, str]:
        headers = {
            hdrs.CONTENT_TYPE: "application/json",
            hdrs.USER_AGENT: "paramedic",
            IDEMPOTENCY_KEY: self.id,
        }
        return headers if self.token is None else {**headers, hdrs.AUTHORIZATION: f"Bearer {self.token}"}


class ReceiverFiles:
    """The files in one directory that is mounted from a Secret, each with one address or token.

    A file is read for each request, so an edit of the Secret needs no restart.
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


class WebhookSender:
    """Sends requests, each over a connection of its own."""

    def __init__(self, tls: ssl.SSLContext | None = None, within: timedelta = WITHIN) -> None:
        """`tls`: the trusted authorities; None: those of the system, or of SSL_CERT_FILE."""
        self._tls = tls
        self._within = within

    async def send(self, post: Post) -> int:
        """Send the request once. Returns the status of the answer, from 200 to 299.

        Raises:
            DeliveryFailure: it was not delivered.

        """
        _refuse_address(post)
        self._tls = self._tls or ssl.create_default_context()
        connector = aiohttp.TCPConnector(ssl=self._tls, force_close=True)
        timeout = aiohttp.ClientTimeout(total=self._within.total_seconds())
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=True
        ) as session:
            return await _send(session, post)


async def _send(session: aiohttp.ClientSession, post: Post) -> int:
    data = json.dumps(post.body, ensure_ascii=False).encode(errors="replace")
    status = 0
    try:
        async with session.post(post.url, data=data, headers=post.headers, allow_redirects=False) as answer:
            status = answer.status
            failure = _failure(status, answer.headers.get(hdrs.RETRY_AFTER, ""))
            answer.close()  # whatever follows is not read
    except (aiohttp.ClientError, OSError, ValueError) as error:
        failure = _of_error(error, session.timeout)
    if failure is not None:
        raise failure
    return status


def _refuse_address(post: Post) -> None:
    """Refuse an address that is no URL, or would send the notification in clear text."""
    try:
        url = urlsplit(post.url)
        is_complete = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        is_complete = False
    if not is_complete:
        raise _refused("its address is no URL that begins with https://")
    if url.username is not None or url.password is not None:
        raise _refused("its address has a user or a password, and a bearer token belongs in tokenFile")
    if url.scheme == "http" and not post.allows_http and not _is_loopback(url):
        raise _refused("its address begins with http://, which needs allowHttp: true")


def _is_loopback(url: SplitResult) -> bool:
    host = url.hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refused(sentence: str) -> DeliveryFailure:
    return DeliveryFailure(DeliveryProblem.ADDRESS_REFUSED, sentence)


def _failure(status: int, retry_after: str) -> DeliveryFailure | None:
    if _SUCCESS <= status < _REDIRECT:
        return None
    problem = DeliveryProblem.SERVER_ERROR if status >= _SERVER_ERROR else DeliveryProblem.REJECTED
    problem = DeliveryProblem.RATE_LIMITED if status == _TOO_MANY else problem
    is_redirect = _REDIRECT <= status < 400  # noqa: PLR2004  the next class of answers
    more = ", and redirects are not followed" if is_redirect else ""
    return DeliveryFailure(problem, f"it answered {status}{more}", _seconds(retry_after))


def _seconds(retry_after: str) -> timedelta | None:
    """The header in seconds, within bounds; the form with a date is ignored."""
    if not retry_after.isascii() or not retry_after.isdigit() or len(retry_after) > 9:  # noqa: PLR2004  years
        return None
    return min(timedelta(seconds=int(retry_after)), LONGEST_RETRY_AFTER)


def _of_error(error: Exception, timeout: aiohttp.ClientTimeout) -> DeliveryFailure:
    """The failure without the text of the error, which may quote the address."""
    no_connection = DeliveryProblem.NO_CONNECTION
    match error:
        case TimeoutError():
            return DeliveryFailure(DeliveryProblem.NO_ANSWER, f"no answer within {timeout.total:g} s")
        case aiohttp.ClientConnectorDNSError():
            return DeliveryFailure(no_connection, "its host name cannot be resolved")
        case aiohttp.ClientConnectorCertificateError():
            return DeliveryFailure(no_connection, "its certificate is not trusted")
        case aiohttp.ClientConnectorSSLError():
            return DeliveryFailure(no_connection, "TLS fails")
        case OSError(errno=int() as number):
            return DeliveryFailure(no_connection, f"no connection: {errno.errorcode.get(number, number)}")
        case aiohttp.ClientConnectionError():
            return DeliveryFailure(DeliveryProblem.NO_ANSWER, "the connection broke off")
        case _:
            return DeliveryFailure(DeliveryProblem.NO_ANSWER, f"no usable answer: {type(error).__name__}")
