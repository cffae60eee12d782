"""A made-up kind of check: MachineHealthCheck of fleet.test, in two versions with different fields.

Its targets are Machines of that group, which report the start of their failure themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from health.check.check_snapshot import CheckSnapshot
from health.check.health_check import Check
from health.check.threshold import Allowance
from health.cluster.cluster_context import ClusterContext
from health.gate.back_off import LostRequest
from health.kinds.check_kind import CheckKind
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference, Step, TemplateReference, check_of
from health.model.remediation_request import INCIDENT, RemediationRequest
from health.model.sighting import SightedObject
from health.model.target import Target
from health.model.verdict import Fact, Match
from objects.bounds import Time
from objects.clusters import MANAGEMENT_CLUSTER
from objects.event import Event, Severity
from objects.field_problem import FieldProblem
from objects.frozen import FrozenObject
from objects.group_kind import GroupKind, ServedKind
from objects.metadata import ObjectMetadata

GROUP, KIND = "fleet.test", "MachineHealthCheck"
MACHINES = ServedKind(group=GROUP, kind="Machine", plural="machines", versions=("v1",), is_namespaced=True)


class MachineStatus(FrozenObject):
    failed_since: Time | None = None


class Machine(SightedObject):
    metadata: ObjectMetadata
    status: MachineStatus = MachineStatus()
    node_name: str = ""
    node_cluster: str = MANAGEMENT_CLUSTER
    is_going: bool = False


@dataclass(frozen=True)
class MachineTarget(Target):
    machine: Machine

    @property
    def metadata(self) -> ObjectMetadata:
        return self.machine.metadata

    @property
    def node_name(self) -> str:
        return self.machine.node_name


@dataclass(frozen=True)
class MachineHealthCheck(Check[MachineTarget]):
    """A check in either version of its API."""

    metadata: ObjectMetadata
    template: TemplateReference
    patience: timedelta
    group_kind = GroupKind(GROUP, KIND)

    @property
    def steps(self) -> tuple[Step, ...]:
        return (Step(template=self.template),)

    def selects(self, target: MachineTarget) -> bool:  # noqa: ARG002  all of its namespace
        return True

    def matches(self, target: MachineTarget, context: ClusterContext) -> Sequence[Match]:  # noqa: ARG002
        since = target.machine.status.failed_since
        if since is None:
            return ()
        return (Match(fact=Fact(condition="Failed", status="True", since=since), duration=self.patience),)

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        return Allowance.of_required(0, total=total, healthy=healthy)


def parse(raw: Mapping[str, Any]) -> MachineHealthCheck:
    """v1 has `failedForSeconds`; v2 has it in a nested object."""
    spec, metadata = raw["spec"], ObjectMetadata.model_validate(raw["metadata"])
    try:
        is_old = raw["apiVersion"] == f"{GROUP}/v1"
        seconds = spec["failedForSeconds"] if is_old else spec["failed"]["forSeconds"]
    except KeyError as error:
        raise InvalidCheckError(
            FieldProblem(field="spec", words=f"{error} is missing in {raw['apiVersion']}")
        ) from error
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


def request_lost(lost: LostRequest) -> Event:
    return Event(seed=lost.seed, severity=Severity.NORMAL, reason="RequestLost", message=str(lost.words))


MACHINE_HEALTH_CHECK = CheckKind(
    group=GROUP,
    kind=KIND,
    plural="machinehealthchecks",
    versions=("v2", "v1"),
    is_namespaced=True,
    targets=MACHINES,
    parse=parse,
    status_patch=status_patch,
    request_lost=request_lost,
    component="fleet-controller",
    owner_of=owner_of,
    operator="fleet-operator",
    operator_lease="fleet-controller",
)
