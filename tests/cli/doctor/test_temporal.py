"""Questions about Temporal, by tables and on a real server."""

from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest
from temporalio.client import Client

from cli.doctor.temporal import (
    LATE,
    QUERIED,
    Temporal,
    is_unprotected,
    latest_of,
    repeated_steps,
    repetitions,
    short_retention,
    silent_worker,
    temporal_findings,
    waiting,
    waiting_tasks,
)
from cli.incidents.visibility import IncidentSummary
from devcluster.polling import until
from health.model.incident_result import EndedRemediation
from health.model.moves import Phase
from health.model.references import TemplateReference
from runtime.polling import Backlog, backlog
from runtime.temporal import temporal_settings
from tests.cli.incidents.summaries import ended
from tests.support.api.grpc_server import OK, GrpcServer, Headers, status
from tests.support.story.fleet import Fleet
from tests.support.values.builders import NOW, REBOOT, RESET
from tests.support.values.observations import escalating, held
from workflows.contracts import detector_queue, worker_queue

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ELSEWHERE = {"TEMPORAL_ADDRESS": "temporal.temporal-system:7233"}


def of(fleet: Fleet) -> Temporal:
    return Temporal(client=fleet.client, clusters=[fleet.cluster], now=NOW)


class Namespace:
    """All that the retention asks of a client."""

    namespace = "prod"


@pytest.mark.parametrize(
    ("retention", "back_off_limit", "words"),
    [
        (HOUR, HOUR / 2, None),
        (DAY, HOUR / 2, None),
        (DAY, timedelta(), None),
        (timedelta(), DAY, None),
        (DAY, 13 * HOUR, "namespace prod keeps closed workflows for 1d, and back-off looks back for 1d2h"),
    ],
    ids=["just enough", "enough", "no back-off", "not said", "too short"],
)
async def test_retention_that_is_shorter_than_back_off_looks_back_is_reported(
    retention: timedelta, back_off_limit: timedelta, words: str | None
) -> None:
    temporal = Temporal(
        client=cast("Client", Namespace()),
        clusters=(),
        now=NOW,
        retention=retention,
        back_off_limit=back_off_limit,
    )
    found = await short_retention.findings(temporal)
    assert [finding.what for finding in found] == ([] if words is None else [words])


@pytest.mark.parametrize(
    ("answer", "reason", "what"),
    [
        (status(7, "no."), "TemporalRefuses", "answers PermissionDenied: no"),
        (status(14, "no hosts"), "TemporalRefuses", "answers Unavailable: no hosts"),
        (None, "TemporalUnreachable", "cannot be reached: Connection refused"),
    ],
)
async def test_temporal_that_answers_with_an_error_is_told_from_one_that_does_not_answer(
    answer: Headers | None, reason: str, what: str
) -> None:
    async with GrpcServer(answer or OK) as server:
        address = server.address
        environment = {"TEMPORAL_ADDRESS": address}
        found = await temporal_findings(environment, ()) if answer else []
    if answer is None:
        found = await temporal_findings(environment, ())
    assert [(one.reason, one.what) for one in found] == [(reason, f"Temporal at {address} {what}")]


@pytest.mark.parametrize("address", ["temporal.temporal-system:7233", "10.0.0.7:7233", "[fd00::7]:7233"])
async def test_temporal_elsewhere_without_tls_and_credentials_is_warned_of(address: str) -> None:
    (finding,) = await is_unprotected.findings(temporal_settings({"TEMPORAL_ADDRESS": address}))
    assert (finding.severity, finding.reason) == ("warning", "TemporalUnprotected")
    assert finding.what == f"Temporal at {address} is asked without TLS and without credentials"


@pytest.mark.parametrize(
    ("settings", "is_warned"),
    [
        ({}, False),
        ({"TEMPORAL_ADDRESS": "127.0.0.1:7233"}, False),
        ({"TEMPORAL_ADDRESS": "[::1]:7233"}, False),
        ({"TEMPORAL_ADDRESS": "LOCALHOST:7233"}, False),
        ({"TEMPORAL_ADDRESS": "temporal.localhost:7233"}, False),
        ({"TEMPORAL_ADDRESS": "localhost.example.com:7233"}, True),
        (ELSEWHERE | {"TEMPORAL_TLS": "true"}, False),
        (ELSEWHERE | {"TEMPORAL_API_KEY": "key"}, False),
        (ELSEWHERE | {"TEMPORAL_GRPC_META_AUTHORIZATION": "Bearer token"}, False),
        (ELSEWHERE | {"TEMPORAL_TLS": "false"}, True),
    ],
)
async def test_temporal_on_this_machine_or_with_tls_or_credentials_is_no_finding(
    settings: dict[str, str], *, is_warned: bool
) -> None:
    assert bool(await is_unprotected.findings(temporal_settings(settings))) is is_warned


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Backlog(LATE, is_polled=False), "no process polls it"),
        (Backlog(timedelta(minutes=2), is_polled=True), "the processes that poll it do not take it"),
    ],
)
def test_task_that_waits_is_named_with_its_queue_and_who_polls_it(found: Backlog, words: str) -> None:
    assert waiting("remediation/main", found).startswith("a task of the task queue remediation/main has ")
    assert waiting("remediation/main", found).endswith(words)


@pytest.mark.cluster
async def test_temporal_says_how_long_a_task_waits_in_a_queue_without_a_worker(idle_fleet: Fleet) -> None:
    await idle_fleet.fail("node-1", held())
    client, cluster = idle_fleet.client, idle_fleet.cluster

    async def waits() -> bool:
        return (await backlog(client, worker_queue(cluster))).oldest > timedelta()

    await until(waits, within=timedelta(seconds=60), otherwise="no task waits")
    assert not (await backlog(client, worker_queue(cluster))).is_polled
    assert (await backlog(client, detector_queue(cluster))).oldest == timedelta()


@pytest.mark.cluster
async def test_worker_that_answers_no_open_incident_is_a_problem(idle_fleet: Fleet) -> None:
    assert await silent_worker.findings(of(idle_fleet)) == []
    for number in range(QUERIED + 1):
        await idle_fleet.fail(f"node-{number}", held())
    await idle_fleet.listed("Running", QUERIED + 1)

    (finding,) = await silent_worker.findings(of(idle_fleet))

    assert (finding.reason, finding.severity) == ("WorkerSilent", "problem")
    assert finding.what.startswith(f"no worker answered for {QUERIED} open incidents within 3 s")


@pytest.mark.cluster
async def test_worker_that_takes_tasks_and_answers_is_no_finding(fleet: Fleet) -> None:
    await fleet.fail("node-1", held())
    await fleet.reaches("node-1", Phase.HELD)
    await fleet.listed("Running", 1)
    assert await silent_worker.findings(of(fleet)) == []
    assert await waiting_tasks.findings(of(fleet)) == []


def repeated(
    times: int, node: str = "node-1", taken: tuple[TemplateReference, ...] = (REBOOT,)
) -> IncidentSummary:
    summary = ended(remediation=EndedRemediation(ended=NOW, taken=taken, in_a_row=times))
    target = summary.incident.target.model_copy(update={"name": node})
    return replace(summary, incident=summary.incident.model_copy(update={"target": target}))


@pytest.mark.rule("rule 64")
def test_repeated_steps_are_named_with_target_and_check() -> None:
    (words,) = repetitions([repeated(3), repeated(2, "node-2"), repeated(0), ended()])
    assert words.startswith("Node/node-1 (NodeHealthCheck/workers): step 1 was taken 3 times in a row; ")
    assert "steps 1 to 2 were taken 3 times" in repetitions([repeated(3, taken=(REBOOT, RESET))])[0]


@pytest.mark.rule("rule 64")
def test_latest_incident_of_a_name_counts_whatever_its_uid_is() -> None:
    def with_uid(summary: IncidentSummary, uid: str) -> IncidentSummary:
        target = summary.incident.target.model_copy(update={"uid": uid})
        return replace(summary, incident=summary.incident.model_copy(update={"target": target}))

    newest, older, other = with_uid(repeated(4), "b"), with_uid(repeated(3), "a"), repeated(3, "node-2")
    assert latest_of([newest, other, older]) == [newest, other]


@pytest.mark.cluster
async def test_incidents_without_a_repetition_in_temporal_are_no_finding(fleet: Fleet) -> None:
    await fleet.fail("node-1", escalating())
    assert await repeated_steps.findings(of(fleet)) == []
