"""Traces are optional, come from OpenTelemetry's variables, and never delay the process that makes them."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import Tracer
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadConverter
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from runtime.settings import Settings, SettingsError
from runtime.trace_export import (
    CREDENTIAL_PROVIDERS,
    LONGEST_HEADER,
    HeaderConverter,
    TraceInterceptor,
)
from runtime.tracing import collector, endpoint_variable, traced
from tests.support.api.eventually import eventually
from tests.support.api.otlp_receiver import OtlpReceiver, otlp_receiver

SETTINGS = Settings(cluster="a")
ENDPOINT, OF_TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
THERE = {ENDPOINT: "http://collector:4318"}
TRACE_PARENT = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OtlpReceiver]:
    async with otlp_receiver() as running:
        monkeypatch.setenv(ENDPOINT, running.url)
        yield running


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ({}, None),
        ({ENDPOINT: ""}, None),
        (THERE, ENDPOINT),
        (THERE | {OF_TRACES: "https://other/v1/traces"}, OF_TRACES),
        (THERE | {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, ENDPOINT),
        (THERE | {"OTEL_TRACES_EXPORTER": "none"}, None),
        (THERE | {"OTEL_SDK_DISABLED": " True"}, None),
        (THERE | {"OTEL_SDK_DISABLED": "FALSE"}, ENDPOINT),
        ({"OTEL_SDK_DISABLED": "yes"}, None),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, None),
    ],
)
def test_traces_are_made_if_there_is_an_endpoint_and_nothing_turns_them_off(
    environment: Mapping[str, str], variable: str | None
) -> None:
    assert endpoint_variable(environment) == variable


@pytest.mark.parametrize(
    ("environment", "error"),
    [
        ({ENDPOINT: "collector:4318"}, f"{ENDPOINT}: must be an http:// or https:// URL with a host"),
        ({ENDPOINT: "http://[::1"}, f"{ENDPOINT}: must be an http:// or https:// URL with a host"),
        ({ENDPOINT: "http://a:99999"}, f"{ENDPOINT}: the port of the URL must be a number up to 65535"),
        ({OF_TRACES: "http://a:http"}, f"{OF_TRACES}: the port of the URL must be a number up to 65535"),
        (
            THERE | {"OTEL_SDK_DISABLED": "yes"},
            "OTEL_SDK_DISABLED: must be true or false (found 'yes')",
        ),
        (
            THERE | {"OTEL_TRACES_EXPORTER": "zipkin"},
            "OTEL_TRACES_EXPORTER: must be otlp or none (found 'zipkin')",
        ),
        (
            THERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf, usually at port 4318 (found 'grpc')",
        ),
    ],
)
def test_variable_that_asks_for_traces_we_cannot_send_is_refused(
    environment: Mapping[str, str], error: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        endpoint_variable(environment)
    assert str(raised.value) == error


@pytest.mark.parametrize("end", ["CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE"])
def test_variable_with_a_file_that_cannot_be_read_is_refused(end: str, tmp_path: Path) -> None:
    general, of_traces = f"OTEL_EXPORTER_OTLP_{end}", f"OTEL_EXPORTER_OTLP_TRACES_{end}"
    readable, absent = tmp_path / "there.pem", tmp_path / "absent.pem"
    readable.touch()
    certified = THERE | {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(readable)}
    assert endpoint_variable(certified | {general: str(absent), of_traces: str(readable)}) == ENDPOINT
    for name, path, why in (
        (general, absent, "No such file or directory"),
        (of_traces, tmp_path, "Is a directory"),
    ):
        with pytest.raises(SettingsError) as raised:
            endpoint_variable(THERE | {name: str(path)})
        assert str(raised.value) == f"{name}: the file {str(path)!r} cannot be read: {why}"


@pytest.mark.parametrize("of", ["OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"])
def test_client_key_without_a_client_certificate_is_refused(of: str, tmp_path: Path) -> None:
    file = tmp_path / "client.pem"
    file.touch()
    key = {f"{of}CLIENT_KEY": str(file)}
    assert endpoint_variable(THERE | key | {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(file)}) == ENDPOINT
    with pytest.raises(SettingsError) as raised:
        endpoint_variable(THERE | key | {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(file)})
    assert str(raised.value) == (
        f"{of}CLIENT_KEY: is set without the certificate of the client, which {of}CLIENT_CERTIFICATE names"
    )


@pytest.mark.parametrize("name", CREDENTIAL_PROVIDERS)
async def test_unknown_credential_provider_ends_the_process(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "ours")
    words = "must name an installed credential provider of OTLP (found 'ours')"
    assert await refusal(monkeypatch) == f"{name}: {words}"


async def test_credential_provider_of_another_type_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ours-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1.0\n")
    group = "opentelemetry_otlp_credential_provider"
    (package / "entry_points.txt").write_text(f"[{group}]\nours = builtins:dict\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(CREDENTIAL_PROVIDERS[1], "ours")
    words = "cannot be used: Requested component 'ours' is of type <class 'dict'>"
    assert (await refusal(monkeypatch)).startswith(f"{CREDENTIAL_PROVIDERS[1]} {words}")


def test_name_of_a_collector_has_no_credentials() -> None:
    assert collector("https://user:password@collector:4318/v1/traces") == "collector:4318"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "Invalid timeout value 'soon'"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip", "Unsupported compression type: zip"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "many", "Unable to parse value for OTEL_BSP_MAX_QUEUE_SIZE as integer"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-4", "max_queue_size must be a positive integer"),
        ("OTEL_BSP_SCHEDULE_DELAY", "0", "schedule_delay_millis must be positive"),
        ("OTEL_TRACES_SAMPLER", "some", "Couldn't recognize sampler some"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team", "Invalid key value resource attribute pair team: .*"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "password", "Header format invalid! .*"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "password", "Header format invalid! .*"),
    ],
)
async def test_variable_that_opentelemetry_cannot_read_ends_the_process_and_shows_no_password(
    name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    error = await refusal(monkeypatch)
    assert re.fullmatch(f"{name} cannot be used: {words}", error)
    assert "password" not in error


@pytest.mark.parametrize("ratio", ["half", ""])
async def test_error_about_the_ratio_of_the_sampler_names_its_variable_and_no_default(
    ratio: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", ratio)
    words = "Could not convert TRACES_SAMPLER_ARG to float"
    assert await refusal(monkeypatch) == f"OTEL_TRACES_SAMPLER_ARG cannot be used: {words}"


async def refusal(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(ENDPOINT, THERE[ENDPOINT])
    with pytest.raises(SettingsError) as raised:
        async with traced(SETTINGS, "paramedic-worker"):
            pass
    return str(raised.value)


async def test_environment_renames_a_service_and_spans_are_sent_at_the_end(
    receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "ours")
    async with traced(SETTINGS, "paramedic-worker") as interceptors:
        end_spans(tracer_of(interceptors), 1)
    assert [(span.service, span.name) for span in receiver.spans] == [("ours", "span")]


async def test_collector_that_hangs_delays_nothing_and_the_oldest_spans_are_dropped(
    receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "20")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    receiver.is_answering.clear()
    async with traced(SETTINGS, "paramedic-worker") as interceptors:
        end_spans(tracer_of(interceptors), 10)
        await eventually(lambda: receiver.requests)
        end_spans(tracer_of(interceptors), 1000)  # in this thread, so the receiver cannot answer meanwhile
        receiver.is_answering.set()
        await eventually(lambda: len(receiver.spans) == 30)


async def test_process_ends_although_the_collector_hangs(receiver: OtlpReceiver) -> None:
    receiver.is_answering.clear()
    async with asyncio.timeout(8):  # the exporter alone would wait for ten seconds
        async with traced(SETTINGS, "paramedic-worker") as interceptors:
            end_spans(tracer_of(interceptors), 1)
    receiver.is_answering.set()


async def test_outage_of_the_collector_is_logged_once_and_so_is_its_end(
    receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
    receiver.status = 400
    async with traced(SETTINGS, "paramedic-worker") as interceptors:
        for requests in (1, 2):
            end_spans(tracer_of(interceptors), 1)
            await eventually(lambda: receiver.requests == requests)  # noqa: B023  awaited in this pass
        await eventually(lambda: caplog.records)
        receiver.status = 200
        end_spans(tracer_of(interceptors), 1)
        await eventually(lambda: len(caplog.records) == 2)
    lost, found = caplog.records
    assert (lost.message, found.message) == (
        "the collector takes no traces",
        "the collector takes traces again",
    )
    assert "400" in vars(lost)["problem"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no JSON",
        b"[" * LONGEST_HEADER,
        b'["traceparent"]',
        b'{"traceparent": 1}',
        b'"' + b"a" * LONGEST_HEADER + b'"',
        b"\xff",
    ],
)
def test_header_that_is_not_one_of_a_trace_is_ignored(data: bytes) -> None:
    assert HeaderConverter().from_payloads([Payload(data=data)]) == [{}]


def test_header_of_a_trace_is_read() -> None:
    written = HeaderConverter().to_payloads([TRACE_PARENT])
    assert HeaderConverter().from_payloads(written) == [TRACE_PARENT]
    assert PayloadConverter.default.from_payloads(written) == [TRACE_PARENT]


class Served(ActivityInboundInterceptor):
    def __init__(self) -> None:
        self.inputs: list[ExecuteActivityInput] = []

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002  the SDK names it
        self.inputs.append(input)


async def test_activity_of_a_workflow_without_a_trace_begins_none(receiver: OtlpReceiver) -> None:
    served, executor = Served(), None
    async with traced(SETTINGS, "paramedic-worker") as interceptors:
        activity = interceptor_of(interceptors).intercept_activity(served)
        await activity.execute_activity(ExecuteActivityInput(fn=str, args=[], executor=executor, headers={}))
    assert len(served.inputs) == 1
    assert receiver.requests == 0


def interceptor_of(interceptors: tuple[Any, ...]) -> TraceInterceptor:
    (interceptor,) = interceptors
    assert isinstance(interceptor, TraceInterceptor)
    return interceptor


def tracer_of(interceptors: tuple[Any, ...]) -> Tracer:
    return interceptor_of(interceptors).tracer


def end_spans(tracer: Tracer, number: int) -> None:
    for _ in range(number):
        tracer.start_span("span").end()
