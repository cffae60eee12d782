"""Traces are optional, come from OpenTelemetry's variables, and never delay the process that makes them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from temporalio.contrib.opentelemetry import TracingInterceptor

from runtime.connections import is_asked_for, traced
from runtime.settings import Settings, SettingsError
from tests.support.api.eventually import eventually
from tests.support.api.otlp_receiver import OtlpReceiver, otlp_receiver

SETTINGS = Settings(cluster="a")
ENDPOINT, OF_TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
THERE = {ENDPOINT: "http://collector:4318"}


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OtlpReceiver]:
    async with otlp_receiver() as running:
        monkeypatch.setenv(ENDPOINT, running.url)
        yield running


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({ENDPOINT: ""}, False),
        (THERE, True),
        ({OF_TRACES: "https://other/v1/traces"}, True),
        (THERE | {"OTEL_TRACES_EXPORTER": "none"}, False),
        (THERE | {"OTEL_SDK_DISABLED": " True"}, False),
        (THERE | {"OTEL_SDK_DISABLED": "FALSE"}, True),
    ],
)
def test_traces_are_made_if_there_is_an_endpoint_and_nothing_turns_them_off(
    environment: Mapping[str, str], *, expected: bool
) -> None:
    assert is_asked_for(environment) is expected


async def test_without_an_endpoint_there_is_no_interceptor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENDPOINT, raising=False)
    async with traced(SETTINGS, "paramedic-worker") as interceptors:
        assert interceptors == ()


async def test_value_that_opentelemetry_refuses_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, THERE[ENDPOINT])
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-4")
    with pytest.raises(SettingsError, match="max_queue_size must be a positive integer"):
        async with traced(SETTINGS, "paramedic-worker"):
            pass


async def test_log_shows_no_header_that_cannot_be_read(
    receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "password")
    async with traced(SETTINGS, "paramedic-worker"):
        assert receiver.requests == 0
    assert "password" not in caplog.text


async def test_environment_renames_a_service_and_spans_are_sent_at_the_end(
    receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "ours")
    async with traced(SETTINGS, "paramedic-worker") as interceptors:
        end_spans(interceptors, 1)
    assert [(span.service, span.name) for span in receiver.spans] == [("ours", "span")]


async def test_collector_that_hangs_delays_neither_a_span_nor_the_end_of_the_process(
    receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "20")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    receiver.is_answering.clear()
    async with asyncio.timeout(8):  # the exporter alone would wait for ten seconds
        async with traced(SETTINGS, "paramedic-worker") as interceptors:
            end_spans(interceptors, 10)
            await eventually(lambda: receiver.requests)
            end_spans(interceptors, 1000)
    receiver.is_answering.set()


def end_spans(interceptors: tuple[Any, ...], number: int) -> None:
    (interceptor,) = interceptors
    assert isinstance(interceptor, TracingInterceptor)
    for _ in range(number):
        interceptor.tracer.start_span("span").end()
