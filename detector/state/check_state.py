"""CheckState: one check as the API server stores it, and its targets, counted change by change.

`CheckRecord` reads a check loosely, so that an invalid check stays visible. The counts do not depend on time:
a target with a matching condition is unhealthy whether its timer still runs or not, and a target whose
request still exists is not healthy yet (NHC 2.2). So a heartbeat, or the passing of a deadline, never changes
a number.
"""

from copy import copy
from typing import Any

from pydantic import Field

from health.check.health_check import HealthCheck, ParsedCheck
from health.check.ordered import order_on
from health.check.threshold import Allowance
from health.cluster.cluster_context import ClusterContext
from health.kinds.check_kind import CheckKind
from health.model.remediation_order import RemediationOrder
from health.model.target import Target
from health.policy.policy_in_force import is_in_shadow
from objects.clusters import MANAGEMENT_CLUSTER
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

_NAMES = ("selected", "unhealthy", "not_healthy", "confirmed", "uncounted")
_BY_NAME = (*_NAMES, "orders")
"""The sets of names of targets in a CheckState."""


class CheckRecord(FrozenObject):
    """Spec and status are kept as they are; the kind's parser judges the spec."""

    api_version: str = ""
    """The version in which it was read."""
    metadata: ObjectMetadata
    spec: dict[str, Any] = Field(default_factory=dict)
    status: dict[str, Any] = Field(default_factory=dict)

    def says_the_same(self, other: "CheckRecord") -> bool:
        """True if the parser would read the same; status is not compared."""
        ours, theirs = self.metadata, other.metadata
        is_same_version = self.api_version == other.api_version
        return is_same_version and (ours.generation, ours.annotations) == (
            theirs.generation,
            theirs.annotations,
        )

    def parse(self, kind: CheckKind) -> ParsedCheck:
        """The check, or the reason why it is invalid."""
        raw = {"apiVersion": self.api_version, "metadata": self.metadata, "spec": self.spec}
        return ParsedCheck.of(kind.parse, raw)


class CheckState:
    """One check, and the names of its targets by what they count as."""

    def __init__(self, kind: CheckKind, record: CheckRecord) -> None:
        self.kind = kind
        self.record = record
        self.parsed = record.parse(kind)
        self.check = self.parsed.check
        """None if the check is invalid."""
        self.selected: set[str] = set()
        self.unhealthy: set[str] = set()
        """Selected targets with a matching condition, expired or not."""
        self.not_healthy: set[str] = set()
        """Selected targets that count as not healthy, regardless of requests."""
        self.confirmed: set[str] = set()
        """Healthy targets that a person marked as healthy."""
        self.orders: dict[str, tuple[str, RemediationOrder]] = {}
        """The orders to remediate a target, in force or not, with its uid."""
        self.uncounted: set[str] = set()
        """Selected targets that no threshold counts, neither as healthy nor as unhealthy."""
        self._listed: tuple[CheckRecord, frozenset[tuple[str, str]]] | None = None

    @property
    def listed_request_kinds(self) -> frozenset[tuple[str, str]]:
        """Kinds, with their apiVersion, of the requests that its status lists."""
        # Called for each question of a thousand incidents; a status may list a thousand requests.
        if self._listed is None or self._listed[0] is not self.record:
            self._listed = self.record, self.kind.stored_requests(self.record.status)
        return self._listed[1]

    def frozen(self) -> "CheckState":
        copied = copy(self)
        for field in _BY_NAME:
            setattr(copied, field, copy(getattr(self, field)))
        return copied

    def ignores(self, name: str, target: Target | None) -> bool:
        """True if the check neither selects the target now nor selected it before."""
        if name in self.selected:
            return False
        return target is None or self.check is None or not self.check.selects(target)

    def see(self, name: str, target: Target | None, context: ClusterContext) -> bool:
        """Count a target as it is now; returns whether that changed anything for this check."""
        before = self._place_of(name)
        for field in _NAMES:
            getattr(self, field).discard(name)
        self.orders.pop(name, None)
        if target is not None and self.check is not None:
            self._place(self.check, name, target, context)
        return before != self._place_of(name)

    def count_unjudged(self, name: str) -> bool:
        """Count a target that cannot be judged as not healthy; returns whether that is new."""
        before = self._place_of(name)
        self.selected.add(name)
        self.not_healthy.add(name)
        return before != self._place_of(name)

    def _place_of(self, name: str) -> tuple[bool, ...]:
        counted = (self.selected, self.unhealthy, self.not_healthy, self.uncounted)
        return tuple(name in names for names in counted)

    def _place(self, check: HealthCheck, name: str, target: Target, context: ClusterContext) -> None:
        if not check.selects(target):
            return
        self.selected.add(name)
        if (order := order_on(check.reference, target)) is not None:
            self.orders[name] = target.metadata.uid, order
        if not check.counts_as_healthy(target, context):
            self.not_healthy.add(name)
        if not check.counts(target):
            self.uncounted.add(name)
        if not check.is_unhealthy(target, context):
            if target.is_confirmed_healthy:
                self.confirmed.add(name)
            return
        self.unhealthy.add(name)

    @property
    def managed_cluster(self) -> str:
        """The cluster that the check is about; the management cluster if the check is invalid."""
        return MANAGEMENT_CLUSTER if self.check is None else self.check.managed_cluster

    def node_cluster_in(self, context: ClusterContext) -> str:
        """The cluster of the Nodes that it judges; the management cluster if the check is invalid."""
        if self.check is None:
            return MANAGEMENT_CLUSTER
        return self.check.node_cluster(context)

    def refresh(self, record: CheckRecord) -> None:
        """Store a newer record that the parser would read the same, for its status."""
        self.record = record

    def is_silent_in(self, context: ClusterContext) -> bool:
        """True if the check judges no target now: it is invalid, or fully paused."""
        return self.check is None or self.check.is_fully_paused_in(context)

    def is_shadow_in(self, context: ClusterContext) -> bool:
        """True if nothing may be written for the check; also known of an invalid one."""
        return is_in_shadow(self.record.metadata.annotations, context.policy)

    def concerned_in(self, context: ClusterContext, *, removes_confirmations: bool) -> set[str]:
        """Names of the targets that need an incident, apart from those with requests.

        The incident of a healthy target removes the person's mark (NHC 2.1/13) or order that is over, unless
        nothing may be written.
        """
        marked = self.orders.keys() | self.confirmed if removes_confirmations else self.orders.keys()
        return self.unhealthy | marked if marked and not self.is_shadow_in(context) else self.unhealthy

    def allowance(self, check: HealthCheck, with_requests: frozenset[str]) -> Allowance:
        """The remediations that the threshold allows; `check` is this check, parsed."""
        # Called for each of a thousand incidents, so walk over targets that are few: those with requests, and
        # those that are not counted.
        requested = with_requests & self.selected if check.counts_requests else frozenset()
        not_healthy = len(self.not_healthy) + len(requested - self.not_healthy)
        not_healthy -= sum(name in self.not_healthy or name in requested for name in self.uncounted)
        total = len(self.selected) - len(self.uncounted)
        return check.allowance(total=total, healthy=total - not_healthy)
