"""HealthCheck: the interface of every kind of check, so that no other code depends on the kind.

`Check` is the base class of the kinds, with defaults.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias, TypeVar

from health.check.template_validity import TemplateKinds
from health.check.threshold import Allowance
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.model.observation import Hold
from health.model.references import CheckReference, Step
from health.model.verdict import Fact, UnhealthyCondition, Verdict
from health.policy.check_choices import CheckChoices

Watched_contra = TypeVar("Watched_contra", contravariant=True)
"""The targets of a kind of check, in the form that its rules use."""


class HealthCheckOf(Protocol[Watched_contra]):
    """One parsed health check with its rules."""

    @property
    def reference(self) -> CheckReference: ...

    @property
    def generation(self) -> int: ...

    @property
    def choices(self) -> CheckChoices:
        """The settings that people make by annotations of the check."""

    @property
    def managed_cluster(self) -> str:
        """The cluster that the check is about, even while no Nodes are read there."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that make requests, in order, for any target."""

    @property
    def counts_requests(self) -> bool:
        """True if a target with an existing request counts as unhealthy."""

    @property
    def storm_cooldown(self) -> timedelta | None:
        """How long the threshold must hold after a storm; None for a kind without storms."""

    @property
    def healthy_delay(self) -> timedelta:
        """How long the requests of a recovered target are kept; negative: until confirmed."""

    def hold_in(self, context: ClusterContext) -> Hold | None:
        """The hold of the check as a whole in this context, regardless of its numbers."""

    def is_fully_paused_in(self, context: ClusterContext) -> bool:
        """True if that hold also stops clean-up and marks, so that nothing is written (rule 7)."""

    def unjudged_in(self, context: ClusterContext) -> Hold | None:
        """The hold while its targets cannot be judged at all, not even as healthy."""

    def node_cluster(self, context: ClusterContext) -> str:
        """The cluster whose Nodes its verdicts use."""

    def owner_of_node_cluster(self, context: ClusterContext) -> str:
        """The uid of the object that represents that cluster; "" without one."""

    def selects(self, target: Watched_contra) -> bool:
        """True if `target`, from the place of its targets, is one of them."""

    def problem(self, context: ClusterContext, kinds: TemplateKinds) -> CheckProblem | None:
        """The problem in its context that disables the check."""

    def counts_as_healthy(self, target: Watched_contra, context: ClusterContext) -> bool:
        """True if `target` counts as healthy for the threshold, at any time and regardless of requests."""

    def steps_for(self, target: Watched_contra) -> tuple[Step, ...]:
        """The steps of a remediation of `target`, in order."""

    def replaces(self, target: Watched_contra) -> bool:
        """True if a remediation of `target` ends with a replacement."""

    @property
    def node_rules(self) -> Sequence[UnhealthyCondition]:
        """The rules about conditions of the Node of a target, in order."""

    def under_way(self, target: Watched_contra) -> str:
        """The action on `target` that has begun and only needs to finish; "" without one."""

    def is_unhealthy(self, target: Watched_contra, context: ClusterContext) -> bool:
        """True if there should be an incident: the verdict is not healthy, at any time."""

    def verdict(self, target: Watched_contra, now: datetime, context: ClusterContext) -> Verdict:
        """The verdict on `target` at `now`, in this context."""

    def last_transition(self, target: Watched_contra) -> datetime | None:
        """When a condition of `target` that the check uses changed last; None: unknown."""

    def still_states(self, fact: Fact, target: Watched_contra, context: ClusterContext) -> bool:
        """True if `fact` holds for `target` now and the check still calls it unhealthy."""

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        """The decision of its threshold for these numbers."""


HealthCheck: TypeAlias = HealthCheckOf[Any]
"""A check of any kind; its targets come from the place that the kind names."""
