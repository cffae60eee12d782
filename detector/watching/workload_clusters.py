"""WorkloadClusters: the Nodes of other clusters, each watched while a check rests on it (rule 33).

Each cluster has a connection and a task of its own: one that is slow, gone, or whose kubeconfig cannot be
used takes nothing from the others. The Secret with its kubeconfig is read again every minute, and every few
seconds while something is wrong: what says something else leads to another connection, and what was seen
through the one before counts until it grows old. A Secret that cannot be used holds the checks, also where
the connection of an earlier one still works: it may have been taken away on purpose, and no act could be
revalidated.

With the Secret the detector reads the uid of the namespace kube-system, which identifies the cluster.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from detector.watching.node_watch import BlindTime, NodeWatch
from detector.watching.workload_cluster import WorkloadCluster
from health.model.node import Node
from kube.connection import ClusterConnection
from kube.errors import Forbidden, KubernetesError, NotConfigured, NotFound, retry_after
from kube.reflector import Reflector
from kube.resource import KUBE_SYSTEM, NAMESPACES
from objects.clusters import SecretField
from runtime.guard import Guard
from runtime.problems import Problems

READ_SECRET_EVERY = timedelta(minutes=1)
READ_SECRET_AGAIN = timedelta(seconds=5)
"""Where something is wrong."""
LOOK_SECONDS = 0.5
MOST_FORGOTTEN = 1000
"""Of so many clusters that nobody asks for any more it is known when they were lost."""

Connect = Callable[[str, SecretField], Awaitable[ClusterConnection]]
"""The connection to a cluster, one and the same while the Secret says the same; raises KubernetesError."""


class WorkloadAccess(NamedTuple):
    """How other clusters are reached, and what is known of each from before."""

    connect: Connect
    close: Callable[[str], Awaitable[None]]
    """Close the connection to a cluster."""
    blind_time: Callable[[str], BlindTime]
    clock_skew: Callable[[], timedelta | None] = lambda: None
    """By how much our wall clock is ahead of that of the management cluster's API server."""


class ClusterHandlers(NamedTuple):
    """Who is told of a cluster as a whole."""

    read: Callable[[str], None]
    """Its Nodes were read completely."""
    forgotten: Callable[[str], None]
    """Nobody looks for them any more."""
    tried: Callable[[], None]
    """What the first try at its Nodes came to is known, or which cluster it is."""


class WorkloadClusters:
    """All of one detector."""

    def __init__(
        self,
        access: WorkloadAccess,
        watch: Callable[[str], NodeWatch],
        told: ClusterHandlers,
        guard: Guard,
    ) -> None:
        self._access = access
        self._watch = watch
        self._told = told
        self._guard = guard
        # What is wrong with one cluster keeps its checks from acting, and no other: the detector is ready.
        self._problems = Problems("checks are held")
        self._clusters: dict[str, WorkloadCluster] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._being_forgotten: dict[str, tuple[NodeWatch, asyncio.Task[None]]] = {}
        """Clusters whose Nodes are being told as gone."""
        # A check that cannot be read for a moment rests on no cluster, and then on the same one again.
        self._forgotten: dict[str, BlindTime] = {}

    @property
    def watches(self) -> Collection[NodeWatch]:
        """The Nodes of each."""
        return [one.nodes for one in self._clusters.values()]

    def name(self, wanted: Mapping[str, SecretField], tasks: asyncio.TaskGroup) -> None:
        """Watch these, and no others."""
        for cluster in self._clusters.keys() - wanted.keys():
            self._forget(cluster, tasks)
        for cluster in wanted.keys() - self._clusters.keys():
            one = self._clusters[cluster] = WorkloadCluster(self._watch(cluster), wanted[cluster])
            one.nodes.resume(self._forgotten.pop(cluster, self._access.blind_time(cluster)))
            self._stop_forgetting(one.nodes)
            self._tasks[cluster] = tasks.create_task(self._supervise(one))

    def _forget(self, cluster: str, tasks: asyncio.TaskGroup) -> None:
        self._tasks.pop(cluster).cancel()
        one = self._clusters.pop(cluster)
        self._problems.report(one.part, "")
        self._keep(cluster, one.nodes.blind_time)
        one.was_tried.set()  # whoever waits looks whether it is asked for again
        # Before its Nodes go: a Machine whose Node nobody looks for has not lost it.
        self._told.forgotten(cluster)
        forgetting = tasks.create_task(self._forget_nodes(one.nodes))
        self._being_forgotten[cluster] = one.nodes, forgetting

    async def _forget_nodes(self, nodes: NodeWatch) -> None:
        with self._guard.item("workload clusters", nodes.cluster):
            await nodes.forget()
        del self._being_forgotten[nodes.cluster]

    def _stop_forgetting(self, nodes: NodeWatch) -> None:
        """Leave what is not told as gone yet to a new watch of the same cluster."""
        earlier, forgetting = self._being_forgotten.pop(nodes.cluster, (None, None))
        if earlier is not None and forgetting is not None:
            forgetting.cancel()
            nodes.take_over(earlier)

    def _keep(self, cluster: str, blind_time: BlindTime) -> None:
        """Remember when a cluster was lost that nobody asks for now."""
        if blind_time == BlindTime():
            return
        self._forgotten[cluster] = blind_time
        while len(self._forgotten) > MOST_FORGOTTEN:
            del self._forgotten[next(iter(self._forgotten))]

    def blind_times(self) -> dict[str, BlindTime]:
        """When each was lost, those that nobody asks for now included."""
        return self._forgotten | {nodes.cluster: nodes.blind_time for nodes in self.watches}

    def is_named(self, cluster: str) -> bool:
        """Whether somebody asked for its Nodes."""
        return cluster in self._clusters

    async def wait_tried(self, cluster: str) -> None:
        """Return when the Nodes of a cluster were read, or could not be at first, or nobody asks for it."""
        while (known := self._clusters.get(cluster)) is not None and not known.was_tried.is_set():
            await known.was_tried.wait()

    def is_read(self, cluster: str) -> bool:
        """Whether its Nodes were read completely, however long ago."""
        known = self._clusters.get(cluster)
        return known is not None and known.is_read

    def problem(self, cluster: str, limit: timedelta) -> str:
        """Why nothing may be judged by the Nodes of a cluster; "" if nothing is wrong."""
        known = self._clusters.get(cluster)
        return "nobody has connected to it yet" if known is None else known.problem(limit)

    def unreachable(self, limit: timedelta) -> dict[str, str]:
        """Those of which something is wrong, and what."""
        problems = {cluster: one.problem(limit) for cluster, one in self._clusters.items()}
        return {cluster: problem for cluster, problem in problems.items() if problem}

    def clock_skew(self, cluster: str) -> timedelta | None:
        """By how much the clock of a cluster is ahead of the management cluster's, where that is too much."""
        known = self._clusters.get(cluster)
        return None if known is None else known.clock_skew(self._access.clock_skew())

    def clock_skews(self) -> dict[str, timedelta]:
        """The same of each where it is too much."""
        skews = {cluster: self.clock_skew(cluster) for cluster in self._clusters}
        return {cluster: skew for cluster, skew in skews.items() if skew is not None}

    def uids(self) -> dict[str, str]:
        """The uid of the namespace kube-system of each cluster, where it was read."""
        return {cluster: one.uid for cluster, one in self._clusters.items() if one.uid}

    def connected_anew(self) -> dict[str, datetime]:
        """When the connection to each was made anew, of those where it was."""
        known = {nodes.cluster: nodes.back for nodes in self.watches}
        return {cluster: back for cluster, back in known.items() if back is not None}

    def look(self, limit: timedelta, distrusted: Collection[str] = ()) -> dict[str, datetime]:
        """Look at each connection, and report its problem; answers when each that was lost came back.

        The Nodes of `distrusted` clusters are not believed.
        """
        of_management = self._access.clock_skew()
        for cluster, one in self._clusters.items():
            one.look(limit, of_management, is_distrusted=cluster in distrusted)
            self._problems.report(one.part, one.problem(limit))
        ends = {nodes.cluster: nodes.blind_time.until for nodes in self.watches}
        return {cluster: end for cluster, end in ends.items() if end is not None}

    def ages(self) -> dict[str, timedelta | None]:
        """How old what is known of each is; None for one that was never complete."""
        return {one.part: one.nodes.age() for one in self._clusters.values()}

    async def _supervise(self, one: WorkloadCluster) -> None:
        cluster = one.nodes.cluster
        try:
            while True:
                with self._guard.item("workload clusters", cluster):
                    await self._run(one)
                await asyncio.sleep(READ_SECRET_AGAIN.total_seconds())
        finally:
            if cluster not in self._clusters:  # nobody asked for it again meanwhile
                await self._access.close(cluster)

    async def _run(self, one: WorkloadCluster) -> None:
        while True:
            connection = await self._connected(one)
            if connection is None:
                await asyncio.sleep(READ_SECRET_AGAIN.total_seconds())
                continue
            source = one.nodes.connect(connection)
            async with asyncio.TaskGroup() as tasks:
                watching = [tasks.create_task(source.run()), tasks.create_task(self._follow(one))]
                await self._until_another(one, connection, source)
                for task in watching:
                    task.cancel()

    async def _follow(self, one: WorkloadCluster) -> None:
        await one.nodes.forget_gone()
        one.note_read()
        self._told.read(one.nodes.cluster)
        self._tried(one)
        await one.nodes.follow_budget()

    async def _connected(self, one: WorkloadCluster) -> ClusterConnection | None:
        """The connection that the Secret leads to; None: to none, or nobody can say."""
        try:
            connection = await self._access.connect(one.nodes.cluster, one.secret)
            await self._identify(one, connection)
        except KubernetesError as error:
            self._note(one, error)
            await asyncio.sleep(retry_after(error).total_seconds())
            return None
        one.note_usable()
        return connection

    async def _identify(self, one: WorkloadCluster, connection: ClusterConnection) -> None:
        """Note which cluster is reached, before any of its Nodes is read."""
        found = await connection.client.get(NAMESPACES, KUBE_SYSTEM)
        before, one.uid = one.uid, str(found["metadata"]["uid"])
        if one.uid != before:
            self._told.tried()

    def _note(self, one: WorkloadCluster, error: KubernetesError) -> None:
        if isinstance(error, NotFound | NotConfigured | Forbidden) or not one.nodes.is_read:
            one.note_unusable(error.message)
        self._tried(one)

    def _tried(self, one: WorkloadCluster) -> None:
        if not one.was_tried.is_set():
            one.was_tried.set()
            self._told.tried()

    async def _until_another(
        self, one: WorkloadCluster, connection: ClusterConnection, source: Reflector[Node]
    ) -> None:
        """Return when the Secret leads to another connection."""
        found: ClusterConnection | None = connection
        while found in (connection, None):
            await self._wait_due(one, source)
            found = await self._connected(one)

    async def _wait_due(self, one: WorkloadCluster, source: Reflector[Node]) -> None:
        """Return when it is time to read the Secret again."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if source.problem:
                self._tried(one)
            is_wrong = one.is_unusable or bool(source.problem)
            longest = READ_SECRET_AGAIN if is_wrong else READ_SECRET_EVERY
            if loop.time() - began >= longest.total_seconds():
                return
