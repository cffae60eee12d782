"""WorkloadCluster: the Nodes of one workload cluster, and why they may not be judged."""

import asyncio
from datetime import timedelta

from detector.feeds.node_watch import NodeWatch
from detector.feeds.source import THEY_NOT_YET
from health.cluster.clock_skew import workload_skew
from health.gate.check_holds import SILENT
from kube.server_clock import monotonic_clock
from objects.clusters import SecretField

KEEP_CAUSE_SECONDS = 60.0
_WITHOUT_CAUSE = ("", THEY_NOT_YET, SILENT)


class WorkloadCluster:
    """The state of the watch of one workload cluster."""

    def __init__(self, nodes: NodeWatch, secret: SecretField) -> None:
        self.nodes = nodes
        self.secret = secret
        self._is_read = self._is_updated = False
        self._unusable = ""
        """Why the Secret leads to no connection."""
        self._shown = ""
        """The problem as of the last look; a cause stays the same for a minute."""
        self._shown_since = 0.0
        self.was_tried = asyncio.Event()
        """Set when its Nodes were read, or the first try failed."""
        self._skew: timedelta | None = None
        self.uid = ""
        """The uid of its namespace kube-system, as last read."""

    @property
    def is_read(self) -> bool:
        """True once all its Nodes were read and notified: before that, none is known to be gone."""
        return self._is_read

    def note_read(self) -> None:
        self._is_read = True

    @property
    def is_updated(self) -> bool:
        """True once each target was made anew after the first read: before that, numbers are wrong."""
        return self._is_updated

    def note_updated(self) -> None:
        self._is_updated = True

    def note_uid(self, uid: str) -> bool:
        """Note the uid as read now; returns whether it changed."""
        before, self.uid = self.uid, uid
        return uid != before

    @property
    def is_unusable(self) -> bool:
        """True if the Secret leads to no connection."""
        return bool(self._unusable)

    def note_usable(self) -> None:
        self._unusable = ""

    def note_unusable(self, why: str) -> None:
        """Note why the Secret leads to no connection."""
        self._unusable = why

    def problem(self, limit: timedelta) -> str:
        """Why its Nodes must not be judged; "" if they may."""
        present = self._present_problem(limit)
        return present and (self._shown or present)

    def _present_problem(self, limit: timedelta) -> str:
        return self._unusable or self.nodes.problem(limit) or ("" if self._is_updated else THEY_NOT_YET)

    def look(self, limit: timedelta, of_management: timedelta | None, *, is_distrusted: bool = False) -> None:
        """Look at the connection, and store the skew of its clock; call it more often than every `limit`."""
        self.nodes.look(limit, is_distrusted=is_distrusted)
        self._skew = self.clock_skew(of_management)
        self._show(self._present_problem(limit))

    def _show(self, problem: str) -> None:
        """Keep a cause for a minute: its API server writes the text, and each new text wakes incidents."""
        now = monotonic_clock()
        is_kept = self._shown not in _WITHOUT_CAUSE and now - self._shown_since < KEEP_CAUSE_SECONDS
        if not problem or not is_kept:
            self._shown, self._shown_since = problem, now

    def clock_skew(self, of_management: timedelta | None) -> timedelta | None:
        """How far its clock is ahead of the management cluster's; None within the tolerance.

        `of_management` is how far our clock is ahead of the management cluster's; None if that is not known.
        """
        ours = self.nodes.clock_skew()
        skew = None if of_management is None or ours is None else of_management - ours
        return workload_skew(skew, self._skew)

    @property
    def part(self) -> str:
        """The name of this source in logs and metrics."""
        return f"nodes of {self.nodes.cluster}"
