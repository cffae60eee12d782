"""WorkloadClusters: watches the Nodes of each workload cluster that a check names (rule 33).

Each cluster has its own connection and task, so a slow or missing cluster, or an unusable kubeconfig, does
not affect the others. The Secret with the kubeconfig is read again every minute, and every few seconds after
a failure. A changed Secret makes a new connection, and the cache of the previous one counts until it is
stale. An unusable Secret holds the checks even if the earlier connection still works: the Secret may have
been revoked on purpose, and no act could be revalidated.

With the Secret the detector reads the uid of the namespace kube-system, which identifies the cluster.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from detector.feeds.feed_handlers import FeedHandlers
from detector.feeds.node_watch import BlindTime, NodeWatch
from health.cluster.clock_skew import workload_skew
from health.gate.check_holds import UnreadSource
from health.model.node import Node
from health.model.sighting import Gap, Look
from kube.connection import ClusterConnection
from kube.errors import KubernetesError, NotConfigured, NotFound, RequestRefused, retry_after
from kube.reflector import Reflector
from kube.resource import KUBE_SYSTEM, NAMESPACES
from kube.server_clock import monotonic_clock
from objects.clusters import SecretField
from runtime.guard import Guard
from runtime.problems import Problems

READ_SECRET_EVERY = timedelta(minutes=1)
READ_SECRET_AGAIN = timedelta(seconds=5)
"""After a failure."""
LOOK_SECONDS = 0.5
MOST_FORGOTTEN = 1000
"""Limit of clusters without a check whose last loss is remembered."""

KEEP_CAUSE_SECONDS = 60.0
NOT_CONNECTED = "the detector has not connected to it yet"

Connect = Callable[[str, SecretField], Awaitable[ClusterConnection]]
"""Returns the same connection while the Secret is unchanged; raises KubernetesError."""


class WorkloadAccess(NamedTuple):
    """How to reach workload clusters, and the notes on them."""

    connect: Connect
    close: Callable[[str], Awaitable[None]]
    blind_time: Callable[[str], BlindTime]
    clock_skew: Callable[[], timedelta | None] = lambda: None
    """How far our wall clock is ahead of that of the management cluster's API server."""


class WorkloadCluster:
    """The watch of the Nodes of one workload cluster, and why they may not be judged."""

    def __init__(self, nodes: NodeWatch, secret: SecretField) -> None:
        self.nodes = nodes
        self.secret = secret
        self.is_read = False
        """True once all its Nodes were read and notified: before that, none is known to be gone."""
        self.is_updated = False
        """True once each target was made anew after the first read: before that, numbers are wrong."""
        self.unusable = ""
        """Why the Secret leads to no connection."""
        self.uid = ""
        """The uid of its namespace kube-system, as last read."""
        self.was_tried = asyncio.Event()
        """Set when its Nodes were read, or the first try failed."""
        self._shown: UnreadSource | None = None
        self._shown_since = 0.0
        """`unread` as of the last look; a cause stays the same for a minute."""
        self._skew: timedelta | None = None

    def unread(self, limit: timedelta) -> UnreadSource | None:
        """Why its Nodes must not be judged; None if they may."""
        present = self._unread_now(limit)
        return present and (self._shown or present)

    def _unread_now(self, limit: timedelta) -> UnreadSource | None:
        if self.unusable:
            return UnreadSource(self.nodes.name, self.unusable)
        return self.nodes.unread(limit) or (None if self.is_updated else UnreadSource(self.nodes.name))

    def look(self, limit: timedelta, of_management: timedelta | None, *, is_distrusted: bool = False) -> None:
        """Look at the connection, and store the skew of its clock; call it more often than every `limit`."""
        self.nodes.look(limit, is_distrusted=is_distrusted)
        self._skew = self.clock_skew(of_management)
        # A cause is kept for a minute: its API server writes the text, and each new text wakes incidents.
        now, unread = monotonic_clock(), self._unread_now(limit)
        has_cause = self._shown is not None and self._shown.problem is not None
        if unread is None or not has_cause or now - self._shown_since >= KEEP_CAUSE_SECONDS:
            self._shown, self._shown_since = unread, now

    def clock_skew(self, of_management: timedelta | None) -> timedelta | None:
        """How far its clock is ahead of the management cluster's; None within the tolerance.

        `of_management` is how far our clock is ahead of the management cluster's; None if that is not known.
        """
        ours = self.nodes.clock_skew()
        skew = None if of_management is None or ours is None else of_management - ours
        return workload_skew(skew, self._skew)


class WorkloadClusters:
    """The watches of all workload clusters of one detector."""

    def __init__(
        self,
        access: WorkloadAccess,
        watch: Callable[[str], NodeWatch],
        handlers: FeedHandlers,
        guard: Guard,
    ) -> None:
        self._access = access
        self._watch = watch
        self._handlers = handlers
        self._guard = guard
        # A problem of one cluster holds only the checks that name it, so the detector is still ready.
        self._problems = Problems("checks are held")
        self._clusters: dict[str, WorkloadCluster] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._being_forgotten: dict[str, tuple[NodeWatch, asyncio.Task[None]]] = {}
        """Clusters whose Nodes are being notified as gone."""
        # A check that is invalid for a moment names no cluster, and then the same cluster again.
        self._forgotten: dict[str, BlindTime] = {}

    @property
    def watches(self) -> Collection[NodeWatch]:
        return [cluster.nodes for cluster in self._clusters.values()]

    def name(self, wanted: Mapping[str, SecretField], tasks: asyncio.TaskGroup) -> None:
        """Watch these clusters from now on, and no others."""
        for cluster in self._clusters.keys() - wanted.keys():
            self._forget(cluster, tasks)
        for cluster in wanted.keys() - self._clusters.keys():
            watched = self._clusters[cluster] = WorkloadCluster(self._watch(cluster), wanted[cluster])
            watched.nodes.resume(self._forgotten.pop(cluster, self._access.blind_time(cluster)))
            earlier, forgetting = self._being_forgotten.pop(cluster, (None, None))
            if earlier is not None and forgetting is not None:
                # Its Nodes that are not notified as gone yet belong to the new watch.
                forgetting.cancel()
                watched.nodes.take_over(earlier)
            self._tasks[cluster] = tasks.create_task(self._supervise(watched))

    def _forget(self, cluster: str, tasks: asyncio.TaskGroup) -> None:
        self._tasks.pop(cluster).cancel()
        watched = self._clusters.pop(cluster)
        self._problems.report(watched.nodes.name, None)
        if watched.nodes.blind_time != BlindTime():
            self._forgotten[cluster] = watched.nodes.blind_time
        while len(self._forgotten) > MOST_FORGOTTEN:
            del self._forgotten[next(iter(self._forgotten))]
        watched.was_tried.set()  # waiters check whether the cluster is still named
        # Before its Nodes go: a Machine does not lose a Node that is no longer watched.
        self._handlers.nodes.cluster_forgotten(cluster)
        forgetting = tasks.create_task(self._forget_nodes(watched.nodes))
        self._being_forgotten[cluster] = watched.nodes, forgetting

    async def _forget_nodes(self, nodes: NodeWatch) -> None:
        with self._guard.item("workload clusters", nodes.cluster):
            await self._handlers.nodes.update_targets(nodes.cluster)
        with self._guard.item("workload clusters", nodes.cluster):
            await nodes.forget()
        del self._being_forgotten[nodes.cluster]

    def blind_times(self) -> dict[str, BlindTime]:
        """The last loss of each cluster, including clusters that no check names now."""
        return self._forgotten | {nodes.cluster: nodes.blind_time for nodes in self.watches}

    def is_named(self, cluster: str) -> bool:
        """True if a check names the cluster now."""
        return cluster in self._clusters

    async def wait_tried(self, cluster: str) -> None:
        """Return when the Nodes were read, the first try failed, or no check names the cluster any more."""
        while (watched := self._clusters.get(cluster)) is not None and not watched.was_tried.is_set():
            await watched.was_tried.wait()

    def is_read(self, cluster: str) -> bool:
        """True once its Nodes were read completely."""
        watched = self._clusters.get(cluster)
        return watched is not None and watched.is_read

    def is_updated(self, cluster: str) -> bool:
        """True once its targets are up to date with its Nodes."""
        watched = self._clusters.get(cluster)
        return watched is not None and watched.is_updated

    def unread(self, cluster: str, limit: timedelta) -> UnreadSource | None:
        """Why the Nodes of a cluster must not be judged; None if they may."""
        watched = self._clusters.get(cluster)
        return UnreadSource(cluster, NOT_CONNECTED) if watched is None else watched.unread(limit)

    def unreachable(self, limit: timedelta) -> dict[str, str]:
        """For each cluster whose Nodes must not be judged, the reason."""
        found = {cluster: watched.unread(limit) for cluster, watched in self._clusters.items()}
        return {cluster: unread.why for cluster, unread in found.items() if unread is not None}

    def clock_skew(self, cluster: str) -> timedelta | None:
        """How far the clock of a cluster is ahead of the management cluster's; None within the tolerance."""
        watched = self._clusters.get(cluster)
        return None if watched is None else watched.clock_skew(self._access.clock_skew())

    def clock_skews(self) -> dict[str, timedelta]:
        """The skew of each cluster whose clock is off by too much."""
        skews = {cluster: self.clock_skew(cluster) for cluster in self._clusters}
        return {cluster: skew for cluster, skew in skews.items() if skew is not None}

    def uids(self) -> dict[str, str]:
        """The uid of the namespace kube-system of each cluster that was read."""
        return {cluster: watched.uid for cluster, watched in self._clusters.items() if watched.uid}

    def connected_anew(self) -> dict[str, datetime]:
        """When the connection was last replaced, or back after a loss, for each cluster where it was."""
        replaced_at = {nodes.cluster: nodes.back for nodes in self.watches}
        return {cluster: back for cluster, back in replaced_at.items() if back is not None}

    def look_at_change(self, cluster: str, limit: timedelta) -> Look | None:
        """The look at the change of a Node that is notified now; None: no check names the cluster."""
        watched = self._clusters.get(cluster)
        return None if watched is None else watched.nodes.look_at_change(limit)

    def look(self, limit: timedelta, distrusted: Collection[str] = ()) -> dict[str, tuple[Gap, ...]]:
        """Look at each connection and report its problem; returns the losses of each by cluster.

        The Nodes of `distrusted` clusters count as lost.
        """
        of_management = self._access.clock_skew()
        for cluster, watched in self._clusters.items():
            watched.look(limit, of_management, is_distrusted=cluster in distrusted)
            unread = watched.unread(limit)
            self._problems.report(watched.nodes.name, None if unread is None else unread.why)
        return {nodes.cluster: nodes.blind_time.gaps for nodes in self.watches if nodes.blind_time.gaps}

    def ages(self) -> dict[str, timedelta | None]:
        """Age of the cache of each cluster; None if it was never complete."""
        return {nodes.name: nodes.age() for nodes in self.watches}

    async def _supervise(self, watched: WorkloadCluster) -> None:
        cluster = watched.nodes.cluster
        try:
            while True:
                with self._guard.item("workload clusters", cluster):
                    await self._run(watched)
                await asyncio.sleep(READ_SECRET_AGAIN.total_seconds())
        finally:
            if cluster not in self._clusters:  # not named again meanwhile
                await self._access.close(cluster)

    async def _run(self, watched: WorkloadCluster) -> None:
        while True:
            connection = await self._connected(watched)
            if connection is None:
                await asyncio.sleep(READ_SECRET_AGAIN.total_seconds())
                continue
            source = watched.nodes.connect(connection)
            async with asyncio.TaskGroup() as tasks:
                watching = [tasks.create_task(source.run()), tasks.create_task(self._follow(watched))]
                await self._until_another(watched, connection, source)
                for task in watching:
                    task.cancel()

    async def _follow(self, watched: WorkloadCluster) -> None:
        await watched.nodes.forget_gone()
        watched.is_read = True  # first: a Node that vanishes from now on counts as lost
        self._handlers.nodes.cluster_read(watched.nodes.cluster)
        if not watched.is_updated:
            # The checks stay held until each target is up to date: their numbers would be wrong before.
            await self._handlers.nodes.update_targets(watched.nodes.cluster)
            watched.is_updated = True
        watched.was_tried.set()
        self._handlers.context_changed()
        await watched.nodes.follow_budget()

    async def _connected(self, watched: WorkloadCluster) -> ClusterConnection | None:
        """The connection that the Secret leads to; None if there is none, or on an error."""
        try:
            connection = await self._access.connect(watched.nodes.cluster, watched.secret)
            # The uid of the cluster, before any of its Nodes is read.
            found = await connection.client.get(NAMESPACES, KUBE_SYSTEM)
        except KubernetesError as error:
            if isinstance(error, NotFound | NotConfigured | RequestRefused) or not watched.nodes.is_read:
                watched.unusable = error.message
            self._tried(watched)
            await asyncio.sleep(retry_after(error).total_seconds())
            return None
        before, watched.uid = watched.uid, str(found["metadata"]["uid"])
        if watched.uid != before:
            self._handlers.context_changed()
        watched.unusable = ""
        return connection

    def _tried(self, watched: WorkloadCluster) -> None:
        if not watched.was_tried.is_set():
            watched.was_tried.set()
            self._handlers.context_changed()

    async def _until_another(
        self, watched: WorkloadCluster, connection: ClusterConnection, source: Reflector[Node]
    ) -> None:
        """Return when the Secret leads to another connection."""
        found: ClusterConnection | None = connection
        while found in (connection, None):
            await self._wait_due(watched, source)
            found = await self._connected(watched)

    async def _wait_due(self, watched: WorkloadCluster, source: Reflector[Node]) -> None:
        """Return when the Secret is to be read again."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if source.problem:
                self._tried(watched)
            is_wrong = bool(watched.unusable or source.problem)
            longest = READ_SECRET_AGAIN if is_wrong else READ_SECRET_EVERY
            if loop.time() - began >= longest.total_seconds():
                return
