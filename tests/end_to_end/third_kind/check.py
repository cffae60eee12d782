"""A made-up kind of check: MachineHealthCheck of fleet.test, in two versions with different fields.

Its targets are Machines of that group, which report the start of their failure themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from health.check.check_snapshot import CheckSnapshot
from health.check.health_check import OfItsOwnCluster
from health.check.template_validity import TemplateKinds
from health.check.threshold import Allowance
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.gate.back_off import LostRequest
from health.kinds.check_kind import CheckKind
from health.model.invalid_check import InvalidCheckError
from health.model.node import NO_SPEC, NodeSpec
from health.model.observation import Hold
from health.model.references import (
    CheckReference,
    Step,
    TargetReference,
    TemplateReference,
    check_of,
)
from health.model.remediation_request import INCIDENT, RemediationRequest
from health.model.verdict import HEALTHY, Fact, Match, Verdict, judged
from health.policy.check_choices import CheckChoices
from objects.bounds import Time
from objects.clusters import MANAGEMENT_CLUSTER
from objects.event import Event, Severity
from objects.frozen import FrozenObject
from objects.group_kind import GroupKind, ServedKind
from objects.metadata import ObjectMetadata

GROUP, KIND = "fleet.test", "MachineHealthCheck"
MACHINES = ServedKind(group=GROUP, kind="Machine", plural="machines", versions=("v1",), is_namespaced=True)


class MachineStatus(FrozenObject):
    failed_since: Time | None = None


class Machine(FrozenObject):
    metadata: ObjectMetadata
    status: MachineStatus = MachineStatus()

    node_name: str = ""
    node_cluster: str = MANAGEMENT_CLUSTER
    node_zone: str = ""
    replaced_by: str = ""
    is_control_plane: bool = False
    is_excluded: bool = False
    has_empty_exclusion: bool = False
    is_confirmed_healthy: bool = False
    is_marked: bool = False
    node_spec: NodeSpec = NO_SPEC
    configuration_to_come: str = ""
    boot_id: str = ""

    def node_label(self, name: str) -> str | None:
        return self.metadata.labels.get(name, "")

    @property
    def fact(self) -> Fact | None:
        since = self.status.failed_since
        return None if since is None else Fact(condition="Failed", status="True", since=since)


@dataclass(frozen=True)
class MachineHealthCheck(OfItsOwnCluster):
    """A check of either version; satisfies HealthCheckOf[Machine]."""

    metadata: ObjectMetadata
    template: TemplateReference
    patience: timedelta

    counts_requests = False
    storm_cooldown: timedelta | None = None
    healthy_delay = timedelta()
    choices = CheckChoices()

    @property
    def reference(self) -> CheckReference:
        where = self.metadata
        return CheckReference(kind=KIND, group=GROUP, namespace=where.namespace, name=where.name)

    @property
    def generation(self) -> int:
        return self.metadata.generation

    @property
    def steps(self) -> tuple[Step, ...]:
        return (Step(template=self.template),)

    def hold_in(self, context: ClusterContext) -> Hold | None:  # noqa: ARG002
        return None

    def is_fully_paused_in(self, context: ClusterContext) -> bool:  # noqa: ARG002
        return False

    def selects(self, target: Machine) -> bool:  # noqa: ARG002  all of its namespace
        return True

    def problem(self, context: ClusterContext, kinds: TemplateKinds) -> CheckProblem | None:  # noqa: ARG002
        return None

    def counts_as_healthy(self, target: Machine, context: ClusterContext) -> bool:  # noqa: ARG002
        return target.fact is None

    def steps_for(self, target: Machine) -> tuple[Step, ...]:  # noqa: ARG002
        return self.steps

    def replaces(self, target: Machine) -> bool:  # noqa: ARG002
        return False

    def under_way(self, target: Machine) -> str:  # noqa: ARG002
        return ""

    def is_unhealthy(self, target: Machine, context: ClusterContext) -> bool:  # noqa: ARG002
        return target.fact is not None

    def verdict(self, target: Machine, now: datetime, context: ClusterContext) -> Verdict:  # noqa: ARG002
        return HEALTHY if target.fact is None else judged([Match(target.fact, self.patience)], now)

    def last_transition(self, target: Machine) -> datetime | None:  # noqa: ARG002
        return None

    def still_states(self, fact: Fact, target: Machine, context: ClusterContext) -> bool:  # noqa: ARG002
        return target.fact == fact

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        return Allowance.of_required(0, total=total, healthy=healthy)


def parse(raw: Mapping[str, Any]) -> MachineHealthCheck:
    """v1 has `failedForSeconds`; v2 has it in a nested object."""
    spec, metadata = raw["spec"], ObjectMetadata.model_validate(raw["metadata"])
    try:
        is_old = raw["apiVersion"] == f"{GROUP}/v1"
        seconds = spec["failedForSeconds"] if is_old else spec["failed"]["forSeconds"]
    except KeyError as error:
        raise InvalidCheckError("spec", None, f"{error} is missing in {raw['apiVersion']}") from error
    template = spec["template"]
    reference = TemplateReference(
        api_version=template["apiVersion"],
        kind=template["kind"],
        namespace=metadata.namespace,
        name=template["name"],
    )
    return MachineHealthCheck(metadata, reference, timedelta(seconds=seconds))


def status_patch(snapshot: CheckSnapshot, stored: Mapping[str, Any], now: datetime) -> dict[str, Any]:  # noqa: ARG001
    if snapshot.allowance is None:
        return {}
    wanted = {"total": snapshot.allowance.total, "healthy": snapshot.allowance.healthy}
    return {key: value for key, value in wanted.items() if stored.get(key) != value}


def owner_of(request: RemediationRequest) -> CheckReference | None:
    check = check_of(request.metadata.annotations.get(INCIDENT, ""))
    return check if check is not None and check.group_kind == GroupKind(GROUP, KIND) else None


def is_unsigned_for(request: RemediationRequest, target: TargetReference) -> bool:  # noqa: ARG001
    return False


def request_lost(lost: LostRequest) -> Event:
    return Event(lost.seed, Severity.NORMAL, "RequestLost", lost.words)


MACHINE_HEALTH_CHECK = CheckKind(
    group=GROUP,
    kind=KIND,
    plural="machinehealthchecks",
    versions=("v2", "v1"),
    is_namespaced=True,
    targets=MACHINES,
    parse=parse,
    status_patch=status_patch,
    events=lambda *_: [],
    request_lost=request_lost,
    component="fleet-controller",
    owner_of=owner_of,
    is_unsigned_for=is_unsigned_for,
    stored_requests=lambda _: frozenset(),
    stored_storm=lambda *_: None,
    failing_conditions=(),
    rights=(),
    operator="fleet-operator",
    operator_lease="fleet-controller",
)
