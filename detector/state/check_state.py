"""CheckState: one check as the API server stores it, and its targets, counted change by change.

The record is read so loosely that a bad one does not hide. What counts does not depend on time: a target
with a matching condition is unhealthy whether its timer still runs or not, and one whose request still exists
is not healthy yet (NHC 2.2). So a heartbeat, or the passing of a deadline, never changes a number.
"""

from typing import Any

from pydantic import Field

from health.gate.cluster_context import ClusterContext
from health.gate.health_check import HealthCheck
from health.gate.invalid_check import InvalidCheckError
from health.gate.shadow import is_in_shadow
from health.gate.threshold import Allowance
from health.kinds.check_kind import CheckKind
from health.model.target import Target
from objects.clusters import MANAGEMENT_CLUSTER
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata


class CheckRecord(FrozenObject):
    """Spec and status are kept as they are; the kind's parser judges the spec."""

    api_version: str = ""
    """The version that it was read in."""
    metadata: ObjectMetadata
    spec: dict[str, Any] = Field(default_factory=dict)
    status: dict[str, Any] = Field(default_factory=dict)

    def says_the_same(self, other: "CheckRecord") -> bool:
        """Whether what a parser goes by is the same: a status that moves on is nothing new."""
        ours, theirs = self.metadata, other.metadata
        is_same_version = self.api_version == other.api_version
        return is_same_version and (ours.generation, ours.annotations) == (
            theirs.generation,
            theirs.annotations,
        )

    def parse(self, kind: CheckKind) -> HealthCheck | InvalidCheckError:
        """The check, or what is wrong with it."""
        try:
            return kind.parse({"apiVersion": self.api_version, "metadata": self.metadata, "spec": self.spec})
        except InvalidCheckError as error:
            return error


class CheckState:
    """One check and its targets."""

    def __init__(self, kind: CheckKind, record: CheckRecord, check: HealthCheck | InvalidCheckError) -> None:
        self.kind = kind
        self.record = record
        self.check = check
        self.selected: set[str] = set()
        self.unhealthy: set[str] = set()
        """Selected targets with a matching condition, expired or not."""
        self.not_healthy: set[str] = set()
        """Selected targets that count as not healthy, whatever requests there are."""
        self.confirmed: set[str] = set()
        """Healthy ones that a person marked as healthy."""
        self.reconfigured: set[str] = set()
        """Unhealthy ones that the machine config operator works on: once expired, they hold the check."""
        self._listed: tuple[CheckRecord, frozenset[tuple[str, str]]] | None = None

    @property
    def listed_request_kinds(self) -> frozenset[tuple[str, str]]:
        """Kinds, with their apiVersion, of the requests that its status lists."""
        # It is asked for each question of a thousand incidents, over a thousand entries.
        if self._listed is None or self._listed[0] is not self.record:
            self._listed = self.record, self.kind.stored_requests(self.record.status)
        return self._listed[1]

    def ignores(self, name: str, target: Target | None) -> bool:
        """Whether this is no target of it, and was none."""
        if name in self.selected:
            return False
        return target is None or isinstance(self.check, InvalidCheckError) or not self.check.selects(target)

    def see(self, name: str, target: Target | None, context: ClusterContext) -> bool:
        """Take in what a target is now; answers whether that changed anything for this check."""
        before = self._place_of(name)
        for known in (self.selected, self.unhealthy, self.not_healthy, self.confirmed, self.reconfigured):
            known.discard(name)
        if target is not None and not isinstance(self.check, InvalidCheckError):
            self._place(self.check, name, target, context)
        return before != self._place_of(name)

    def doubt(self, name: str) -> bool:
        """Count a target that cannot be judged as one that is not healthy; answers whether that is new."""
        before = self._place_of(name)
        self.selected.add(name)
        self.not_healthy.add(name)
        return before != self._place_of(name)

    def _place_of(self, name: str) -> tuple[bool, bool, bool]:
        return (name in self.selected, name in self.unhealthy, name in self.not_healthy)

    def _place(self, check: HealthCheck, name: str, target: Target, context: ClusterContext) -> None:
        if not check.selects(target):
            return
        self.selected.add(name)
        if not check.counts_as_healthy(target, context):
            self.not_healthy.add(name)
        if not check.is_unhealthy(target, context):
            if target.is_confirmed_healthy:
                self.confirmed.add(name)
            return
        self.unhealthy.add(name)
        if target.configuration_to_come:
            self.reconfigured.add(name)

    @property
    def managed_cluster(self) -> str:
        """The cluster that it is about; its own where it cannot be read."""
        return MANAGEMENT_CLUSTER if isinstance(self.check, InvalidCheckError) else self.check.managed_cluster

    def node_cluster_in(self, context: ClusterContext) -> str:
        """The cluster whose Nodes its verdicts rest on; its own where it cannot be read."""
        if isinstance(self.check, InvalidCheckError):
            return MANAGEMENT_CLUSTER
        return self.check.node_cluster(context)

    def refresh(self, record: CheckRecord) -> None:
        """Take in a newer version of the check that says the same: its status went on."""
        self.record = record

    def is_silent_in(self, context: ClusterContext) -> bool:
        """Whether it says nothing of any target now: it cannot be read, or is fully paused."""
        return isinstance(self.check, InvalidCheckError) or self.check.is_fully_paused_in(context)

    def is_shadow_in(self, context: ClusterContext) -> bool:
        """Whether nothing may be written for it, whether it can be read or not."""
        return is_in_shadow(self.record.metadata.annotations, context.policy)

    def concerned_in(self, context: ClusterContext, *, removes_confirmations: bool) -> set[str]:
        """The targets that there should be incidents for, those with requests aside.

        The mark of one that is healthy is to be taken off (NHC 2.1/13), unless nothing is written.
        """
        if removes_confirmations and self.confirmed and not self.is_shadow_in(context):
            return self.unhealthy | self.confirmed
        return self.unhealthy

    def allowance(self, check: HealthCheck, with_requests: frozenset[str]) -> Allowance:
        """What the threshold of `check`, which is this one parsed, says of the numbers."""
        total = len(self.selected)
        # Asked for each of a thousand incidents: a walk over those with requests, which are few.
        requested = with_requests & self.selected if check.counts_requests else frozenset()
        not_healthy = len(self.not_healthy) + len(requested - self.not_healthy)
        return check.allowance(total=total, healthy=total - not_healthy)
