"""What incidents are asked, and how often: against a Temporal that answers by script."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.client import Client, Interceptor, OutboundInterceptor, QueryWorkflowInput
from temporalio.service import RPCError, RPCStatusCode

from cli.asking import AT_ONCE, BUSY, NO_WORKER, Asking
from cli.incident_sight import IncidentSight
from health.moves import Phase
from health.references import CheckReference, IncidentReference, TargetReference
from workflows.messages import State

FORGOTTEN = RPCError(
    "no poller seen for task queue recently, worker may be down", RPCStatusCode.FAILED_PRECONDITION, b""
)
SILENT = RPCError("Timeout expired", RPCStatusCode.DEADLINE_EXCEEDED, b"")
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


async def asked(script: Script, count: int) -> Sequence[IncidentSight]:
    client = await Client.connect("127.0.0.1:1", lazy=True, interceptors=[script])
    return await Asking(client).all(map(sight, range(count)))


def sight(number: int) -> IncidentSight:
    incident = IncidentReference(
        cluster="c-1a2b",
        check=CheckReference(kind="NodeHealthCheck", name="workers"),
        target=TargetReference(kind="Node", name=f"node-{number}", uid=f"{number:0>8}-2222"),
    )
    return IncidentSight(incident, "run", "Running", datetime(2026, 1, 1, tzinfo=UTC))


async def test_workers_that_temporal_has_forgotten_are_asked_again() -> None:
    found = await asked(Script(FORGOTTEN, FORGOTTEN, HELD), 3)
    assert [(one.phase, one.problem) for one in found] == [(Phase.HELD, "")] * 3


async def test_worker_that_temporal_has_forgotten_for_good_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cli.asking.AGAIN_SECONDS", 0.5)
    script = Script(FORGOTTEN)
    (one,) = await asked(script, 1)
    assert (one.phase, one.problem) == (None, NO_WORKER)
    assert 2 <= len(script.asked) <= 6


async def test_where_nobody_works_no_more_are_asked_than_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.asking.AGAIN_SECONDS", 0.5)
    script = Script(FORGOTTEN)
    found = await asked(script, 1000)
    assert {(one.phase, one.problem) for one in found} == {(None, NO_WORKER)}
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
    assert (first.problem, second.problem) == ("", BUSY)
