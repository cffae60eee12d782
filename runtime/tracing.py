"""Tracing: the interceptor of the Temporal SDK, configured by OpenTelemetry's own variables.

Without an endpoint no module of OpenTelemetry is imported, and no header is added to any workflow.
"""

import asyncio
import importlib.metadata
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from threading import Thread

from temporalio.client import Interceptor

from runtime.settings import Settings, SettingsError

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
LAST_BATCH_SECONDS = 2.0
"""The longest time that a process waits at its end for the last spans."""


def is_asked_for(environment: Mapping[str, str]) -> bool:
    """True if there is an endpoint, and nothing turns traces off."""
    is_off = environment.get("OTEL_TRACES_EXPORTER") == "none"
    is_disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return any(environment.get(name) for name in ENDPOINTS) and not is_off and not is_disabled


@asynccontextmanager
async def traced(settings: Settings, service: str) -> AsyncIterator[tuple[Interceptor, ...]]:
    """The interceptors for a client of Temporal, for the time of the block; none without an endpoint.

    Raises:
        SettingsError: the packages are missing, or OpenTelemetry refuses one of its variables.

    """
    if not is_asked_for(os.environ):
        yield ()
        return
    # Only here: without traces, a process does not even load the packages.
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from temporalio.contrib.opentelemetry import TracingInterceptor  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(f"traces need `pip install paramedic[tracing]`: {error}") from error
    # It logs the headers that it cannot read, and these may be a password.
    logging.getLogger("opentelemetry.util.re").setLevel(logging.CRITICAL)
    ours = {
        "service.name": service,
        "service.version": importlib.metadata.version("paramedic"),
        "service.instance.id": settings.identity,
        "k8s.cluster.name": settings.cluster,
    }
    try:
        resource = Resource.create(ours).merge(OTELResourceDetector().detect())  # the environment comes first
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except (ValueError, RuntimeError) as error:
        raise SettingsError(f"a variable of OpenTelemetry cannot be used: {error}") from error
    try:
        yield (TracingInterceptor(provider.get_tracer("paramedic")),)
    finally:
        # A collector that hangs may not delay the end, so the thread is left behind.
        ending = Thread(target=provider.shutdown, daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, LAST_BATCH_SECONDS)
