"""A Temporal that is away is told once per outage, in one sentence with its address."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from devcluster.temporal import temporal_server
from runtime import search_attributes
from runtime.insisting import one_sentence
from runtime.problems import Problems
from runtime.settings import SettingsError
from runtime.temporal import connect, connect_insisting, watch_temporal
from runtime.temporal_trouble import TemporalUnreachable, unconnected
from tests.kube.eventually import eventually
from tests.ports import free_port

OPENING = "Failed client connect: Server connection error: tonic::transport::Error(Transport, "
INVALID = f"{OPENING}ConnectError(Custom {{ kind: InvalidData, error: "
NO_TLS_THERE = f"{INVALID}InvalidMessage(InvalidContentType) }}))"
UNTRUSTED = f"{INVALID}InvalidCertificate(UnknownIssuer) }}))"
TLS_THERE = (
    "Failed client connect: `get_system_info` call error after connection: Status { code: Unknown, message: "
    '"transport error", source: Some(tonic::transport::Error(Transport, hyper::Error(Io, Custom { kind: '
    'BrokenPipe, error: "stream closed because of a broken pipe" }))) }'
)
CORE_SAYS = [
    (NO_TLS_THERE, "it speaks no TLS"),
    (UNTRUSTED, "its certificate is not trusted (UnknownIssuer)"),
    (TLS_THERE, "stream closed because of a broken pipe"),
    (f"{OPENING}PrivateKeyParseError)", "the connection failed"),
]


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """What was logged as a problem, by part."""
    records = [record.__dict__ for record in caplog.records if record.levelno == logging.WARNING]
    return [(record["part"], record["problem"]) for record in records if "problem" in record]


@pytest.mark.parametrize(("said", "reason"), CORE_SAYS)
def test_debugging_output_of_the_core_is_told_in_words(said: str, reason: str) -> None:
    assert str(unconnected("a:1", RuntimeError(said))) == f"Temporal at a:1 cannot be reached: {reason}"


async def test_temporal_that_is_not_there_is_told_once_and_each_cause_at_debug_level(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("TEMPORAL_ADDRESS", address)
    caplog.set_level(logging.DEBUG, "runtime")
    connecting = asyncio.create_task(connect_insisting("a process", Problems(), None))

    def causes() -> list[str]:
        return [record.exc_text or "" for record in caplog.records if record.message == "attempt failed"]

    await eventually(lambda: len(causes()) > 1, 20)
    connecting.cancel()
    assert warnings_in(caplog) == [
        ("temporal", f"Temporal at {address} cannot be reached: Connection refused")
    ]
    logged = next(record for record in caplog.records if record.message == "attempt failed")
    assert logged.exc_info is not None
    assert "tonic::transport::Error" in str(logged.exc_info[1].__cause__ if logged.exc_info[1] else "")


async def test_temporal_that_goes_away_is_told_once_and_not_as_a_problem_of_its_namespace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    problems = Problems()
    async with temporal_server(tmp_path) as server:
        client = await Client.connect(server.address, namespace=server.namespace)
        await search_attributes.register(client, server.namespace)
        watching = asyncio.create_task(watch_temporal(client, problems))
        await asyncio.sleep(0)
        assert not problems.sentences
    await eventually(lambda: bool(problems.sentences), 20)
    assert problems.sentences == (f"temporal: Temporal at {server.address} does not answer",)
    assert warnings_in(caplog) == [("temporal", f"Temporal at {server.address} does not answer")]
    with pytest.raises(RPCError) as failed:
        await client.count_workflows("")
    assert one_sentence(failed.value) == "Temporal does not answer"  # as other parts tell it
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching


async def test_something_that_takes_connections_and_says_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("runtime.temporal.CONNECT_SECONDS", 0.3)
    listening = asyncio.Event()

    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await listening.wait()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises(TemporalUnreachable) as failed:
        await connect(environment={"TEMPORAL_ADDRESS": address})
    assert str(failed.value) == f"Temporal at {address} cannot be reached: no answer within 0.3 s"
    listening.set()
    server.close()


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"TEMPORAL_ADDRESS": "not an address"}, "Temporal's address 'not an address' cannot be used: "),
        ({"TEMPORAL_PROFILE": "there"}, "Temporal's configuration cannot be used: Profile 'there' not found"),
        (
            {"TEMPORAL_TLS_SERVER_CA_CERT_PATH": "/nowhere/ca.pem"},
            "Temporal's configuration cannot be used: /nowhere/ca.pem: No such file or directory",
        ),
    ],
)
async def test_settings_of_temporal_that_cannot_be_used_are_no_outage(
    environment: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        await connect(environment=environment)
    assert str(refused.value).startswith(sentence)
