"""WorkloadCluster: what is known of the Nodes of one of them, and why nothing may be judged by them."""

import asyncio
from datetime import timedelta

from detector.watching.node_watch import NodeWatch
from detector.watching.source import THEY_NOT_YET
from health.gate.clock_skew import workload_skew
from objects.clusters import SecretField


class WorkloadCluster:
    """One workload cluster."""

    def __init__(self, nodes: NodeWatch, secret: SecretField) -> None:
        self.nodes = nodes
        self.secret = secret
        self._is_read = False
        self._unusable = ""
        """Why the Secret leads to no connection."""
        self.was_tried = asyncio.Event()
        """Set when its Nodes were read, or could not be at the first try."""
        self._skew: timedelta | None = None
        self.uid = ""
        """Of its namespace kube-system, as it was read last."""

    @property
    def is_read(self) -> bool:
        """Whether its Nodes were read completely, each of them told: until then none is known to be gone."""
        return self._is_read

    def note_read(self) -> None:
        """Note that its Nodes were read completely, each of them told."""
        self._is_read = True

    @property
    def is_unusable(self) -> bool:
        """Whether the Secret leads to no connection."""
        return bool(self._unusable)

    def note_usable(self) -> None:
        """Note that the Secret leads to a connection."""
        self._unusable = ""

    def note_unusable(self, why: str) -> None:
        """Note that the Secret leads to none."""
        self._unusable = why

    def problem(self, limit: timedelta) -> str:
        """Why nothing may be judged by its Nodes; "" if nothing is wrong."""
        return self._unusable or self.nodes.problem(limit) or ("" if self._is_read else THEY_NOT_YET)

    def look(self, limit: timedelta, of_management: timedelta | None, *, is_distrusted: bool = False) -> None:
        """Look at the connection, more often than `limit`, and note by how much its clock is off."""
        self.nodes.look(limit, is_distrusted=is_distrusted)
        self._skew = self.clock_skew(of_management)

    def clock_skew(self, of_management: timedelta | None) -> timedelta | None:
        """By how much its clock is ahead of the management cluster's, where that is too much.

        `of_management` is by how much ours is ahead of that one; None where it does not tell.
        """
        ours = self.nodes.clock_skew()
        known = None if of_management is None or ours is None else of_management - ours
        return workload_skew(known, self._skew)

    @property
    def part(self) -> str:
        """What is watched, for people."""
        return f"nodes of {self.nodes.cluster}"
