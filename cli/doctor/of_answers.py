"""A finding if no worker answers queries of open incidents, although one polls the task queue.

Temporal forgets the last poll of a stopped worker only after five minutes. An incident that does not answer
shows the stop within seconds.
"""

from collections.abc import Sequence

from temporalio.client import Client

from cli.doctor.finding import Finding, problem
from cli.incidents.state_queries import NO_WORKER, QUERY_TIMEOUT, StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import latest_open_incidents

QUERIED = 3
"""The number of open incidents that are queried, all at once."""
OF_SILENCE = (
    "look at the worker and its log: it is stopped, hangs, or lacks CPU or memory; restart it, and it "
    "continues each incident and obeys the orders that Temporal keeps"
)


async def answer_findings(client: Client, clusters: Sequence[str]) -> list[Finding]:
    """A problem if no open incident of these clusters answers; nothing if none is open.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    found = await latest_open_incidents(client, clusters, QUERIED)
    return silence_findings(await StateQueries(client).all(found))


def silence_findings(queried: Sequence[IncidentSummary]) -> list[Finding]:
    if not queried or any(summary.problem != NO_WORKER for summary in queried):
        return []
    incidents = "1 open incident" if len(queried) == 1 else f"{len(queried)} open incidents"
    silent = f"no worker answered for {incidents} within {QUERY_TIMEOUT.seconds} s"
    return [problem("WorkerSilent", f"{silent}, so nothing is done for any target", OF_SILENCE)]
