"""TraceInterceptor: the tracing interceptor of the Temporal SDK, so that each incident is one trace.

The trace begins with the start of the workflow. A header passes it on to activities and to later runs. A
workflow that was started without traces has none, because each of its activities would be a trace of its own.

Headers come from Temporal, where others can write, and an exception would stop the workflow. So a header that
is not one of a trace is ignored.
"""

import json
from collections.abc import Sequence
from typing import Any

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

LONGEST_HEADER = 1024
"""In bytes. The one of a trace has 80, and up to 512 of its vendor."""


class TraceInterceptor(TracingInterceptor):
    """Makes the spans of client, workflows and activities of one process."""

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
