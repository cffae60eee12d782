"""Sends spans to an OpenTelemetry collector, from a thread of its own and in batches.

At most 2,048 spans wait (`OTEL_BSP_MAX_QUEUE_SIZE`); the oldest are dropped while the collector is away. Only
this module imports OpenTelemetry, and `runtime.tracing` imports it only if traces are asked for.
"""

import asyncio
import importlib.metadata
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from threading import Thread
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Tracer, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from temporalio.api.common.v1 import Payload
from temporalio.client import OutboundInterceptor, SignalWorkflowInput
from temporalio.contrib.opentelemetry import TracingInterceptor, TracingWorkflowInboundInterceptor
from temporalio.converter import PayloadConverter
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from health.model.observation import Hold
from runtime.log_lines import incident_keys
from runtime.settings import Settings, SettingsError

CREDENTIAL_PROVIDERS = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER",
)
"""Variables with the name of a plug-in that authenticates; the first takes precedence in the SDK."""
_PLUG_INS = "opentelemetry_otlp_credential_provider"
LONGEST_VALUE = 1000
"""In characters, unless OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT says otherwise: errors quote objects of others."""
LONGEST_HEADER = 1024
"""In bytes. The one of a trace has 80, and up to 512 of its vendor."""
LAST_BATCH_SECONDS = 2.0
"""The longest time that a process waits at its end for the last spans."""
_WORKFLOW_ID = "temporalWorkflowID"
"""The attribute by which the SDK names the workflow in every span."""

_DEFAULT = re.compile(r"[.,]? *(using default|defaulting to).*", re.IGNORECASE | re.DOTALL)
"""Words of OpenTelemetry about a default. We end the process instead."""
_NAMES = {
    "TRACES_SAMPLER_ARG": ("OTEL_TRACES_SAMPLER_ARG",),
    "recognize sampler": ("OTEL_TRACES_SAMPLER",),
    "timeout value": ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"),
    "compression type": ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"),
    "Header format": ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"),
    "resource attribute": ("OTEL_RESOURCE_ATTRIBUTES",),
    "Requested component": CREDENTIAL_PROVIDERS,
    "max_export_batch_size": ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE",),
    "max_queue_size": ("OTEL_BSP_MAX_QUEUE_SIZE",),
    "schedule_delay_millis": ("OTEL_BSP_SCHEDULE_DELAY",),
}
"""Variables by words of OpenTelemetry that do not name them; the first variable with a value is the cause."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def exported_traces(
    settings: Settings, service: str, collector: str
) -> AsyncIterator["TraceInterceptor"]:
    """An interceptor whose spans are sent for the time of the block; OpenTelemetry's variables say where.

    Raises:
        SettingsError: one of these variables cannot be used.

    """
    with _problems() as problems:
        provider = _checked_provider(_resource(settings, service), collector, problems)
        try:
            yield TraceInterceptor(provider.get_tracer("paramedic"))
        finally:
            await _end(provider)


def _checked_provider(resource: Resource, collector: str, problems: "_FirstProblem") -> TracerProvider:
    _check_credential_provider(os.environ)
    try:
        provider = _provider(resource, _ReportedExporter(collector, problems))
    except (ValueError, RuntimeError) as error:  # RuntimeError: a plug-in of another type
        raise SettingsError(_unusable(str(error), os.environ)) from error
    if problems.text:  # the SDK would continue with its default
        raise SettingsError(_unusable(problems.text, os.environ))
    return provider


def _check_credential_provider(environment: Mapping[str, str]) -> None:
    name = next((name for name in CREDENTIAL_PROVIDERS if environment.get(name)), None)
    if name is not None and not importlib.metadata.entry_points(group=_PLUG_INS, name=environment[name]):
        found = environment[name]
        raise SettingsError(f"{name}: must name an installed credential provider of OTLP (found {found!r})")


def _unusable(problem: str, environment: Mapping[str, str]) -> str:
    words = _DEFAULT.sub("", problem).removesuffix(".")
    named = re.search(r"\bOTEL_[A-Z_]+", words)
    unknown = ("a variable of OpenTelemetry",)
    names = (named[0],) if named else next((_NAMES[key] for key in _NAMES if key in words), unknown)
    name = next((name for name in names if environment.get(name)), names[-1])
    return f"{name} cannot be used: {words}"


def _provider(resource: Resource, exporter: SpanExporter) -> TracerProvider:
    longest = SpanLimits().max_attribute_length or LONGEST_VALUE
    limits = SpanLimits(max_attribute_length=longest)
    provider = TracerProvider(resource=resource, span_limits=limits, shutdown_on_exit=False)
    provider.add_span_processor(_IncidentAttributes())
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _resource(settings: Settings, service: str) -> Resource:
    ours = {
        "service.name": service,
        "service.version": importlib.metadata.version("paramedic"),
        "service.instance.id": settings.identity,
        "k8s.cluster.name": settings.cluster,
    }
    return Resource.create(ours).merge(OTELResourceDetector().detect())  # the environment takes precedence


async def _end(provider: TracerProvider) -> None:
    """Send the last batch; a collector that hangs may not delay the end, so the thread is left behind."""
    ending = Thread(target=provider.shutdown, daemon=True)
    ending.start()
    await asyncio.to_thread(ending.join, LAST_BATCH_SECONDS)


class _IncidentAttributes(SpanProcessor):
    """Adds check and target of an incident to each of its spans, by the id of its workflow."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        del parent_context
        workflow_id = (span.attributes or {}).get(_WORKFLOW_ID)
        if isinstance(workflow_id, str):
            keys = incident_keys(workflow_id)
            span.set_attributes({f"paramedic.{key}": keys[key] for key in ("check", "target") if key in keys})


class _ReportedExporter(SpanExporter):
    """Logs once when spans stop arriving, and once when they arrive again; the SDK logs each attempt."""

    def __init__(self, collector: str, problems: "_FirstProblem") -> None:
        self._collector = collector
        self._problems = problems
        self._exporter = OTLPSpanExporter()
        self._is_failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._problems.text = ""
        result = self._exporter.export(spans)
        is_failing = result is not SpanExportResult.SUCCESS
        if is_failing is not self._is_failing:
            self._is_failing = is_failing
            self._report()
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # the SDK has no annotation there

    def _report(self) -> None:
        if self._is_failing:
            problem = {"collector": self._collector, "problem": self._problems.text}
            _log.warning("the collector takes no traces", extra=problem)
        else:
            _log.info("the collector takes traces again", extra={"collector": self._collector})


class _FirstProblem(logging.Handler):
    """Remembers the first warning of OpenTelemetry, which has the cause, and no password."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        # The parser of OTEL_EXPORTER_OTLP_HEADERS logs what it cannot read, and that may be a password.
        is_secret = record.name == "opentelemetry.util.re"
        text = str(record.msg).removesuffix(": %s") if is_secret else record.getMessage()
        self.text = self.text or text


@contextmanager
def _problems() -> Iterator[_FirstProblem]:
    """Keep what OpenTelemetry logs out of our log for the time of the block."""
    logger, problems = logging.getLogger("opentelemetry"), _FirstProblem()
    logger.addHandler(problems)
    logger.propagate = False
    try:
        yield problems
    finally:
        logger.propagate = True
        logger.removeHandler(problems)


class TraceInterceptor(TracingInterceptor):
    """Makes the spans of client, workflows and activities of one process, so that each incident is one trace.

    The trace begins with the start of the workflow. A header passes it on to activities and to later runs. A
    workflow that was started without traces has none, because each of its activities would be a trace of its
    own.

    Headers come from Temporal, where others can write, and an exception would stop the workflow. So a header
    that is not one of a trace is ignored.
    """

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(tracer)
        self.text_map_propagator = TraceContextTextMapPropagator()
        self.payload_converter = HeaderConverter()

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:  # noqa: A002  the SDK names it
        return _Client(super().intercept_client(next), untraced=next)

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002  as above
        traced = super().intercept_activity(_HoldOfSpan(next))
        return _Activity(traced, self.header_key, untraced=next)

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002  as above
    ) -> type[TracingWorkflowInboundInterceptor]:
        super().workflow_interceptor_class(input)  # registers what the class calls outside of the sandbox
        return _Workflow


class HeaderConverter(PayloadConverter):
    """Converts the header of a trace, and any other header to an empty one."""

    def to_payloads(self, values: Sequence[Any]) -> list[Payload]:
        return PayloadConverter.default.to_payloads(values)

    def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
        del type_hints  # the SDK gives none
        return [_fields(payload) for payload in payloads]


def _fields(header: Payload) -> dict[str, str]:
    if len(header.data) > LONGEST_HEADER:
        return {}
    try:
        fields = json.loads(header.data)
    except (ValueError, RecursionError):
        return {}
    is_usable = isinstance(fields, dict) and all(isinstance(value, str) for value in fields.values())
    return fields if is_usable else {}


class _Client(OutboundInterceptor):
    def __init__(self, traced: OutboundInterceptor, *, untraced: OutboundInterceptor) -> None:
        super().__init__(traced)
        self._untraced = untraced

    async def signal_workflow(self, input: SignalWorkflowInput) -> None:  # noqa: A002  as above
        """Send it without a header outside of a trace: the incident has a span of its own for each wake."""
        is_in_a_trace = get_current_span().get_span_context().is_valid
        await (self.next if is_in_a_trace else self._untraced).signal_workflow(input)


class _Activity(ActivityInboundInterceptor):
    def __init__(
        self, traced: ActivityInboundInterceptor, header_key: str, *, untraced: ActivityInboundInterceptor
    ) -> None:
        super().__init__(traced)
        self._header_key = header_key
        self._untraced = untraced

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002, ANN401  as the SDK says
        is_in_a_trace = self._header_key in input.headers
        return await (self.next if is_in_a_trace else self._untraced).execute_activity(input)


class _HoldOfSpan(ActivityInboundInterceptor):
    """Says in the span of a question or an act why nothing is done."""

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002, ANN401  as the SDK says
        result = await super().execute_activity(input)
        hold = getattr(result, "hold", None)
        if isinstance(hold, Hold):
            reason = {"paramedic.hold": hold.reason, "paramedic.hold_message": hold.message}
            get_current_span().set_attributes(reason)
        return result


class _Workflow(TracingWorkflowInboundInterceptor):
    def __init__(self, next: WorkflowInboundInterceptor) -> None:  # noqa: A002  as above
        super().__init__(next)
        self.text_map_propagator = TraceContextTextMapPropagator()
        self.payload_converter = HeaderConverter()
