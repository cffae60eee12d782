"""TemporalLink: a process without Temporal, and a Temporal that goes away, told once per outage."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio import activity
from temporalio.api.workflowservice.v1 import CountWorkflowExecutionsRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from devcluster import temporal
from devcluster.layout import Layout
from devcluster.supervisor import Supervisor
from devcluster.temporal import TemporalServer
from runtime import search_attributes
from runtime.problems import Problems, one_sentence
from runtime.temporal_link import REACHED_WITHIN, TemporalLink
from runtime.temporal_trouble import is_silence
from tests.support.api.eventually import eventually
from tests.support.api.grpc_server import OK, GrpcServer, Headers, status
from tests.support.api.ports import free_port, own_layout
from tests.support.api.tcp_proxy import TcpProxy


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """The problems in the log, by part."""
    records = [record.__dict__ for record in caplog.records if record.levelno == logging.WARNING]
    return [(record["part"], record["problem"]) for record in records if "problem" in record]


@asynccontextmanager
async def running(task: asyncio.Task[None]) -> AsyncIterator[None]:
    """Something that runs for the time of the block."""
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def set_up(supervisor: Supervisor, layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A server that is set up, and is that of the environment."""
    server = await temporal.start(supervisor, layout)
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    monkeypatch.setenv("TEMPORAL_NAMESPACE", server.namespace)
    client = await Client.connect(server.address, namespace=server.namespace)
    await search_attributes.register(client, server.namespace)
    return client


@pytest.mark.parametrize(
    ("silent", "part", "trouble"),
    [
        (REACHED_WITHIN - timedelta(seconds=1), "temporal", None),
        (REACHED_WITHIN, "temporal", "it is so"),
        (REACHED_WITHIN, "search attributes", "it is so"),
        (REACHED_WITHIN, "kubernetes", "Temporal does not answer"),
    ],
    ids=["a moment ago it answered", "it does not answer", "it is not set up", "nothing is known yet"],
)
async def test_temporal_is_in_trouble_when_no_look_has_had_an_answer(
    silent: timedelta, part: str, trouble: str | None
) -> None:
    seconds, problems = [0.0], Problems()
    link = TemporalLink("test", problems, clock=lambda: seconds[0])
    problems.report(part, "it is so")
    seconds[0] = silent.total_seconds()
    assert link.trouble() == trouble


def is_there(link: TemporalLink) -> bool:
    with suppress(RPCError):
        return link() is not None
    return False


async def test_temporal_that_is_not_there_is_reported_once_and_each_cause_at_debug_level(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("TEMPORAL_ADDRESS", address)
    caplog.set_level(logging.DEBUG, "runtime")
    link = TemporalLink("a process", Problems())

    def causes() -> list[str]:
        return [record.exc_text or "" for record in caplog.records if record.message == "attempt failed"]

    await link.try_once()
    async with running(asyncio.create_task(link.hold())):
        await eventually(lambda: len(causes()) > 1, 20)
    assert warnings_in(caplog) == [
        ("temporal", f"Temporal at {address} cannot be reached: Connection refused")
    ]
    logged = next(record for record in caplog.records if record.message == "attempt failed")
    assert logged.exc_info is not None
    assert "tonic::transport::Error" in str(logged.exc_info[1].__cause__ if logged.exc_info[1] else "")
    with pytest.raises(RPCError) as failed:
        link()
    assert failed.value.status is RPCStatusCode.UNAVAILABLE
    assert is_silence(failed.value)
    assert one_sentence(failed.value) == "Temporal cannot be used yet"  # as other parts tell it


async def test_calls_reach_a_temporal_that_comes_later_and_its_absence_is_reported_once(
    temporal_server: TemporalServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = Problems()
    async with TcpProxy(f"//{temporal_server.address}") as proxy:
        monkeypatch.setenv("TEMPORAL_ADDRESS", proxy.address)
    monkeypatch.setenv("TEMPORAL_NAMESPACE", temporal_server.namespace)
    link = TemporalLink("a process", problems)
    async with running(asyncio.create_task(link.hold())):
        await eventually(lambda: bool(problems.sentences), 20)
        async with proxy:
            await eventually(lambda: is_there(link), 20)
            await link().count_workflows("")
            await eventually(lambda: not problems.sentences, 20)
        await eventually(lambda: bool(problems.sentences), 20)
        assert problems.sentences == (f"temporal: Temporal at {proxy.address} does not answer",)
        with pytest.raises(RPCError) as failed:
            await link().workflow_service.count_workflow_executions(CountWorkflowExecutionsRequest())
        assert one_sentence(failed.value) == "Temporal does not answer"  # as other parts tell it
    assert [part for part, _ in warnings_in(caplog) if part == "temporal"] == ["temporal", "temporal"]


@pytest.mark.parametrize(
    ("answer", "body", "words"),
    [
        (status(7, "no"), b"", "PermissionDenied: no"),
        (status(14, "no hosts"), b"", "Unavailable: no hosts"),
        (OK, b"\x08\x02", "that it does not serve"),
    ],
)
async def test_temporal_that_answers_with_an_error_is_reported_with_its_answer(
    answer: Headers, body: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = Problems()
    async with GrpcServer() as server:
        monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
        link = TemporalLink("a process", problems)
        await link.try_once()
        server.answer, server.body = answer, body
        async with running(asyncio.create_task(link.hold())):
            sentence = f"Temporal at {server.address} answers {words}"
            await eventually(lambda: problems.sentence("temporal") == sentence, 20)
    assert link.is_answered


@activity.defn
async def answer() -> str:
    return "done"


async def test_worker_whose_temporal_goes_away_before_its_first_question_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, problems, made = own_layout(tmp_path), Problems(), list[Worker]()
    async with Supervisor() as supervisor:
        client = await set_up(supervisor, layout, monkeypatch)
        stopping = []

        def make(connection: Client) -> Worker:
            if not made:
                os.kill(supervisor.pids["temporal"], signal.SIGKILL)
                stopping.append(asyncio.create_task(supervisor.stop("temporal")))
            made.append(Worker(connection, task_queue="questions", activities=[answer]))
            return made[-1]

        link = TemporalLink("a process", problems)
        await link.try_once()
        async with running(asyncio.create_task(link.work(make))):
            await eventually(lambda: bool(problems.sentences), 40)
            assert problems.sentences[0].startswith("worker: ")
            await stopping[0]
            await temporal.start(supervisor, layout)
            await eventually(lambda: not problems.sentences, 20)
            done = await client.execute_activity(
                answer, id="asked", task_queue="questions", start_to_close_timeout=timedelta(seconds=20)
            )
            assert done == "done"
    assert len(made) > 1
