"""A finding if no worker answers queries of open incidents, although one polls the task queue.

Temporal forgets the last poll of a stopped worker only after five minutes. An incident that does not answer
shows the stop within seconds. An incident is pinned to a version, so each version is queried.
"""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain

from temporalio.client import Client

from cli.doctor.finding import Finding, problem
from cli.doctor.of_worker_versions import START_AGAIN, of_version, pinned_workflows
from cli.incidents.state_queries import NO_WORKER, QUERY_TIMEOUT, StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import latest_open_incidents
from runtime.polling import Build

QUERIED = 3
"""The number of open incidents of each version that are queried, all at once."""
OF_SILENCE = (
    "look at the worker and its log: it is stopped, hangs, or lacks CPU or memory; restart it, and it "
    "continues each incident and obeys the orders that Temporal keeps"
)


async def answer_findings(client: Client, clusters: Sequence[str]) -> list[Finding]:
    """A problem if no open incident of these clusters, or of one version, answers; nothing if none is open.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    versions = await pinned_workflows(client, clusters)
    conditions = {build: of_version(build) for build in (*versions, None)} if versions else {None: ""}

    async def queried(condition: str) -> list[IncidentSummary]:
        found = await latest_open_incidents(client, clusters, QUERIED, condition)
        return await StateQueries(client).all(found)

    answers = await asyncio.gather(*map(queried, conditions.values()))
    return silence_findings(dict(zip(conditions, answers, strict=True)))


def silence_findings(queried: Mapping[Build | None, Sequence[IncidentSummary]]) -> list[Finding]:
    """The findings about queried incidents by their version, None for those without one."""
    found = {version: incidents for version, incidents in queried.items() if incidents}
    silent = {
        version: incidents
        for version, incidents in found.items()
        if all(summary.problem == NO_WORKER for summary in incidents)
    }
    if len(silent) == len(found):
        incidents = [*chain.from_iterable(silent.values())]
        return [_silence("no worker", incidents, "any target", OF_SILENCE)] if incidents else []
    return [
        _silence(f"no worker of {_named(version)}", incidents, "their targets", START_AGAIN)
        for version, incidents in silent.items()
    ]


def _named(version: Build | None) -> str:
    return f"the version {version}" if version else "no version"


def _silence(who: str, queried: Sequence[IncidentSummary], targets: str, advice: str) -> Finding:
    incidents = "1 open incident" if len(queried) == 1 else f"{len(queried)} open incidents"
    ids = "; ".join(summary.incident.workflow_id for summary in queried[:QUERIED])
    silent = f"{who} answered for {incidents} within {QUERY_TIMEOUT.seconds} s ({ids})"
    return problem("WorkerSilent", f"{silent}, so nothing is done for {targets}", advice)
