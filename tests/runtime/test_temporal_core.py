"""The core of the SDK: its metrics beside ours, and its logs."""

import asyncio
import re
import socket
from datetime import timedelta
from uuid import uuid4

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Gauge
from temporalio import activity, workflow
from temporalio.runtime import Runtime
from temporalio.service import RPCError
from temporalio.worker import Worker

from devcluster.manifests import ROOT
from devcluster.temporal import TemporalServer
from runtime import exposition as module
from runtime.exposition import LARGEST_TEXT, TemporalCore, metrics_route, temporal_core
from runtime.serving import serve
from runtime.temporal import connect
from tests.support.api.ports import free_port
from tests.support.api.tcp_proxy import TcpProxy
from tests.support.temporal_metrics import TEMPORAL_LABELS, TEMPORAL_SERIES
from tests.support.values.metric_samples import samples_in, series


async def scraped(core: TemporalCore) -> str:
    registry, address = CollectorRegistry(), f"127.0.0.1:{free_port()}"
    Gauge("depth", "How deep.", registry=registry).set(7)
    async with (
        serve(address, [metrics_route(registry, core.metrics)]),
        aiohttp.ClientSession(f"http://{address}") as session,
        session.get("/metrics") as answer,
    ):
        return await answer.text()


@activity.defn(name="nothing")
async def nothing() -> None:
    """An activity for the metrics of activities."""


@workflow.defn(name="Nothing", sandboxed=False)
class Nothing:
    """A workflow for the metrics of workflows."""

    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(nothing, start_to_close_timeout=timedelta(seconds=10))


async def test_sdk_exports_every_series_that_the_dashboard_and_the_page_name(
    temporal_server: TemporalServer,
) -> None:
    core, queue = temporal_core(), "metrics"
    environment = {"TEMPORAL_ADDRESS": temporal_server.address, "TEMPORAL_NAMESPACE": "default"}
    client = await connect(environment=environment, runtime=core.runtime)
    async with Worker(client, task_queue=queue, workflows=[Nothing], activities=[nothing]):
        await client.execute_workflow(Nothing.run, id=f"nothing-{uuid4()}", task_queue=queue)
        with pytest.raises(RPCError):
            await client.get_workflow_handle("none").describe()
        names, labels = set(), set()
        for name, pairs in samples_in(await scraped(core)):
            names.add(name.removesuffix("_bucket"))
            labels |= {label for label, _ in pairs}
    assert names >= TEMPORAL_SERIES
    assert labels >= TEMPORAL_LABELS
    on_page = re.findall(r"`(temporal_\w+)`", (ROOT / "docs" / "metrics.md").read_text())
    assert set(on_page) == TEMPORAL_SERIES


async def test_metrics_of_the_sdk_follow_ours(temporal_server: TemporalServer) -> None:
    core = temporal_core()
    environment = {"TEMPORAL_ADDRESS": temporal_server.address, "TEMPORAL_NAMESPACE": "default"}
    client = await connect(environment=environment, runtime=core.runtime)
    await client.count_workflows("")
    samples = samples_in(await scraped(core))
    assert samples[series("depth")] == 7
    calls = {dict(labels)["operation"] for name, labels in samples if name == "temporal_request_total"}
    assert "CountWorkflowExecutions" in calls


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n" + b"x 1\n" * (LARGEST_TEXT // 4 + 1)])
async def test_scrape_has_our_metrics_if_the_core_ends_or_says_too_much(
    answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(answering, "127.0.0.1", 0) as server:
        core = TemporalCore(Runtime.default(), server.sockets[0].getsockname()[1])
        assert samples_in(await scraped(core)) == {series("depth"): 7}
    assert "no metrics of the Temporal SDK" in caplog.text


def test_port_that_another_process_takes_meanwhile_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ports = iter([server.getsockname()[1], free := free_port()])
        monkeypatch.setattr(module, "_free_port", lambda: next(ports))
        assert temporal_core().port == free


async def test_calls_that_are_tried_again_are_no_lines_of_a_log(
    temporal_server: TemporalServer, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with TcpProxy(f"//{temporal_server.address}") as proxy:
        address = {"TEMPORAL_ADDRESS": proxy.address, "TEMPORAL_NAMESPACE": temporal_server.namespace}
        client = await connect(environment=address, runtime=temporal_core().runtime)
    with pytest.raises(RPCError):
        await client.count_workflows("")  # tried again for ten seconds
    assert "".join(capfd.readouterr()) == ""
    assert caplog.text == ""
