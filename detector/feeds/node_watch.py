"""NodeWatch: the Nodes of one cluster, and when the connection to it was last lost.

Conditions of a time without connection were not judged when they were current. So when the connection to a
cluster is back after longer than the duration of a check, the timers of its Nodes, and of no others, restart
from there (rule 58). A time in which no detector led counts in the same way for the management cluster.
After a short loss a condition of a workload cluster that did not change at all, not even its heartbeat, was
there meanwhile, and its timer goes on. `BLIND_TIMES` keeps what a new process must know.

The connection to a cluster may change with its credentials. When all Nodes were read through the new one, the
Nodes that vanished meanwhile are notified as gone. A cluster that changes its Nodes too often has a problem,
and its changed Nodes wait (`follow_budget`, ADR 49). The cache goes on, so the latest state of each is passed
on when the cluster is calm.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from detector.feeds.change_budget import CoalescedNodes
from detector.feeds.feed_handlers import FeedHandlers
from health.gate.check_holds import UnreadSource
from health.model.node import Node
from health.model.sighting import Gap, Look, with_gap
from health.model.target import node_name
from kube.connection import ClusterConnection
from kube.record import Change, Key
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings
from kube.resource import NODES
from kube.server_clock import monotonic_clock
from kube.time_slice import TimeSlice
from objects.clusters import MANAGEMENT_CLUSTER
from objects.frozen import Frozen

JUST_BACK = "they can be read again, and their timers restart"


SHORT_LOSS = timedelta(minutes=10)
"""A condition that did not change over a loss of at most this time was there meanwhile."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class BlindTime(Frozen):
    """When one cluster, or one group of its Nodes, could not be judged; by the clock of the API server."""

    until: datetime | None = None
    """The end of the last suspected outage of a group."""
    is_lost: bool = False
    """True while the connection is lost, or an outage suspected."""
    since: datetime | None = None
    """When the present loss began; None: unknown, so that it is longer than any duration."""
    gaps: tuple[Gap, ...] = ()
    """The past losses of the connection that still count."""


LOST = BlindTime(is_lost=True)


class Losses:
    """The losses of one connection, as the age of its cache shows them."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._proven: float | None = None
        """When the cache was last proven, by the monotonic clock; -inf: before this process."""
        self._lost_since = LONG_AGO
        """When a loss that an earlier process noted began."""
        self.blind_time = BlindTime()
        """As of the last look."""

    def resume(self, noted: BlindTime) -> None:
        """Continue from the note of an earlier process."""
        self.blind_time = noted
        self._lost_since = noted.since or LONG_AGO
        self._proven = -math.inf if noted.is_lost else None

    def add(self, gap: Gap) -> None:
        """Note a time in which the cluster was not judged."""
        gaps = with_gap(self.blind_time.gaps, gap)
        self.blind_time = self.blind_time.model_copy(update={"gaps": gaps})

    def look(self, age: timedelta, limit: timedelta) -> Gap | None:
        """Note that the cache has this age; returns the loss that is over since the last look."""
        now, gap = self._now(), None
        if self.was_lost(age, limit):
            gap = Gap(since=self._last_proof(now), until=now - age)
            self.add(gap)
        self._proven = _proven_at(age)
        is_lost = age > limit
        since = self._last_proof(now) if is_lost else None
        self.blind_time = BlindTime(is_lost=is_lost, since=since, gaps=self.blind_time.gaps)
        return gap

    def was_lost(self, age: timedelta, limit: timedelta) -> bool:
        """True if a cache of this age was older than `limit` since the last look."""
        return self._proven is not None and _proven_at(age) - self._proven > limit.total_seconds()

    def _last_proof(self, now: datetime) -> datetime:
        if self._proven is None or self._proven == -math.inf:
            return self._lost_since
        return now - timedelta(seconds=monotonic_clock() - self._proven)


def _proven_at(age: timedelta) -> float:
    return monotonic_clock() - age.total_seconds()


class NodeWatch:
    """The watch of the Nodes of one cluster."""

    were_notified = False
    """True once handlers were notified of each Node: during the first list, Nodes seem to be missing."""

    def __init__(
        self,
        cluster: str,
        handlers: FeedHandlers,
        reflectors: CurrentSettings,
        now: Callable[[], datetime],
    ) -> None:
        """`now` is the time by which deadlines are judged."""
        self.cluster, self.name = cluster, f"nodes of {cluster}" if cluster else "nodes"
        self._now = now
        self._handlers = handlers
        self._reflectors = reflectors
        self._connection: ClusterConnection | None = None
        self._source: Reflector[Node] | None = None  # of `_connection`
        self._before: Reflector[Node] | None = None
        """The reflector of the previous connection, used until the new one has read everything."""
        # Names of Nodes that exist, and of Nodes that do not decode, as last notified.
        self._notified, self._notified_undecodable = set[str](), set[str]()
        self._coalesced = CoalescedNodes(
            lambda: 0 if self._source is None else len(self._source.store), self._notify_latest
        )
        self._losses = Losses(now)
        self._at_the_loss: Mapping[Key, Node] = {}
        """The Nodes as they were when the connection was lost."""
        self._is_distrusted = False
        self.back: datetime | None = None
        """When the connection was last replaced, or back after a loss; None: neither has happened."""

    @property
    def blind_time(self) -> BlindTime:
        """The losses of the connection, as of the last look."""
        return self._losses.blind_time

    def connect(self, connection: ClusterConnection) -> Reflector[Node]:
        """Read through `connection` from now on; returns the reflector, which the caller runs."""
        if self._connection is not None and self._connection is not connection:
            self.back = self._now()
        self._connection, self._before = connection, self._read
        self._source = Reflector(
            connection.transport,
            NODES,
            Node,
            notify=self._changed,
            on_undecodable=self._undecodable,
            settings=self._reflectors,
            cluster=connection.cluster,
        )
        return self._source

    async def wait_read(self) -> None:
        """Return when all existing Nodes were read and notified."""
        if self._source is not None:
            await self._source.wait_synced()
            self.were_notified = True

    async def forget_gone(self) -> None:
        """When all existing Nodes were read, notify of those that vanished while the watch was interrupted.

        The watch goes on meanwhile, so each Node is looked up at its turn.
        """
        source = self._source
        if source is None:
            return
        await self.wait_read()
        time_slice = TimeSlice()
        for name in tuple(self._notified):
            exists = Key("", name) in source.store or Key("", name) in source.undecodable
            if name in self._notified and not exists:
                self._notify_name(name, None)
            await time_slice.yield_if_over()
        for name in tuple(self._notified_undecodable):
            if name in self._notified_undecodable and Key("", name) not in source.undecodable:
                self._notify_undecodable_name(name, "")
            await time_slice.yield_if_over()

    async def follow_budget(self) -> None:
        """Hold back Nodes that change too often, until cancelled; call it after the first complete read."""
        await self._coalesced.follow()

    async def forget(self) -> None:
        """Notify of every Node as gone, because no check names this cluster any more."""
        time_slice = TimeSlice()
        while self._notified:
            self._notify_name(next(iter(self._notified)), None)
            await time_slice.yield_if_over()
        while self._notified_undecodable:
            self._notify_undecodable_name(next(iter(self._notified_undecodable)), "")
            await time_slice.yield_if_over()

    def take_over(self, earlier: "NodeWatch") -> None:
        """Take over the Nodes of an earlier watch of this cluster that it has not notified as gone.

        `forget_gone` notifies of Nodes that are gone by then.
        """
        self._notified |= earlier._notified  # noqa: SLF001  of this class
        self._notified_undecodable |= earlier._notified_undecodable  # noqa: SLF001

    @property
    def _read(self) -> Reflector[Node] | None:
        return self._source if self._source is not None and self._source.synced else self._before

    @property
    def is_read(self) -> bool:
        """True once the Nodes were read completely."""
        return self._read is not None

    def age(self) -> timedelta | None:
        """Age of the cache; None if it was never complete."""
        return None if self._read is None else self._read.age()

    def clock_skew(self) -> timedelta | None:
        """How far our wall clock is ahead of the API server's; None if it sends no time."""
        return None if self._connection is None else self._connection.server_clock.skew()

    def unread(self, limit: timedelta) -> UnreadSource | None:
        """Why the Nodes must not be judged; None if they may."""
        age, problem = self.age(), None if self._source is None else self._source.problem
        if age is None or age > limit:
            source = self._read or self._source
            since = None if source is None or not (problem or age) else source.unproven_since
            return UnreadSource(self.name, problem, since)
        # No verdict before the timers have restarted, which takes up to a second.
        is_just_back = self._losses.was_lost(age, limit) and not self._is_distrusted
        held_back = self._coalesced.problem or (JUST_BACK if is_just_back else "")
        return UnreadSource(self.name, held_back) if held_back else None

    def resume(self, noted: BlindTime) -> None:
        """Continue from the note of an earlier process; call it before the first look."""
        self._losses.resume(noted)
        if noted.gaps and self.cluster != MANAGEMENT_CLUSTER:
            self.back = noted.gaps[-1].until

    def add_gap(self, gap: Gap) -> None:
        """Note a time in which this cluster was not judged, for another reason than its connection."""
        self._losses.add(gap)

    def look(self, limit: timedelta, *, is_distrusted: bool = False) -> None:
        """Note whether the cache grew older than `limit`, and when it was fresh again; call it more often.

        A distrusted cluster counts as lost (rule 50).
        """
        self._is_distrusted = is_distrusted
        if is_distrusted:
            self.resume(BlindTime(gaps=self.blind_time.gaps, is_lost=True))
            return
        age, was_lost = self.age(), self.blind_time.is_lost
        if age is None or self._read is None:
            return
        gap = self._losses.look(age, limit)
        if gap is not None:
            self.back = gap.until
            self._report_unmoved(gap, self._read.store)
        if self.blind_time.is_lost and not was_lost:
            self._at_the_loss = dict(self._read.store)

    def look_at_change(self, limit: timedelta) -> Look:
        """The look at the change that is notified now; it is broken after more than `limit`."""
        source, now = self._source, self._now()
        proven = source.proven_before if source is not None else None
        if proven is None and self._before is not None:
            before = self._before.age()
            proven = None if before is None else _proven_at(before)
        return look_at(proven, now, limit)

    def _report_unmoved(self, gap: Gap, now_there: Mapping[Key, Node]) -> None:
        """Report the conditions that a short loss of a workload cluster did not change at all."""
        earlier, self._at_the_loss = self._at_the_loss, {}
        if self.cluster == MANAGEMENT_CLUSTER or gap.lasted > SHORT_LOSS:
            return
        for key, node in earlier.items():
            types = _unmoved(node, now_there[key]) if key in now_there else ()
            if types:
                self._handlers.nodes.node_unmoved(node_name(key.name, self.cluster), types, gap.until)

    def _notify_latest(self, name: str, was_gone: bool) -> None:  # noqa: FBT001  as CoalescedNodes asks
        """Notify of a Node that waited, in the order of a reflector: an error first, and its end last."""
        source, key = self._source, Key("", name)
        if source is None:
            return
        problem, node = source.undecodable.get(key, ""), source.store.get(key)
        if problem:
            self._notify_undecodable_name(name, problem)
        if name in self._notified and (was_gone or node is None):
            self._notify_name(name, None)
        if node is not None:
            self._notify_name(name, node)
        if not problem and name in self._notified_undecodable:
            self._notify_undecodable_name(name, "")

    def _changed(self, change: Change[Node]) -> None:
        if not self._coalesced.take(change.key.name, is_gone=change.new is None):
            self._notify_name(change.key.name, change.new)

    def _notify_name(self, name: str, node: Node | None) -> None:
        if node is None:
            self._notified.discard(name)
        else:
            self._notified.add(name)
        self._handlers.nodes.node_changed(node_name(name, self.cluster), node)

    def _undecodable(self, key: Key, problem: str) -> None:
        if not self._coalesced.take(key.name):
            self._notify_undecodable_name(key.name, problem)

    def _notify_undecodable_name(self, name: str, problem: str) -> None:
        if problem:
            self._notified_undecodable.add(name)
        else:
            self._notified_undecodable.discard(name)
        self._handlers.nodes.decoding_changed(node_name(name, self.cluster), problem)


def look_at(proven: float | None, now: datetime, limit: timedelta) -> Look:
    """The look at a change that is notified at `now`, after the cache was proven true at `proven`.

    `proven` is a time of the monotonic clock; None: never. A look is broken after more than `limit`.
    """
    if proven is None:
        return Look(at=now)
    age = timedelta(seconds=monotonic_clock() - proven)
    return Look(at=now, since=now - age, is_unbroken=age <= limit)


def _unmoved(before: Node, now: Node) -> tuple[str, ...]:
    """The types of conditions with the same status, transition time and heartbeat."""
    if before.metadata.uid != now.metadata.uid:
        return ()
    there = {condition.type: condition for condition in now.status.conditions}
    return tuple(
        was.type
        for was in before.status.conditions
        if was == there.get(was.type)
        and was.last_heartbeat_time is not None
        and was.last_heartbeat_time == there[was.type].last_heartbeat_time
    )
