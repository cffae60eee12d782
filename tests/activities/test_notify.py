"""The delivery of a notification over HTTP, to receivers that behave and that do not."""

import asyncio
import json
import ssl
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.notifications import INVALID, Notify, Receivers
from devcluster.polling import until
from health.model.notification import Notification
from health.notification import title_of
from kube.client import Client, SharedReads
from tests.support.api.api_server import Answer, ApiServer, Asked, hanging, refused, reset, said, text
from tests.support.api.eventually import eventually
from tests.support.api.ports import free_port
from tests.support.api.tls import write_pair
from tests.support.values.notifications import notification
from workflows.notification import Delivery, NotificationInput, NotifyResult

POLICY = "/api/v1/namespaces/ours/configmaps/paramedic-policy"
SECRET = "B0-very-secret"
HOOK = f"/hook/{SECRET}"
WITHIN = timedelta(seconds=3)
OK = text("ok")


class Receiving:
    """A policy, its files, and a receiver on the same scripted server."""

    def __init__(self, server: ApiServer, client: Client, directory: Path) -> None:
        self.server, self._directory = server, directory
        self.now = 0.0
        self.beats = 0
        receivers = Receivers(SharedReads(client), "ours", directory, WITHIN)
        self.notify = Notify(receivers, lambda: self.now)
        self.writes("oncall", f"json://127.0.0.1:{server.port}{HOOK}\n")

    def writes(self, file: str, content: str) -> None:
        (self._directory / file).write_text(content, errors="surrogateescape")

    def names(self, **fields: Any) -> None:
        receiver = {"name": "oncall", "urlFile": "oncall"} | fields
        self.policy(json.dumps({"notifications": [receiver]}))

    def policy(self, document: str) -> None:
        self.server.forget("GET", POLICY)
        metadata = {"name": "paramedic-policy", "namespace": "ours", "uid": "u", "resourceVersion": "1"}
        metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
        self.server.answer("GET", POLICY, said({"metadata": metadata, "data": {"policy.yaml": document}}))

    def answers(self, *answers: Answer) -> None:
        self.server.answer("POST", HOOK, *answers)

    @property
    def posts(self) -> list[Asked]:
        return [one for one in self.server.asked if one.method == "POST"]

    async def tell(self, one: Notification | None = None, receiver: str = "oncall") -> NotifyResult:
        environment = ActivityEnvironment()
        environment.on_heartbeat = self._beat
        asked = NotificationInput(cluster="c", receiver=receiver, notification=one or notification())
        result: NotifyResult = await environment.run(self.notify.notify, asked)
        return result

    async def fails(self, receiver: str = "oncall") -> ApplicationError:
        with pytest.raises(ApplicationError) as failed:
            await self.tell(receiver=receiver)
        return failed.value

    def _beat(self, *_: object) -> None:
        self.beats += 1


@pytest.fixture
def receiving(server: ApiServer, client: Client, tmp_path: Path) -> Receiving:
    (tmp_path / "files").mkdir()
    return Receiving(server, client, tmp_path / "files")


async def test_service_of_the_address_gets_title_and_text_once(receiving: Receiving) -> None:
    receiving.names()
    receiving.answers(OK)
    assert (await receiving.tell()).delivery is Delivery.SENT
    (post,) = receiving.posts
    assert post.body["title"] == title_of(notification())
    assert "paramedic approve workers/node-1" in post.body["message"]
    assert receiving.beats


async def dripping(request: web.Request) -> web.StreamResponse:
    """Succeed, and then send an answer without an end."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"x")
        await asyncio.sleep(0.2)


async def redirecting(request: web.Request) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect(f"http://{request.host}/elsewhere/{SECRET}")


NOT_ACCEPTED = "its service was not reached, or did not accept it"


@pytest.mark.parametrize(
    ("answer", "problem", "sentence"),
    [
        (hanging, "Rejected", NOT_ACCEPTED),
        (dripping, "NoAnswer", "no answer within 3 s"),
        (reset, "Rejected", NOT_ACCEPTED),
        (redirecting, "Rejected", NOT_ACCEPTED),
        (text(SECRET, 404), "Rejected", NOT_ACCEPTED),
        (text(SECRET, 500), "Rejected", NOT_ACCEPTED),
        (refused(429, "TooMany"), "Rejected", NOT_ACCEPTED),
    ],
)
async def test_failure_is_raised_in_words_without_a_secret(
    receiving: Receiving, caplog: pytest.LogCaptureFixture, answer: Answer, problem: str, sentence: str
) -> None:
    receiving.names()
    receiving.answers(answer)
    failed = await receiving.fails()
    assert (failed.type, failed.message) == (problem, sentence)
    assert failed.next_retry_delay is None
    assert len(receiving.posts) == 1
    for kept in (await stored(failed), caplog.text, *(str(vars(one)) for one in caplog.records)):
        assert SECRET not in kept
        assert str(receiving.server.port) not in kept


async def stored(error: BaseException) -> str:
    """The failure as Temporal stores it, with its causes and its stack."""
    converter, failure = DataConverter.default, Failure()
    converter.failure_converter.to_failure(error, converter.payload_converter, failure)
    return str(failure)


UNKNOWN = "its address is no URL of a service that apprise knows"
UNAVAILABLE = "its address lacks a part, or names a service that is not available here"
NOT_HTTP = "its service is not one over HTTP or e-mail"


@pytest.mark.parametrize(
    ("address", "problem", "sentence"),
    [
        (f"file:///etc/{SECRET}", "AddressRefused", UNKNOWN),
        (f"exec://{SECRET}", "AddressRefused", UNKNOWN),
        (f"/etc/{SECRET}", "AddressRefused", UNKNOWN),
        (f"dbus://{SECRET}", "AddressRefused", ""),
        (f"gnome://{SECRET}", "AddressRefused", ""),
        (f"windows://{SECRET}", "AddressRefused", ""),
        ("syslog://", "AddressRefused", NOT_HTTP),
        (f"irc://127.0.0.1/#{SECRET}", "AddressRefused", NOT_HTTP),
        ("slack://", "AddressRefused", UNAVAILABLE),
        (f"json://example.com/{SECRET}", "AddressRefused", "json:// is not encrypted: the service has"),
        (
            f"https://discord.com/api/webhooks/1234/{SECRET}?template=/etc/passwd",
            "AddressRefused",
            "its address has the parameter template, which names a file",
        ),
        (f"jsons://127.0.0.1/{SECRET} b", "FileUnreadable", "the file oncall in "),
        (f"jsons://127.0.0.1/{SECRET}\njsons://127.0.0.1/", "FileUnreadable", "the file oncall in "),
        (f"jsons://127.0.0.1/ü{SECRET}", "FileUnreadable", "the file oncall in "),
        (f"\udcff{SECRET}", "FileUnreadable", "the file oncall in "),
        (f"jsons://127.0.0.1/{SECRET * 1000}", "FileUnreadable", "the file oncall in "),
        ("", "FileUnreadable", "the file oncall in "),
        (f"jsons://127.0.0.1:FREE/{SECRET}", "Rejected", NOT_ACCEPTED),
    ],
)
async def test_address_that_cannot_be_used_is_refused_and_not_quoted(
    receiving: Receiving, address: str, problem: str, sentence: str
) -> None:
    receiving.names()
    receiving.writes("oncall", address.replace("FREE", str(free_port())))
    failed = await receiving.fails()
    assert failed.type == problem
    assert failed.message.startswith(sentence)
    assert SECRET not in await stored(failed)


async def test_file_that_is_missing_is_named_and_read_again_later(receiving: Receiving) -> None:
    receiving.names(urlFile="later")
    failed = await receiving.fails()
    assert failed.type == "FileUnreadable"
    assert "the file later in " in failed.message
    assert "No such file or directory" in failed.message
    receiving.writes("later", f"json://127.0.0.1:{receiving.server.port}{HOOK}")
    receiving.answers(OK)
    assert (await receiving.tell()).delivery is Delivery.SENT


async def test_certificate_that_is_not_trusted_is_refused(receiving: Receiving, tmp_path: Path) -> None:
    write_pair(tmp_path / "tls")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "tls" / "tls.crt", tmp_path / "tls" / "tls.key")
    (tmp_path / "other").mkdir()
    async with ApiServer(tmp_path / "other", tls) as other:
        receiving.names()
        receiving.writes("oncall", f"jsons://127.0.0.1:{other.port}{HOOK}")
        failed = await receiving.fails()
    assert (failed.type, failed.message) == ("Rejected", NOT_ACCEPTED)


async def test_receiver_that_the_policy_does_not_name_gets_nothing(receiving: Receiving) -> None:
    receiving.names(name="other")
    assert (await receiving.tell()).delivery is Delivery.NOT_WANTED
    assert not receiving.posts


@pytest.mark.parametrize("is_invalid", [True, False])
async def test_policy_that_cannot_be_read_is_a_failure(receiving: Receiving, is_invalid: bool) -> None:  # noqa: FBT001  a parameter of the test
    if is_invalid:
        receiving.policy(f"notifications: {SECRET}")
    else:
        receiving.server.answer("GET", POLICY, refused(403, "Forbidden"))
    failed = await receiving.fails()
    sentence = INVALID if is_invalid else "the policy cannot be read: Forbidden"
    assert (failed.type, failed.message) == ("PolicyUnread", sentence)
    assert SECRET not in await stored(failed)


def many(number: int) -> list[Notification]:
    return [notification(id=f"n{one}") for one in range(number)]


async def told(receiving: Receiving, number: int) -> list[NotifyResult | BaseException]:
    telling = [receiving.tell(one) for one in many(number)]
    return await asyncio.gather(*telling, return_exceptions=True)


async def test_500_at_once_are_few_requests_and_each_is_told(receiving: Receiving) -> None:
    receiving.names(maxPerMinute=10)
    receiving.answers(OK)
    results = await told(receiving, 500)
    deliveries = [one.delivery for one in results if isinstance(one, NotifyResult)]
    assert (deliveries.count(Delivery.SENT), deliveries.count(Delivery.SUMMARIZED)) == (9, 491)
    *single, summary = [one.body for one in receiving.posts]
    assert [one["title"] for one in single] == [title_of(notification())] * 9
    assert summary["title"] == "A person has to decide: 491 more notifications"


async def test_receiver_that_fails_costs_one_request_for_all_that_wait(receiving: Receiving) -> None:
    receiving.names()
    receiving.answers(hanging)
    results = await told(receiving, 100)
    assert all(isinstance(one, ApplicationError) for one in results)
    assert len(receiving.posts) == 1


async def test_attempt_that_is_over_leaves_the_line(receiving: Receiving) -> None:
    receiving.names()
    receiving.answers(hanging, OK)
    first, second = (asyncio.create_task(receiving.tell(one)) for one in many(2))
    await eventually(lambda: bool(receiving.posts))
    second.cancel()
    with pytest.raises(ApplicationError):
        await first
    with pytest.raises(asyncio.CancelledError):
        await second

    async def is_told() -> bool:  # the thread of the first message ends a moment later
        with suppress(ApplicationError):
            return (await receiving.tell()).delivery is Delivery.SENT
        return False

    await until(is_told, within=2 * WITHIN, otherwise="the receiver gets nothing any more")
    assert len(receiving.posts) == 2


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    return [
        (one.levelname, one.__dict__["receiver"], one.__dict__["problem"])
        for one in caplog.records
        if one.name == "activities.notifications"
    ]


async def test_each_change_of_a_receiver_is_logged_once(
    receiving: Receiving, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    receiving.names()
    receiving.answers(text("", 500), text("", 500), OK)
    for _ in range(2):
        await receiving.fails()
    await receiving.tell()
    assert logged(caplog) == [("WARNING", "oncall", NOT_ACCEPTED), ("INFO", "oncall", "")]


async def test_unreadable_policy_is_logged_once_for_all_receivers_that_callers_make_up(
    receiving: Receiving, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    receiving.policy("notifications: 3")
    for number in range(100):
        await receiving.fails(f"made-up-{number}")
    receiving.names()
    receiving.answers(OK)
    assert (await receiving.tell(receiver="made-up-1")).delivery is Delivery.NOT_WANTED
    assert logged(caplog) == [("WARNING", "*", INVALID), ("INFO", "*", "")]


async def test_problem_of_a_receiver_is_forgotten_with_its_name_in_the_policy(
    receiving: Receiving, caplog: pytest.LogCaptureFixture
) -> None:
    receiving.answers(text("", 500))
    for name in ("oncall", "other", "oncall"):
        receiving.names(name=name)
        await receiving.fails(name)
    assert logged(caplog) == [("WARNING", name, NOT_ACCEPTED) for name in ("oncall", "other", "oncall")]
