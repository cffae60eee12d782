"""Findings about the builds of the workers of one queue.

| pollers                                       | finding              |
|-----------------------------------------------|----------------------|
| none                                          | NoWorker             |
| versions, and none of them gets new workflows | NoCurrentVersion     |
| two unversioned builds                        | SeveralBuilds        |
| unversioned builds beside versions            | SeveralBuilds        |
| several versions                              | SeveralVersions      |
| a version with pinned workflows is missing    | VersionWithoutWorker |
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

from cli.doctor.finding import Finding, note, problem, warning
from cli.shared.connection import RPC_TIMEOUT
from cli.shared.parameters import configured_name, quoted
from runtime.polling import Build, QueuePollers, queue_pollers
from workflows.contracts import worker_queue

NO_WORKER = "NoWorker"
MOST_VERSIONS, MOST_NAMED = 20, 3
_VERSION = SearchAttributeKey.for_keyword("TemporalWorkerDeploymentVersion")
"""The version that a workflow is pinned to, or last ran on."""
ROLL_OUT = "docs/rolling-out.md#worker-versions"
START_AGAIN = f"start a worker of that build again, or move them ({ROLL_OUT})"


async def worker_findings(client: Client, cluster: Sequence[str]) -> list[Finding]:
    """Findings about the workers of a cluster of one of these identities, the likeliest first.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    start = f"start one, with PARAMEDIC_CLUSTER={configured_name(cluster[0])} and this Temporal namespace"
    polled = [(identity, await queue_pollers(client, worker_queue(identity))) for identity in cluster]
    identity, pollers = next(
        ((identity, pollers) for identity, pollers in polled if pollers.builds), polled[0]
    )
    return [
        *version_findings(worker_queue(identity), pollers, start),
        *drained_findings(await pinned_workflows(client, (identity,)), pollers),
    ]


@dataclass(frozen=True)
class Pinned:
    """The open workflows that are pinned to one version."""

    count: int
    ids: tuple[str, ...]
    """The ids of some of them."""

    @property
    def words(self) -> str:
        more = (f"and {self.count - len(self.ids)} more",) if self.count > len(self.ids) else ()
        return f"{self.count} open workflows ({'; '.join((*self.ids, *more))})"


def of_version(build: Build | None) -> str:
    """The condition of a query for workflows that are pinned to this version; None: to no version."""
    return f"{_VERSION.name} IS NULL" if build is None else f"{_VERSION.name} = {quoted(str(build))}"


async def pinned_workflows(client: Client, clusters: Sequence[str]) -> dict[Build, Pinned]:
    """The open workflows of each version; empty for a Temporal without Worker Versioning.

    Such a Temporal lacks the search attribute.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    try:
        return await _pinned(client, clusters)
    except RPCError as error:
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            return {}
        raise


async def _pinned(client: Client, clusters: Sequence[str]) -> dict[Build, Pinned]:
    open_here = f"ParamedicCluster IN ({', '.join(map(quoted, clusters))}) AND ExecutionStatus = 'Running'"
    found: dict[Build, Pinned] = {}
    while len(found) < MOST_VERSIONS:
        others = "".join(f" AND {_VERSION.name} != {quoted(str(build))}" for build in found)
        query = f"{open_here} AND {_VERSION.name} IS NOT NULL{others}"
        listed = [
            workflow async for workflow in client.list_workflows(query, limit=1, rpc_timeout=RPC_TIMEOUT)
        ]
        version = listed[0].typed_search_attributes.get(_VERSION) if listed else None
        if not version:
            break
        build = Build(*version.split(":", 1))
        query = f"{open_here} AND {of_version(build)}"
        named = client.list_workflows(query, limit=MOST_NAMED, rpc_timeout=RPC_TIMEOUT)
        count = (await client.count_workflows(query, rpc_timeout=RPC_TIMEOUT)).count
        found[build] = Pinned(count, tuple([workflow.id async for workflow in named]))
    return found


def version_findings(queue: str, pollers: QueuePollers, start: str) -> Iterator[Finding]:
    """Findings about the pollers; `start` is the advice how to start a worker."""
    builds = {build for _, build in pollers.builds}
    versions = sorted((build for build in builds if build.deployment), key=str)
    unversioned = sorted((build for build in builds if not build.deployment), key=str)
    if not builds:
        yield problem(NO_WORKER, f"no worker polls the task queue {queue}", start)
    elif not pollers.serving:
        yield _none_current(queue, versions, unversioned, pollers)
    if len(unversioned) > 1 or (unversioned and versions):
        yield warning(
            "SeveralBuilds",
            f"builds {_listed([*versions, *unversioned])} poll the task queue {queue}, "
            "and unversioned workers share open workflows whatever their build",
            f"finish the roll-out: a workflow fails on a build that would have done otherwise ({ROLL_OUT})",
        )
    elif len(versions) > 1:
        current = _listed(sorted(pollers.routed, key=str)) or "unversioned workers, and there are none"
        yield note(
            "SeveralVersions",
            f"versions {_listed(versions)} poll the task queue {queue}; new workflows go to {current}",
            f"keep a version until no open workflow is pinned to it ({ROLL_OUT})",
        )


def drained_findings(pinned: Mapping[Build, Pinned], pollers: QueuePollers) -> Iterator[Finding]:
    """Versions that open workflows are pinned to, but that no worker runs, with these workflows."""
    running = {build for _, build in pollers.builds}
    for build in sorted(pinned.keys() - running, key=str):
        yield problem(
            "VersionWithoutWorker",
            f"{pinned[build].words} are pinned to the version {build}, and no worker runs it: "
            "nothing is done for their targets",
            START_AGAIN,
        )


def _none_current(
    queue: str, versions: list[Build], unversioned: list[Build], pollers: QueuePollers
) -> Finding:
    goes_to = _listed(sorted(pollers.routed, key=str)) or "unversioned workers"
    polling = _listed([*versions, *unversioned])
    what = f"{polling} polls the task queue {queue}, and new workflows go to {goes_to}"
    if not versions:
        return problem("NoCurrentVersion", what, f"start a worker of that version, or see {ROLL_OUT}")
    last = versions[-1]
    command = (
        f"`temporal worker deployment set-current-version --deployment-name {last.deployment} "
        f"--build-id {last.id}`"
    )
    return problem("NoCurrentVersion", what, f"{command}; until then nothing new is taken")


def _listed(builds: list[Build]) -> str:
    return ", ".join(map(str, builds))
