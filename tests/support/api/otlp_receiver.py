"""A collector of traces on the loopback interface, by OTLP over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from runtime.serving import serve
from tests.support.api.ports import free_port


@dataclass(frozen=True)
class ReceivedSpan:
    service: str
    name: str
    trace: str
    """The trace id, in hexadecimal digits."""
    span: str
    parent: str
    attributes: dict[str, str]


@dataclass(kw_only=True)
class OtlpReceiver:
    """Keeps each span that it receives, and answers while `is_answering` is set."""

    url: str
    spans: list[ReceivedSpan] = field(default_factory=list)
    requests: int = 0
    is_answering: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, request: web.Request) -> web.Response:
        self.requests += 1
        await self.is_answering.wait()
        self.spans += spans_in(ExportTraceServiceRequest.FromString(await request.read()))
        body = ExportTraceServiceResponse().SerializeToString()
        return web.Response(body=body, content_type="application/x-protobuf")


@asynccontextmanager
async def otlp_receiver() -> AsyncIterator[OtlpReceiver]:
    """A receiver that answers; its URL is what OTEL_EXPORTER_OTLP_ENDPOINT takes."""
    address = f"127.0.0.1:{free_port()}"
    receiver = OtlpReceiver(url=f"http://{address}")
    receiver.is_answering.set()
    async with serve(address, [web.post("/v1/traces", receiver.receive)]):
        yield receiver


def spans_in(request: ExportTraceServiceRequest) -> list[ReceivedSpan]:
    found = []
    for of_resource in request.resource_spans:
        resource = {entry.key: entry.value.string_value for entry in of_resource.resource.attributes}
        for of_scope in of_resource.scope_spans:
            found += [
                ReceivedSpan(
                    service=resource["service.name"],
                    name=span.name,
                    trace=span.trace_id.hex(),
                    span=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    attributes={entry.key: entry.value.string_value for entry in span.attributes},
                )
                for span in of_scope.spans
            ]
    return found
