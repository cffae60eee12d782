"""The status of a MachineHealthCheck (CAPI B.1, rules 31 and 45), in the version of the check. Pure.

While the check is paused only the condition Paused is written. A check that cannot be read loses its old
numbers. While its Machines cannot be read, or it has no Cluster, the numbers stay. observedGeneration
follows the spec only while it can be read. Its conditions:

- Those that both Machine APIs have. RemediationAllowed says here too that a check has no Cluster, or that
  its Machines are unknown; the other two then stay as they are.
- `Paused`: whether it is paused, in the words of Cluster API's controller; while it is, nothing else is
  changed.

Cluster API's controller writes the conditions of templates and requests only in the deprecated form. We write
them in both, because a schema may drop one of the lists.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from health.check.annotated_hold import PAUSED as PAUSE_ANNOTATION
from health.check.annotated_hold import is_paused
from health.check.check_snapshot import CheckSnapshot
from health.kinds.check_kind import FailingCondition
from health.kinds.clusterapi.check import KIND, MachineHealthCheck
from health.kinds.clusterapi.cluster import CLUSTER_NOT_FOUND
from health.kinds.clusterapi.conditions import conditions_patch
from health.kinds.clusterapi.group import V1BETA2
from health.kinds.machines import conditions as machines
from health.kinds.machines.check import remediations_allowed
from health.kinds.machines.conditions import (
    INVALID_SPEC,
    REMEDIATION_ALLOWED,
    Changes,
    StatusCondition,
    Stored,
    not_allowed,
)
from health.model.observation import HoldReason
from health.model.stored_status import stored_condition
from objects.timestamps import as_time

MOST_TARGETS = 10_000
"""The number of names that the schema allows; of more the first ones are listed."""
_NUMBERS = ("expectedMachines", "currentHealthy", "remediationsAllowed")
PAUSED = "Paused"

FAILING = (
    FailingCondition(
        type=REMEDIATION_ALLOWED,
        finding="ClusterMissing",
        words="has no Cluster",
        only_for=CLUSTER_NOT_FOUND,
    ),
    *machines.FAILING,
)
_NOT_PAUSED = StatusCondition(
    type=PAUSED, status="False", reason="NotPaused", severity="Info", has_deprecated_twin=False
)


def status_patch(snapshot: CheckSnapshot, stored: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The merge patch that corrects `stored`, in which None removes a field; empty if it is correct."""
    check, numbers = snapshot.check, snapshot.allowance
    api_version = check.api_version if isinstance(check, MachineHealthCheck) else snapshot.parsed.api_version
    of_conditions = conditions_patch(
        stored,
        lambda listed: _changes(snapshot, listed),
        api_version=api_version or V1BETA2,
        generation=snapshot.generation,
        now=now,
    )
    wanted: dict[str, Any] = {}
    if not is_paused(snapshot) and check is None:
        wanted = dict.fromkeys((*_NUMBERS, "targets"))
    elif not is_paused(snapshot) and numbers is not None and _blocked(snapshot) is None:
        wanted = {
            "expectedMachines": numbers.total,
            "currentHealthy": numbers.healthy,
            "remediationsAllowed": remediations_allowed(numbers),
            "observedGeneration": snapshot.generation,
            "targets": sorted(snapshot.selected)[:MOST_TARGETS] or None,
        }
    return {key: value for key, value in wanted.items() if stored.get(key) != value} | of_conditions


def held_since(stored: Mapping[str, Any], reason: str) -> datetime | None:
    """When the hold of this reason began, by the status of a check; None: the status does not tell."""
    paused = stored_condition(stored, PAUSED)
    if reason == HoldReason.PAUSED and paused.get("status") == "True":
        return as_time(paused.get("lastTransitionTime"))
    return machines.held_since(stored, reason)


def _blocked(snapshot: CheckSnapshot) -> StatusCondition | None:
    """Why the Machines of a check that is not paused are unknown; None: they are known."""
    if snapshot.check is None:
        return not_allowed(INVALID_SPEC, str(snapshot.parsed.problem), "Error")
    problem, hiding = snapshot.holds.problem, snapshot.holds.hiding_targets
    if problem is not None and problem.reason == CLUSTER_NOT_FOUND:
        return not_allowed(problem.reason, problem.message, "Error")
    if hiding is not None:
        return not_allowed(hiding.reason, hiding.message)
    return None


def _changes(snapshot: CheckSnapshot, stored: Stored) -> Changes:
    """The changes to a list of its conditions."""
    if is_paused(snapshot):
        hold = snapshot.holds.of(HoldReason.PAUSED)
        message = hold.message if hold is not None else f"{KIND} has the {PAUSE_ANNOTATION} annotation"
        return Changes((replace(_NOT_PAUSED, status="True", reason=PAUSED, message=message),))
    blocked = _blocked(snapshot)
    if blocked is not None:
        return Changes((blocked, _NOT_PAUSED))
    found = machines.changes(snapshot, stored)
    return replace(found, wanted=(*found.wanted, _NOT_PAUSED))
