"""Findings about tasks that wait in Temporal because no process takes them.

Temporal allows a namespace a number of polls at a time (`frontend.namespaceCount`). Above it, polls of some
process are refused: it runs, says that it is connected, and gets no task.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from temporalio.client import Client

from cli.doctor.finding import Finding, problem
from cli.shared.ages import short
from runtime.polling import QUEUES, Backlog, backlog

LATE = timedelta(seconds=30)
ADVICE = (
    "look whether that process runs; if it does, its log says whether Temporal refuses its polls: then raise "
    "frontend.namespaceCount, see docs/temporal-production.md#polls"
)


async def backlog_findings(client: Client, clusters: Sequence[str]) -> list[Finding]:
    """A problem for each task queue of these clusters with a task that waits for too long.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    queues = [queue(cluster) for cluster in clusters for queue in QUEUES.values()]
    return findings_of({queue: await backlog(client, queue) for queue in queues})


def findings_of(backlogs: Mapping[str, Backlog]) -> list[Finding]:
    """The findings about these task queues, in their order."""
    return [
        problem("TasksWait", f"a task of the task queue {queue} has waited for {_words(found)}", ADVICE)
        for queue, found in backlogs.items()
        if found.oldest > LATE
    ]


def _words(found: Backlog) -> str:
    who = "the processes that poll it do not take it" if found.is_polled else "no process polls it"
    return f"{short(found.oldest)}, and {who}"
