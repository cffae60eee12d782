"""CheckKind: what a kind of health check provides to the code that handles all kinds alike.

Besides parsing and reporting: the conditions that say that a check does not work, and the rights of our
processes for the kind, which `deploy/` grants and `paramedic doctor` verifies.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from health.check.check_snapshot import CheckSnapshot, TargetReports
from health.check.health_check import HealthCheck
from health.check.storm import Storm
from health.cluster.upgrade import ClusterOf, UpgradeSignal
from health.gate.back_off import LostRequest
from health.model.references import CheckReference, TargetReference
from health.model.remediation_request import RemediationRequest
from health.upgrade.pausable_check import PauseAnnotations
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from objects.event import Event, InvolvedObject
from objects.group_kind import ServedKind

UNREADABLE = "CheckUnreadable"
"""The reason of findings about a check that cannot be read."""


@dataclass(frozen=True, kw_only=True)
class FailingCondition:
    """A condition that shows a failing check, and its meaning for people."""

    type: str
    status: str = "False"
    finding: str
    """The reason of the finding."""
    words: str
    only_for: str | None = None
    """The required reason of the condition; None: any."""
    advice: str = "fix the problem that it names; the fix is noticed by itself"

    def is_shown_by(self, condition: Mapping[str, str]) -> bool:
        if (condition.get("type"), condition.get("status")) != (self.type, self.status):
            return False
        return self.only_for in (None, condition.get("reason"))


@dataclass(frozen=True, kw_only=True)
class CheckKind(ServedKind):
    """A kind of check as API servers serve it, with its functions."""

    targets: ServedKind
    """The kind that its checks watch."""
    parse: Callable[[Mapping[str, Any]], HealthCheck]
    """Raises InvalidCheckError; `apiVersion` names the version of the object."""
    status_patch: Callable[[CheckSnapshot, Mapping[str, Any], datetime], dict[str, Any]]
    """The merge patch that corrects a stored status; empty if it is correct."""
    events: Callable[[CheckSnapshot | None, CheckSnapshot, Mapping[str, Any], datetime], list[Event]] = (
        lambda *_: []
    )
    """The Events for the changes between two snapshots, given the stored status."""
    request_lost: Callable[[LostRequest], Event]
    """The Event after another actor deleted a request; without a subject it is about the target."""
    component: str
    """The source of the Events."""
    stored_requests: Callable[[Mapping[str, Any]], frozenset[tuple[str, str]]] = lambda _: frozenset()
    """Kinds, with their apiVersion, of the requests that a stored status lists; by default it lists none."""
    stored_storm: Callable[[Mapping[str, Any], datetime], Storm | None] = lambda *_: None
    """The storm that a stored status describes."""
    held_since: Callable[[Mapping[str, Any], str], datetime | None] = lambda *_: None
    """When the hold of a check with this reason began, by its stored status; None: unknown."""
    failing_conditions: tuple[FailingCondition, ...] = ()
    roles: tuple[str, ...] = ()
    """Files in `deploy/` with roles that our processes need for checks of this kind only."""
    confirmation_roles: tuple[str, ...] = ()
    """Further ones, to remove a person's confirmation that a target is healthy."""
    webhook_roles: tuple[str, ...] = ()
    """Further ones, to answer the admission webhook."""
    operator: str
    """The controller that we replace, by its usual name."""
    operator_lease: str
    """The name of its leader Lease."""
    operator_guide: str | None = None
    """Where its shutdown is documented, if other controllers share its Lease so that the Lease proves
    nothing."""
    operator_manager: str | None = None
    """The field manager of its writes, if admission policies may keep it from remediating while it runs."""
    owner_of: Callable[[RemediationRequest], CheckReference | None]
    """The check of this kind that owns a request, with any maker; None if no check does."""
    is_unsigned_for: Callable[[RemediationRequest, TargetReference], bool] = lambda *_: False
    """True if the kind's own operator made the request for that uid without recording the check."""
    target_reports: TargetReports | None = None
    """How reports are written into the status of targets; None: no reports."""
    kubeconfig: Callable[[str], SecretField] | None = None
    """The Secret with the kubeconfig of another cluster, by its name; None: Nodes and checks share a
    cluster."""
    kubeconfig_roles: str = ""
    """The file with the example of a role that lets our processes read it."""
    upgrade_signals: tuple[UpgradeSignal, ...] = ()
    """Signals of upgrades of the clusters that its checks are about, watched where the kind is handled.

    Objects of these kinds always belong to such a cluster. A setting can name other signals instead."""
    cluster_of: ClusterOf = lambda _: MANAGEMENT_CLUSTER
    """The managed cluster that an object of any kind belongs to; by default the checks' own cluster."""
    upgrade_pause: PauseAnnotations | None = None
    """The annotations that pause its checks during an upgrade; None: the upgrade only holds them."""
    upgrade_pause_roles: tuple[str, ...] = ()
    """Files with roles for the pause, needed even where checks of the kind are not handled."""

    def involved(self, target: TargetReference) -> InvolvedObject:
        return InvolvedObject(
            api_version=self.targets.api_version,
            kind=target.kind,
            namespace=target.namespace,
            name=target.name,
            uid=target.uid,
        )
