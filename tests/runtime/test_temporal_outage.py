"""An unreachable Temporal server is reported in one sentence with its address."""

import asyncio

import pytest
from temporalio.api.workflowservice.v1 import CountWorkflowExecutionsRequest
from temporalio.service import RPCError, RPCStatusCode

from runtime.problems import one_sentence
from runtime.temporal import connect
from runtime.temporal_trouble import (
    Fault,
    TemporalRefuses,
    TemporalUnreachable,
    is_silence,
    setting_at_fault,
    unconnected,
)
from tests.support.api.grpc_server import OK, GrpcServer, Headers, status

OPENING = "Failed client connect: Server connection error: tonic::transport::Error(Transport, "
INVALID = f"{OPENING}ConnectError(Custom {{ kind: InvalidData, error: "
NO_TLS_THERE = f"{INVALID}InvalidMessage(InvalidContentType) }}))"
UNTRUSTED = f"{INVALID}InvalidCertificate(UnknownIssuer) }}))"
OF_AN_AUTHORITY = f"{INVALID}InvalidCertificate(Other(OtherError(CaUsedAsEndEntity))) }}))"
TLS_THERE = (
    "Failed client connect: `get_system_info` call error after connection: Status { code: Unknown, message: "
    '"transport error", source: Some(tonic::transport::Error(Transport, hyper::Error(Io, Custom { kind: '
    'BrokenPipe, error: "stream closed because of a broken pipe" }))) }'
)
CORE_SAYS = [
    (NO_TLS_THERE, "it speaks no TLS"),
    (UNTRUSTED, "its certificate is not trusted (UnknownIssuer)"),
    (OF_AN_AUTHORITY, "its certificate is not trusted (it is one of an authority, CaUsedAsEndEntity)"),
    (TLS_THERE, "stream closed because of a broken pipe"),
    (f"{OPENING}SomethingNew)", "the connection failed"),
]
FAULTS = [
    (f"{OPENING}NoCertificatesPresented)", Fault("TEMPORAL_TLS_CLIENT_CERT", "holds no certificate")),
    (
        f"{OPENING}InvalidCertificate(BadEncoding))",
        Fault("TEMPORAL_TLS_CLIENT_CERT", "holds a certificate that is spoilt"),
    ),
    (
        f"{OPENING}InconsistentKeys(KeyMismatch))",
        Fault("TEMPORAL_TLS_CLIENT_KEY", "holds a private key that is not that of the client certificate"),
    ),
    (
        (
            "Failed client connect: Invalid headers: Invalid ASCII header value for key 'x-y': "
            "failed to parse metadata value"
        ),
        Fault("TEMPORAL_GRPC_META_X_Y", "cannot be sent as a header"),
    ),
    (UNTRUSTED, None),
    (NO_TLS_THERE, None),
]


@pytest.mark.parametrize(("said", "reason"), CORE_SAYS)
def test_debugging_output_of_the_core_becomes_words(said: str, reason: str) -> None:
    assert str(unconnected("a:1", RuntimeError(said))) == f"Temporal at a:1 cannot be reached: {reason}"


ANSWERS = [
    pytest.param(
        status(7, "Request unauthorized."), "PermissionDenied: Request unauthorized.", id="no right"
    ),
    pytest.param(status(16, "token expired"), "Unauthenticated: token expired", id="no credentials"),
    pytest.param(
        status(5, "Namespace x is not found."), "NotFound: Namespace x is not found.", id="namespace"
    ),
    pytest.param(status(8, "rate limit"), "ResourceExhausted: rate limit", id="too busy"),
    pytest.param(status(14, "Not enough hosts"), "Unavailable: Not enough hosts", id="not ready"),
    pytest.param(status(14), "Unavailable", id="no message"),
    pytest.param(status(2, "pq: too many clients"), "Unknown: pq: too many clients", id="its database"),
    pytest.param(
        status(14, "connection error: desc = dial"), "Unavailable: connection error: desc = dial", id="inside"
    ),
    pytest.param(
        status(4, "context deadline exceeded"), "DeadlineExceeded: context deadline exceeded", id="too slow"
    ),
]


@pytest.mark.parametrize(("answer", "words"), ANSWERS)
async def test_temporal_that_answers_with_an_error_is_not_called_silent(answer: Headers, words: str) -> None:
    async with GrpcServer(answer) as server:
        environment = {"TEMPORAL_ADDRESS": server.address}
        with pytest.raises(TemporalRefuses) as failed:
            await connect(environment=environment)
        assert str(failed.value) == f"Temporal at {server.address} answers {words}"

        server.answer = OK
        client = await connect(environment=environment)
        server.answer = answer
        with pytest.raises(RPCError) as refused:
            await client.workflow_service.count_workflow_executions(CountWorkflowExecutionsRequest())
        assert not is_silence(refused.value)
        assert one_sentence(refused.value) == words


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (RPCStatusCode.UNAVAILABLE, "tcp connect error"),
        (RPCStatusCode.UNKNOWN, "transport error"),
        (RPCStatusCode.CANCELLED, "Timeout expired"),
        (RPCStatusCode.INTERNAL, "h2 protocol error: http2 error"),
    ],
)
def test_call_that_failed_with_its_connection_has_no_answer(code: RPCStatusCode, message: str) -> None:
    assert is_silence(RPCError(message, code, b""))


@pytest.mark.parametrize(("said", "fault"), FAULTS)
def test_error_of_the_core_names_a_setting(said: str, fault: Fault | None) -> None:
    assert setting_at_fault(RuntimeError(said)) == fault


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
