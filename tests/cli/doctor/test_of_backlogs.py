"""Tasks that wait in a queue of Temporal, by a real server and by tables."""

from datetime import timedelta

import pytest

from cli.doctor.finding import FindingSeverity
from cli.doctor.of_backlogs import LATE, backlog_findings, findings_of
from devcluster.polling import until
from health.model.moves import Phase
from runtime.polling import Backlog, backlog
from tests.support.story.fleet import Fleet
from tests.support.values.observations import held
from workflows.contracts import detector_queue, worker_queue

QUEUE = "remediation/main"
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Backlog(timedelta(), is_polled=False), ""),
        (Backlog(LATE, is_polled=False), ""),
        (Backlog(LATE + SECOND, is_polled=False), "no process polls it"),
        (Backlog(timedelta(minutes=2), is_polled=True), "the processes that poll it do not take it"),
    ],
)
def test_task_that_waits_for_long_is_a_problem_that_names_its_queue(found: Backlog, words: str) -> None:
    findings = findings_of({QUEUE: found})
    assert len(findings) == bool(words)
    for finding in findings:
        assert (finding.reason, finding.severity) == ("TasksWait", FindingSeverity.PROBLEM)
        assert QUEUE in finding.what
        assert words in finding.what


@pytest.mark.cluster
async def test_temporal_says_how_long_a_task_waits_in_a_queue_that_nobody_polls(idle_fleet: Fleet) -> None:
    await idle_fleet.fail("node-1", held())
    client, cluster = idle_fleet.client, idle_fleet.cluster

    async def waits() -> bool:
        return (await backlog(client, worker_queue(cluster))).oldest > timedelta()

    await until(waits, within=timedelta(seconds=60), otherwise="no task waits")
    assert not (await backlog(client, worker_queue(cluster))).is_polled
    assert (await backlog(client, detector_queue(cluster))).oldest == timedelta()
    assert await backlog_findings(client, []) == []


@pytest.mark.cluster
async def test_tasks_of_a_worker_that_takes_them_do_not_wait(fleet: Fleet) -> None:
    await fleet.fail("node-1", held())
    await fleet.reaches("node-1", Phase.HELD)
    assert await backlog_findings(fleet.client, [fleet.cluster]) == []
