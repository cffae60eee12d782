"""CheckKind: what one kind of health check is to everything that handles all kinds alike.

Beside how its checks are read and told of: by which conditions they say that they do not work, and what our
processes must be allowed to do for them, as `deploy/` grants it and `paramedic doctor` asks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from health.gate.back_off import LostRequest
from health.gate.check_snapshot import CheckSnapshot
from health.gate.cluster_context import ClusterContext
from health.gate.cluster_upgrades import ClusterOf
from health.gate.health_check import HealthCheck
from health.gate.storm import Storm
from health.gate.target_report import TargetReports
from health.gate.upgrade import UpgradeSignal
from health.kinds.right import Part, Right
from health.model.event import Event
from health.model.references import CheckReference, TargetReference
from health.model.remediation_request import RemediationRequest
from health.upgrade.pausable_check import PauseAnnotations
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from objects.group_kind import ServedKind
from objects.metadata import ObjectMetadata

UNREADABLE = "CheckUnreadable"
"""What is said of a check that cannot be read."""


@dataclass(frozen=True)
class FailingCondition:
    """One condition, and what it means to people."""

    type: str
    status: str
    finding: str
    """The reason of what is said of it."""
    words: str
    only_for: str = ""
    """The reason that the condition must have; "" is any."""
    advice: str = "mend what it names; it is noticed by itself"

    def is_shown_by(self, condition: Mapping[str, str]) -> bool:
        """Whether this condition is it."""
        if (condition.get("type"), condition.get("status")) != (self.type, self.status):
            return False
        return self.only_for in ("", condition.get("reason"))


@dataclass(frozen=True)
class OperatorPolicies:
    """The admission policies under which the operator of a kind runs beside us and remediates nothing."""

    names: tuple[str, ...]
    """Of the ValidatingAdmissionPolicies; all of them have to be in force."""
    file: str
    manager: str
    """The field manager by which the operator writes what the policies leave to it."""


def nothing_owed(
    check: HealthCheck,  # noqa: ARG001  as CheckKind.metadata_patch
    metadata: Mapping[str, Any],  # noqa: ARG001
    context: ClusterContext,  # noqa: ARG001
) -> dict[str, Any]:
    """Of a kind whose checks need no metadata of ours."""
    return {}


def of_no_cluster(metadata: ObjectMetadata) -> str:  # noqa: ARG001  as CheckKind.cluster_of
    """Of a kind whose checks are about the cluster that they are in."""
    return MANAGEMENT_CLUSTER


@dataclass(frozen=True, kw_only=True)
class CheckKind(ServedKind):
    """Where API servers serve a kind of check, and how to read one."""

    targets: ServedKind
    """What its checks watch."""
    parse: Callable[[Mapping[str, Any]], HealthCheck]
    """Raises InvalidCheckError; `apiVersion` says which of the versions it is."""
    status_patch: Callable[[CheckSnapshot, Mapping[str, Any], datetime], dict[str, Any]]
    """The merge patch that makes a stored status true; empty if it is."""
    events: Callable[[CheckSnapshot | None, CheckSnapshot, Mapping[str, Any], datetime], list[Event]]
    """What became so between two snapshots, given the stored status."""
    request_lost: Callable[[LostRequest], Event]
    """What is told where somebody deleted the request of a target; without a subject it is of the target."""
    component: str
    """Who the Events are from."""
    stored_requests: Callable[[Mapping[str, Any]], frozenset[tuple[str, str]]]
    """Kinds, with their apiVersion, of the requests that a stored status lists."""
    stored_storm: Callable[[Mapping[str, Any], datetime], Storm | None]
    """The storm that a stored status tells of."""
    failing_conditions: tuple[FailingCondition, ...]
    rights: tuple[Right, ...]
    """What our processes may have to do for checks of this kind, and need not without them."""
    confirmation_rights: tuple[Right, ...] = ()
    """What it takes beside to remove confirmations of people that a target is healthy."""
    webhook_rights: tuple[Right, ...] = ()
    """What it takes beside to answer an API server that asks whether a check may be stored."""
    operator: str
    """The controller whose place we take, as people know it."""
    operator_lease: str
    """The name of its leader Lease."""
    operator_guide: str = ""
    """Where to read how it is kept off, if others lead by that Lease too and it says nothing of this one."""
    operator_policies: OperatorPolicies | None = None
    """What keeps it off while its process goes on; None: its process is stopped."""
    owner_of: Callable[[RemediationRequest], CheckReference | None]
    """The check of this kind that a request belongs to, whoever made it; None if it says of none."""
    is_unsigned_for: Callable[[RemediationRequest, TargetReference], bool]
    """Whether the kind's own operator made it for that uid, if that does not write down the check."""
    target_reports: TargetReports | None = None
    """What is said of targets in their own status; None: nothing."""
    metadata_patch: Callable[[HealthCheck, Mapping[str, Any], ClusterContext], dict[str, Any]] = nothing_owed
    """The merge patch of what the metadata of a check, as the API server has it, lacks; empty if nothing."""
    kubeconfig: Callable[[str], SecretField] | None = None
    """Where the kubeconfig of another cluster is, by its name; None: its Nodes are where its checks are."""
    kubeconfig_part: Part | None = None
    """Which rights let our processes read it."""
    mark_on: Callable[[Mapping[str, Any]], str] | None = None
    """By what a stored target asks somebody else to remediate it, "" by nothing; None: none ever does.

    Who is asked takes that off, whoever asked."""
    upgrade_signals: tuple[UpgradeSignal, ...] = ()
    """What signals upgrades of the clusters that its checks are about, and is watched where it is handled.

    Objects of these kinds always belong to such a cluster. A setting names others in their place."""
    cluster_of: ClusterOf = of_no_cluster
    """The managed cluster that an object belongs to, of whatever kind it is."""
    upgrade_pause: PauseAnnotations | None = None
    """By which annotations its checks are paused while the cluster is upgraded; None: they are held alone."""
    upgrade_pause_rights: tuple[Right, ...] = ()
    """What our processes need for that, also where its checks are not handled."""
