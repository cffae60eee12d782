"""Tracing: whether the environment asks for traces, and the interceptors of Temporal that make them.

The variables are those of OpenTelemetry. Without an endpoint no module of OpenTelemetry is imported, and no
header is added to any workflow.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from temporalio.client import Interceptor

from runtime.settings import Settings, SettingsError

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Variables with the address of the collector; the first takes precedence, as OpenTelemetry defines it."""
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL = "http/protobuf"
EXPORTER = "OTEL_TRACES_EXPORTER"
DISABLED = "OTEL_SDK_DISABLED"
KEY, CERTIFICATE = "CLIENT_KEY", "CLIENT_CERTIFICATE"
FILES = ("CERTIFICATE", KEY, CERTIFICATE)
"""The ends of the names of variables with the path of a file."""


@asynccontextmanager
async def traced(settings: Settings, service: str) -> AsyncIterator[tuple[Interceptor, ...]]:
    """The interceptors for a client of Temporal, for the time of the block; none without an endpoint.

    Raises:
        SettingsError: a variable of OpenTelemetry cannot be used.

    """
    name = endpoint_variable(os.environ)
    if name is None:
        yield ()
        return
    try:
        # Only here: without traces, a process does not even load the packages.
        from runtime.trace_export import exported_traces  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(f"{name}: traces need `pip install paramedic[tracing]`: {error}") from error
    async with exported_traces(settings, service, collector(os.environ[name])) as interceptor:
        yield (interceptor,)


def endpoint_variable(environment: Mapping[str, str]) -> str | None:
    """The name of the variable with the address of the collector; None: no traces are made.

    Raises:
        SettingsError: the variables ask for traces that we cannot send.

    """
    name = next((name for name in ENDPOINTS if environment.get(name)), None)
    exporter = environment.get(EXPORTER) or "otlp"
    if name is None or exporter == "none" or _is_disabled(environment):
        return None
    if exporter != "otlp":
        raise SettingsError(f"{EXPORTER}: must be otlp or none (found {exporter!r})")
    _check_protocol(environment)
    _check_files(environment)
    _check_url(name, environment[name])
    return name


def _is_disabled(environment: Mapping[str, str]) -> bool:
    """OpenTelemetry takes every other value as false; an operator who writes `yes` means the opposite."""
    value = environment.get(DISABLED, "").strip().lower()
    if value not in ("true", "false", ""):
        raise SettingsError(f"{DISABLED}: must be true or false (found {environment[DISABLED]!r})")
    return value == "true"


def collector(url: str) -> str:
    """`host` or `host:port` of the URL, without credentials.

    Raises:
        ValueError: it is no URL, or its port is no number up to 65535.

    """
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else f"{parts.hostname}"


def _check_url(name: str, url: str) -> None:
    """Without the value in the error, because it may have a password."""
    if not _has_host(url):
        raise SettingsError(f"{name}: must be an http:// or https:// URL with a host")
    try:
        collector(url)
    except ValueError as error:
        raise SettingsError(f"{name}: the port of the URL must be a number up to 65535") from error


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _check_protocol(environment: Mapping[str, str]) -> None:
    name = next((name for name in PROTOCOLS if environment.get(name)), None)
    if name is not None and environment[name] != PROTOCOL:
        found = environment[name]
        raise SettingsError(f"{name}: must be {PROTOCOL}, usually at port 4318 (found {found!r})")


def _check_files(environment: Mapping[str, str]) -> None:
    """OpenTelemetry opens them only when it sends spans, and each attempt would fail."""
    names = {end: _file_variable(environment, end) for end in FILES}
    for name in filter(None, names.values()):
        _check_file(name, Path(environment[name]))
    key = names[KEY]
    if key is not None and names[CERTIFICATE] is None:  # OpenTelemetry would ignore the key
        needed = key.replace(KEY, CERTIFICATE)
        raise SettingsError(f"{key}: is set without the certificate of the client, which {needed} names")


def _file_variable(environment: Mapping[str, str], end: str) -> str | None:
    names = (f"OTEL_EXPORTER_OTLP_TRACES_{end}", f"OTEL_EXPORTER_OTLP_{end}")
    return next((name for name in names if environment.get(name)), None)


def _check_file(name: str, path: Path) -> None:
    try:
        with path.open("rb"):
            return
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise SettingsError(f"{name}: the file {str(path)!r} cannot be read: {why}") from error
