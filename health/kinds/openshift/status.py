"""The status of a MachineHealthCheck (MHC A.1). Pure.

Nothing is written for a paused check. A check that cannot be read loses its old numbers and allows nothing.
Conditions of others stay unchanged and in place. A condition's lastTransitionTime moves with any other
field, as for the machine-api-operator, so an unchanged status is never written.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from health.check.check_snapshot import CheckSnapshot
from health.check.pause import is_paused
from health.kinds.machines.restriction import REMEDIATION_ALLOWED
from health.kinds.openshift.conditions import (
    REQUEST_AVAILABLE,
    SAID,
    TEMPLATE_AVAILABLE,
    Condition,
    conditions,
)
from health.kinds.openshift.spec import remediations_allowed
from health.model.invalid_check import InvalidCheckError
from health.model.stored_status import items, stored_condition, string
from objects.timestamps import stamp

Status = Mapping[str, Any]

_OURS = frozenset({REMEDIATION_ALLOWED, TEMPLATE_AVAILABLE, REQUEST_AVAILABLE})


def status_patch(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    """The merge patch that corrects `stored`; empty if it is correct."""
    if is_paused(snapshot):
        return {}
    wanted = {**_numbers(snapshot, stored), "conditions": _conditions(snapshot, stored, now)}
    return {key: value for key, value in wanted.items() if stored.get(key) != value}


def _numbers(snapshot: CheckSnapshot, stored: Status) -> dict[str, int | None]:
    """The numbers for a merge patch, in which None removes a field."""
    if snapshot.allowance is None:
        allowed = 0 if "remediationsAllowed" in stored else None
        return {"expectedMachines": None, "currentHealthy": None, "remediationsAllowed": allowed}
    return {
        "expectedMachines": snapshot.allowance.total,
        "currentHealthy": snapshot.allowance.healthy,
        # Zero is written too: a merge patch without the field would keep the old number.
        "remediationsAllowed": remediations_allowed(snapshot.allowance),
    }


def _conditions(snapshot: CheckSnapshot, stored: Status, now: datetime) -> list[Mapping[str, Any]]:
    known_request = stored_condition(stored, REQUEST_AVAILABLE)
    ours = {one["type"]: one for one in conditions(snapshot, known_request)}
    # It is unknown whether a check that cannot be read still has a template.
    gone = set() if isinstance(snapshot.check, InvalidCheckError) else _OURS - set(ours)
    kept = [one for one in items(stored, "conditions") if string(one, "type") not in gone]
    updated = [_updated(ours.pop(string(one, "type"), None), one, now) for one in kept]
    return [*updated, *({**one, "lastTransitionTime": stamp(now)} for one in ours.values())]


def _updated(wanted: Condition | None, stored: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
    if wanted is None or all(wanted.get(key, "") == (stored.get(key) or "") for key in SAID):
        return stored
    return {**wanted, "lastTransitionTime": stamp(now)}
