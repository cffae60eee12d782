"""HealthCheck: what each kind of check must answer, so that nothing outside its file asks for the kind."""

from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias, TypeVar

from health.gate.check_choices import CheckChoices
from health.gate.cluster_context import CheckProblem, ClusterContext
from health.gate.template_validity import TemplateKinds
from health.gate.threshold import Allowance
from health.model.observation import Hold
from health.model.references import CheckReference, Step
from health.model.verdict import Fact, Verdict
from objects.clusters import MANAGEMENT_CLUSTER

Watched_contra = TypeVar("Watched_contra", contravariant=True)
"""What targets of a kind of check are, as its rules see them."""


class HealthCheckOf(Protocol[Watched_contra]):
    """One parsed health check."""

    @property
    def reference(self) -> CheckReference:
        """Its name."""

    @property
    def generation(self) -> int:
        """The generation of its spec."""

    @property
    def choices(self) -> CheckChoices:
        """What people choose for it by annotations."""

    @property
    def managed_cluster(self) -> str:
        """The cluster that it is about, whether Nodes are read there yet or not."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that make requests, in order, whatever the target."""

    @property
    def counts_requests(self) -> bool:
        """Whether a target counts as not healthy while a request for it exists."""

    @property
    def storm_cooldown(self) -> timedelta | None:
        """How long its threshold must hold after a storm; None where it knows no storms."""

    @property
    def healthy_delay(self) -> timedelta:
        """How long the requests of a target that is healthy again are kept; negative: until confirmed."""

    def hold_in(self, context: ClusterContext) -> Hold | None:
        """Why the check as a whole allows nothing in this context, whatever its numbers."""

    def is_fully_paused_in(self, context: ClusterContext) -> bool:
        """Whether that hold stops clean-up and marks too, and nothing at all is written (rule 7)."""

    def unjudged_in(self, context: ClusterContext) -> Hold | None:
        """Why nothing can be said of its targets in this context, not even that they are healthy."""

    def node_cluster(self, context: ClusterContext) -> str:
        """The cluster whose Nodes its verdicts rest on."""

    def owner_of_node_cluster(self, context: ClusterContext) -> str:
        """The uid of the object that stands for that cluster; "" where none does."""

    def selects(self, target: Watched_contra) -> bool:
        """Whether `target`, which is where its targets are, is one of them."""

    def problem(self, context: ClusterContext, kinds: TemplateKinds) -> CheckProblem | None:
        """What in its context keeps it as a whole from working."""

    def counts_as_healthy(self, target: Watched_contra, context: ClusterContext) -> bool:
        """Whether `target` counts as healthy for the threshold, requests aside, at whatever time."""

    def steps_for(self, target: Watched_contra) -> tuple[Step, ...]:
        """What a remediation of `target` does, in order."""

    def replaces(self, target: Watched_contra) -> bool:
        """Whether what it does to `target` ends with another one in its place."""

    def under_way(self, target: Watched_contra) -> str:
        """What was done to `target` already, and only its end is to be awaited; "" if nothing was."""

    def is_unhealthy(self, target: Watched_contra, context: ClusterContext) -> bool:
        """Whether there should be an incident: the verdict is not healthy, at whatever time."""

    def verdict(self, target: Watched_contra, now: datetime, context: ClusterContext) -> Verdict:
        """What it says of `target` at `now`, in this context."""

    def last_transition(self, target: Watched_contra) -> datetime | None:
        """When the latest of the conditions of `target` changed that it judges by; None: nobody knows."""

    def still_states(self, fact: Fact, target: Watched_contra, context: ClusterContext) -> bool:
        """Whether `fact` is true of `target` as it is, and still one that this check calls unhealthy."""

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        """What its threshold says of these numbers."""


HealthCheck: TypeAlias = HealthCheckOf[Any]
"""A check of any kind: whoever holds one has its targets from where the kind says that they are."""


class OfItsOwnCluster:
    """The answers of a kind whose Nodes are where its checks are, and whose targets tell all there is."""

    @property
    def managed_cluster(self) -> str:
        """The one that it is in."""
        return MANAGEMENT_CLUSTER

    def node_cluster(self, context: ClusterContext) -> str:  # noqa: ARG002
        """Its own."""
        return MANAGEMENT_CLUSTER

    def owner_of_node_cluster(self, context: ClusterContext) -> str:  # noqa: ARG002
        """None."""
        return ""

    def unjudged_in(self, context: ClusterContext) -> Hold | None:  # noqa: ARG002
        """Never."""
        return None
