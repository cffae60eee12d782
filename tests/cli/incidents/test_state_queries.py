"""Queries of incidents and their number, against a scripted Temporal server."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.any_pb2 import Any as Any_
from temporalio.api.common.v1 import GrpcStatus
from temporalio.api.errordetails.v1 import WorkflowNotReadyFailure
from temporalio.client import Client, Interceptor, OutboundInterceptor, QueryWorkflowInput
from temporalio.service import RPCError, RPCStatusCode

from cli.incidents.state_queries import AT_ONCE, BUSY, LATE, NO_WORKER, StateQueries
from cli.incidents.visibility import IncidentSummary
from health.model.moves import Phase
from health.model.references import CheckReference, IncidentReference, TargetReference
from workflows.messages import State


def not_ready() -> tuple[RPCStatusCode, bytes]:
    """How Temporal says that a workflow task fails."""
    detail = Any_()
    detail.Pack(WorkflowNotReadyFailure())
    status = GrpcStatus(code=RPCStatusCode.FAILED_PRECONDITION, details=[detail])
    return RPCStatusCode.FAILED_PRECONDITION, status.SerializeToString()


FAILURE = "its code fails since 2026-11-22 10:00:00Z: RuntimeError: broken"
FORGOTTEN = RPCError(
    "no poller seen for task queue recently, worker may be down", RPCStatusCode.FAILED_PRECONDITION, b""
)
SILENT = RPCError("Timeout expired", RPCStatusCode.DEADLINE_EXCEEDED, b"")
FAILING = RPCError("Unable to query workflow due to Workflow Task in failed state.", *not_ready())
HELD = State(phase=Phase.HELD, details="")


class Script(Interceptor, OutboundInterceptor):
    """Answers the queries to each incident in turn; the last answer stays."""

    def __init__(self, *answers: State | RPCError) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:  # noqa: A002  its name there
        OutboundInterceptor.__init__(self, next)
        return self

    async def query_workflow(self, input: QueryWorkflowInput) -> Any:  # noqa: A002  its name there
        turn = self.asked.count(input.id)
        self.asked.append(input.id)
        answer = self.answers[min(turn, len(self.answers) - 1)]
        if isinstance(answer, RPCError):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def failures(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The code of which incidents fails, by their ids."""
    found: dict[str, str] = {}

    async def read(_client: Client, workflow_id: str, *_: object) -> str | None:
        return found.get(workflow_id)

    monkeypatch.setattr("cli.incidents.state_queries.read_task_failure", read)
    return found


async def asked(script: Script, count: int) -> Sequence[IncidentSummary]:
    client = await Client.connect("127.0.0.1:1", lazy=True, interceptors=[script])
    return await StateQueries(client).all(map(summary, range(count)))


def summary(number: int) -> IncidentSummary:
    incident = IncidentReference(
        cluster="c-1a2b",
        check=CheckReference(kind="NodeHealthCheck", name="workers"),
        target=TargetReference(kind="Node", name=f"node-{number}", uid=f"{number:0>8}-2222"),
    )
    return IncidentSummary(
        incident=incident, run_id="run", status="Running", started=datetime(2026, 1, 1, tzinfo=UTC)
    )


async def test_workers_that_temporal_has_forgotten_are_asked_again() -> None:
    found = await asked(Script(FORGOTTEN, FORGOTTEN, HELD), 3)
    assert [(summary.state, summary.problem) for summary in found] == [(HELD, None)] * 3


async def test_worker_that_temporal_has_forgotten_for_good_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cli.incidents.state_queries.AGAIN_SECONDS", 0.5)
    script = Script(FORGOTTEN)
    (one,) = await asked(script, 1)
    assert (one.state, one.problem) == (None, NO_WORKER)
    assert 2 <= len(script.asked) <= 6


async def test_without_a_worker_only_the_first_batch_is_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.incidents.state_queries.AGAIN_SECONDS", 0.5)
    script = Script(FORGOTTEN)
    found = await asked(script, 1000)
    assert {(summary.state is None, summary.problem) for summary in found} == {(True, NO_WORKER)}
    assert len(set(script.asked)) < 2 * AT_ONCE


async def test_silence_is_not_asked_again_and_beside_answers_it_is_a_busy_incident() -> None:
    client_script = Script(SILENT)
    (one,) = await asked(client_script, 1)
    assert (one.problem, len(client_script.asked)) == (NO_WORKER, 1)

    class OneIsBusy(Script):
        async def query_workflow(self, input: QueryWorkflowInput) -> Any:  # noqa: A002  its name there
            self.answers = (SILENT,) if "node-1/" in input.id else (HELD,)
            return await super().query_workflow(input)

    first, second = await asked(OneIsBusy(), 2)
    assert (first.problem, second.problem) == (None, BUSY)


async def test_code_that_fails_is_reported_and_asked_once(failures: dict[str, str]) -> None:
    failures[summary(0).incident.workflow_id] = FAILURE
    script = Script(FAILING)
    (one,) = await asked(script, 1)
    assert one.problem == FAILURE
    assert len(script.asked) == 1


async def test_failing_code_is_reported_also_without_a_worker(
    failures: dict[str, str],
) -> None:
    last = summary(99).incident.workflow_id
    failures[last] = FAILURE
    found = await asked(Script(SILENT), 100)
    assert {summary.incident.workflow_id for summary in found if summary.problem == FAILURE} == {last}
    assert {summary.problem for summary in found} == {FAILURE, NO_WORKER}


async def test_code_that_fails_everywhere_does_not_look_like_no_worker(
    failures: dict[str, str],
) -> None:
    failures.update({summary(number).incident.workflow_id: FAILURE for number in range(100)})
    assert {summary.problem for summary in await asked(Script(FAILING), 100)} == {FAILURE}


async def test_incidents_that_answer_too_late_are_unknown_and_the_others_are_known() -> None:
    class SomeNeverAnswer(Script):
        async def query_workflow(self, input: QueryWorkflowInput) -> Any:  # noqa: A002  its name there
            if "node-1/" in input.id:
                await asyncio.Event().wait()
            return await super().query_workflow(input)

    client = await Client.connect("127.0.0.1:1", lazy=True, interceptors=[SomeNeverAnswer(HELD)])
    found = await StateQueries(client).all(map(summary, range(3)), within=timedelta(seconds=0.2))
    assert [one.problem for one in found] == [None, LATE, None]
