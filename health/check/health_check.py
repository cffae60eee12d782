"""Check: the base class of every kind of check, so that no other code depends on the kind.

A kind defines which targets a check selects, the conditions that make one unhealthy, the steps and the
threshold. These have no default, so a kind that forgets one cannot be instantiated. Each feature that a kind
may lack has a default.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

from pydantic import ValidationError

from health.check.ordered import order_in_force, verdict_of
from health.check.template_validity import TemplateKinds
from health.check.threshold import Allowance
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.cluster.upgrade import Signaller
from health.model.invalid_check import InvalidCheckError, check_problem
from health.model.observation import Hold
from health.model.references import CheckReference, Step
from health.model.remediation_order import RemediationOrder
from health.model.target import Target
from health.model.verdict import Fact, Health, Match, UnhealthyCondition, Verdict, judged
from health.policy.check_choices import CheckChoices
from objects.clusters import MANAGEMENT_CLUSTER
from objects.field_problem import FieldProblem
from objects.group_kind import GroupKind
from objects.metadata import ObjectMetadata

Watched_contra = TypeVar("Watched_contra", bound=Target, contravariant=True)
"""The targets of a kind of check, in the form that its rules use."""


class Check(ABC, Generic[Watched_contra]):
    """One parsed check of a kind, with its rules."""

    group_kind: ClassVar[GroupKind]
    metadata: ObjectMetadata

    @property
    @abstractmethod
    def steps(self) -> tuple[Step, ...]:
        """The steps that make requests, in order, for any target."""

    @abstractmethod
    def selects(self, target: Watched_contra) -> bool:
        """True if `target`, from the place of its targets, is one of them."""

    @abstractmethod
    def matches(self, target: Watched_contra, context: ClusterContext) -> Sequence[Match]:
        """The rules that `target` matches, expired or not; none for a healthy target."""

    @abstractmethod
    def allowance(self, *, total: int, healthy: int) -> Allowance:
        """The decision of its threshold for these numbers."""

    @cached_property
    def reference(self) -> CheckReference:
        kind, named = self.group_kind, self.metadata
        return CheckReference(kind=kind.kind, group=kind.group, namespace=named.namespace, name=named.name)

    @cached_property
    def choices(self) -> CheckChoices:
        """The settings that people make by annotations of the check."""
        return CheckChoices.of(self.metadata.annotations)

    @property
    def generation(self) -> int:
        """The generation of the spec, which a change of annotations does not increase."""
        return self.metadata.generation

    @property
    def managed_cluster(self) -> str:
        """The cluster that the check is about, even while no Nodes are read there."""
        return MANAGEMENT_CLUSTER

    @property
    def counts_requests(self) -> bool:
        """True if a target with an existing request counts as unhealthy."""
        return False

    @property
    def storm_cooldown(self) -> timedelta | None:
        """How long the threshold must hold after a storm; None for a kind without storms."""
        return None

    @property
    def node_rules(self) -> Sequence[UnhealthyCondition]:
        """The rules about conditions of the Node of a target, in order."""
        return ()

    @property
    def condition_rules(self) -> Sequence[UnhealthyCondition]:
        """The rules about conditions of a target or its Node."""
        return self.node_rules

    @property
    def healthy_delay(self) -> timedelta:
        """How long the requests of a recovered target are kept; negative: until confirmed."""
        return timedelta()

    def hold_in(self, context: ClusterContext) -> Hold | None:  # noqa: ARG002
        """The hold of the check as a whole in this context, regardless of its numbers."""
        return None

    def is_fully_paused_in(self, context: ClusterContext) -> bool:  # noqa: ARG002
        """True if that hold also stops clean-up and marks, so that nothing is written (rule 7)."""
        return False

    def unjudged_in(self, context: ClusterContext) -> Hold | None:  # noqa: ARG002
        """The hold while its targets cannot be judged at all, not even as healthy."""
        return None

    def metadata_patch(self, metadata: Mapping[str, Any], context: ClusterContext) -> dict[str, Any]:  # noqa: ARG002
        """The merge patch for its stored metadata; empty if nothing is missing."""
        return {}

    def node_cluster(self, context: ClusterContext) -> str:  # noqa: ARG002
        """The cluster whose Nodes its verdicts use."""
        return MANAGEMENT_CLUSTER

    def owner_of_node_cluster(self, context: ClusterContext) -> str:  # noqa: ARG002
        """The uid of the object that represents that cluster; "" without one."""
        return ""

    def problem(self, context: ClusterContext, kinds: TemplateKinds) -> CheckProblem | None:  # noqa: ARG002
        """The problem in its context that disables the check."""
        return None

    def steps_for(self, target: Watched_contra) -> tuple[Step, ...]:  # noqa: ARG002
        """The steps of a remediation of `target`, in order."""
        return self.steps

    def is_awaited(self, target: Watched_contra, signaller: Signaller) -> bool:  # noqa: ARG002
        """True if the upgrade that `signaller` signals waits for the remediation of `target`."""
        return False

    def replaces(self, target: Watched_contra) -> bool:  # noqa: ARG002
        """True if a remediation of `target` ends with a replacement."""
        return False

    def under_way(self, target: Watched_contra) -> str:  # noqa: ARG002
        """The action on `target` that has begun and only needs to finish; "" without one."""
        return ""

    def counts(self, target: Watched_contra) -> bool:  # noqa: ARG002
        """True if the threshold counts `target` at all."""
        return True

    def counts_as_healthy(self, target: Watched_contra, context: ClusterContext) -> bool:
        """True if `target` counts as healthy for the threshold, at any time and regardless of requests."""
        return not self.is_unhealthy(target, context)

    def is_unhealthy(self, target: Watched_contra, context: ClusterContext) -> bool:
        """True if there should be an incident: the verdict is not healthy, at any time."""
        return bool(self.matches(target, context)) or self._order(target, context) is not None

    def verdict(self, target: Watched_contra, now: datetime, context: ClusterContext) -> Verdict:
        """The verdict of its conditions; for a target that they call healthy, that of a person's order."""
        found, order = self.verdict_of_conditions(target, now, context), self._order(target, context)
        return found if order is None or found.health is not Health.HEALTHY else verdict_of(order)

    def verdict_of_conditions(
        self, target: Watched_contra, now: datetime, context: ClusterContext
    ) -> Verdict:
        return judged(self.matches(target, context), now)

    def _order(self, target: Watched_contra, context: ClusterContext) -> RemediationOrder | None:
        return order_in_force(self.reference, target, context)

    def last_transition(self, target: Watched_contra) -> datetime | None:  # noqa: ARG002
        """When a condition of `target` that the check uses changed last; None: unknown."""
        return None

    def still_states(self, fact: Fact, target: Watched_contra, context: ClusterContext) -> bool:
        """True if `fact` holds for `target` now and the check still calls it unhealthy."""
        return any(fact.is_stated_by(match.fact) for match in self.matches(target, context))


HealthCheck: TypeAlias = Check[Any]
"""A check of any kind; its targets come from the place that the kind names."""


@dataclass(frozen=True)
class ParsedCheck:
    """A check after it was read: either `check` or `problem` is set."""

    check: HealthCheck | None = None
    problem: FieldProblem | None = None
    api_version: str | None = None
    """The version of a check with a problem, if it decides how the status is written."""
    is_paused: bool = False
    """True if a check with a problem is paused."""

    @classmethod
    def of(cls, parse: Callable[[Mapping[str, Any]], HealthCheck], raw: Mapping[str, Any]) -> Self:
        """The API server's object, as the parser of its kind reads it."""
        try:
            return cls(parse(raw))
        except InvalidCheckError as error:
            return cls(None, error.problem, error.api_version, error.is_paused)


class Model(Protocol):
    """A pydantic model of a check, or of one version of it."""

    @property
    def metadata(self) -> ObjectMetadata: ...

    @classmethod
    def model_validate(cls, obj: Any) -> Self: ...  # noqa: ANN401  as pydantic has it


_ModelT = TypeVar("_ModelT", bound=Model)


def parsed(model: type[_ModelT], raw: Mapping[str, Any]) -> _ModelT:
    """The API server's object as `model`, with annotations that can be read.

    Raises:
        InvalidCheckError: it does not parse; names the first invalid field and its value.

    """
    try:
        found = model.model_validate(raw)
    except ValidationError as error:
        raise InvalidCheckError(check_problem(error.errors(include_url=False)[0])) from error
    CheckChoices.of(found.metadata.annotations)  # refuses annotations that cannot be read
    return found
