"""NodeWatch: the Nodes of one cluster, through the connection to it, and until when that was blind.

What the conditions of Nodes said in a time in which nobody could read them, nobody judged. So where a
connection to another cluster that was lost is there again, the clocks of its Nodes, and of no others, restart
from there, as after an upgrade. Our own cluster needs no such rule, as without it no check is read either,
unless the outage guard is on: kubelets could not reach it either.
`BlindTimes` keeps what a new process must know of that.

A cluster may be reached through one connection after the other, as its credentials change. Nodes that went
while there was none are told as gone once the next one has read all of them.

A cluster that changes its Nodes too often has a problem, and each Node waits (`follow_budget`, ADR 49). The
cache goes on, so the latest state of each is told when the cluster is calm.
"""

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from detector.watching.coalesced_nodes import CoalescedNodes
from detector.watching.source import THEY_NOT_YET
from health.model.node import Node
from health.model.target import TargetName, node_name
from kube.connection import ClusterConnection
from kube.record import Change, Key
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings
from kube.resource import NODES
from kube.server_clock import monotonic_clock
from kube.time_slice import TimeSlice
from objects.frozen import Frozen

TOO_OLD = "without any activity for too long"
JUST_BACK = "they can be seen again, and their clocks restart"


class BlindTime(Frozen):
    """What is known of lost connections to one cluster."""

    until: datetime | None = None
    """The end of the last time in which it was lost, by the clock of the management cluster's API server."""
    is_lost: bool = False
    """Whether it is lost now."""


LOST = BlindTime(is_lost=True)


class NodeWatch:
    """The Nodes of one cluster."""

    def __init__(
        self,
        cluster: str,
        notify: Callable[[TargetName, Node | None], None],
        notify_undecodable: Callable[[TargetName, str], None],
        reflectors: CurrentSettings,
        now: Callable[[], datetime],
    ) -> None:
        """`now` is the time by which deadlines are judged."""
        self.cluster = cluster
        self._now = now
        self._notify = notify
        self._notify_undecodable = notify_undecodable
        self._reflectors = reflectors
        self._connection: ClusterConnection | None = None
        self._source: Reflector[Node] | None = None
        self._before: Reflector[Node] | None = None
        """What was read through the connection before, which ages, until this one has read all."""
        self._told: set[str] = set()
        """The names of those that are there, as far as anybody was told."""
        self._undecodable_told: set[str] = set()
        """The names of those that do not decode, as far as anybody was told."""
        self._coalesced = CoalescedNodes(self._number, self._tell_latest)
        self._proven: float | None = None
        self._is_distrusted = False
        self.back: datetime | None = None
        """When the connection was made anew; None: it is the first one."""
        self.blind_time = BlindTime()
        """As of the last look."""

    def connect(self, connection: ClusterConnection) -> Reflector[Node]:
        """Read through `connection` from now on, whatever was read before; answers what is to be run."""
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
        """Return when those that are there were read completely, and told."""
        if self._source is not None:
            await self._source.wait_synced()

    async def forget_gone(self) -> None:
        """Tell of those that went while nobody looked, when all that are there were read.

        The watch goes on meanwhile, so each Node is looked for at its turn.
        """
        source = self._source
        if source is None:
            return
        await self.wait_read()
        time_slice = TimeSlice()
        for name in tuple(self._told):
            if name in self._told and not _shows(source, name):
                self._tell(name, None)
            await time_slice.yield_if_over()
        for name in tuple(self._undecodable_told):
            if name in self._undecodable_told and Key("", name) not in source.undecodable:
                self._tell_undecodable(name, "")
            await time_slice.yield_if_over()

    async def follow_budget(self) -> None:
        """Let Nodes wait while they change too often, until cancelled; call it when all were read."""
        await self._coalesced.follow()

    async def forget(self) -> None:
        """Tell of each Node as gone: nobody asks for this cluster any more."""
        time_slice = TimeSlice()
        while self._told:
            self._tell(next(iter(self._told)), None)
            await time_slice.yield_if_over()
        while self._undecodable_told:
            self._tell_undecodable(next(iter(self._undecodable_told)), "")
            await time_slice.yield_if_over()

    def take_over(self, earlier: "NodeWatch") -> None:
        """Take over the Nodes that an earlier watch of this cluster told of and has not told as gone.

        `forget_gone` tells of those that are gone by then.
        """
        self._told |= earlier._told  # noqa: SLF001  of this class
        self._undecodable_told |= earlier._undecodable_told  # noqa: SLF001

    @property
    def _read(self) -> Reflector[Node] | None:
        return self._source if self._source is not None and self._source.synced else self._before

    @property
    def is_read(self) -> bool:
        """Whether they were read completely, however long ago."""
        return self._read is not None

    def age(self) -> timedelta | None:
        """How old what is known of them is; None if it was never complete."""
        return None if self._read is None else self._read.age()

    def clock_skew(self) -> timedelta | None:
        """By how much our wall clock is ahead of that of its API server; None where it does not tell."""
        return None if self._connection is None else self._connection.server_clock.skew()

    def problem(self, limit: timedelta) -> str:
        """Why nothing may be judged by them; "" if nothing is wrong."""
        age = self.age()
        reported = self._source.problem if self._source is not None else ""
        if age is None:
            return reported or THEY_NOT_YET
        if age > limit:
            return reported or TOO_OLD
        if self._coalesced.problem:
            return self._coalesced.problem
        # Nothing is judged before the clocks restarted, within a second.
        return JUST_BACK if self._was_lost(age, limit) and not self._is_distrusted else ""

    def resume(self, noted: BlindTime) -> None:
        """Go on from what an earlier process noted; before the first look."""
        self.blind_time = noted
        self._proven = -math.inf if noted.is_lost else None

    def look(self, limit: timedelta, *, is_distrusted: bool = False) -> None:
        """Note whether the cache grew older than `limit`, and is true again; look more often than that.

        A cluster that is not believed counts as one that is not seen (rule 50).
        """
        self._is_distrusted = is_distrusted
        if is_distrusted:
            self.resume(BlindTime(until=self.blind_time.until, is_lost=True))
            return
        age = self.age()
        if age is None:
            return
        until = self._now() - age if self._was_lost(age, limit) else self.blind_time.until
        self._proven = self._proven_at(age)
        self.blind_time = BlindTime(until=until, is_lost=age > limit)

    def _was_lost(self, age: timedelta, limit: timedelta) -> bool:
        return self._proven is not None and self._proven_at(age) - self._proven > limit.total_seconds()

    def _proven_at(self, age: timedelta) -> float:
        return monotonic_clock() - age.total_seconds()

    def _number(self) -> int:
        return 0 if self._source is None else len(self._source.store)

    def _tell_latest(self, name: str, was_gone: bool) -> None:  # noqa: FBT001  as CoalescedNodes asks
        """Tell of a Node that has waited, as a reflector does: an error first, and its end last."""
        source, key = self._source, Key("", name)
        if source is None:
            return
        problem, node = source.undecodable.get(key, ""), source.store.get(key)
        if problem:
            self._tell_undecodable(name, problem)
        if name in self._told and (was_gone or node is None):
            self._tell(name, None)
        if node is not None:
            self._tell(name, node)
        if not problem and name in self._undecodable_told:
            self._tell_undecodable(name, "")

    def _changed(self, change: Change[Node]) -> None:
        if not self._coalesced.take(change.key.name, is_gone=change.new is None):
            self._tell(change.key.name, change.new)

    def _tell(self, name: str, node: Node | None) -> None:
        if node is None:
            self._told.discard(name)
        else:
            self._told.add(name)
        self._notify(node_name(name, self.cluster), node)

    def _undecodable(self, key: Key, problem: str) -> None:
        if not self._coalesced.take(key.name):
            self._tell_undecodable(key.name, problem)

    def _tell_undecodable(self, name: str, problem: str) -> None:
        if problem:
            self._undecodable_told.add(name)
        else:
            self._undecodable_told.discard(name)
        self._notify_undecodable(node_name(name, self.cluster), problem)


def _shows(source: Reflector[Node], name: str) -> bool:
    """Whether a Node of this name is there, decodable or not."""
    key = Key("", name)
    return key in source.store or key in source.undecodable
