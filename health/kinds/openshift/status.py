"""Status of a MachineHealthCheck (MHC A.1), as a pure function of what is seen.

Of a paused check nothing is written. Of one that cannot be read no number is left of those that were true
once, and nothing is allowed.
Conditions that are not ours stay as they are, where they are. A condition's lastTransitionTime moves when
anything else in it does, as the machine-api-operator has it, so an unchanged status is never written.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from health.gate.check_snapshot import CheckSnapshot
from health.gate.invalid_check import InvalidCheckError
from health.gate.pause import is_paused
from health.kinds.machines.restriction import REMEDIATION_ALLOWED
from health.kinds.openshift.conditions import (
    REQUEST_AVAILABLE,
    SAID,
    TEMPLATE_AVAILABLE,
    Condition,
    conditions,
)
from health.kinds.openshift.spec import remediations_allowed
from health.model.stored_status import items, stored_condition, string
from objects.timestamps import stamp

Status = Mapping[str, Any]

_OURS = frozenset({REMEDIATION_ALLOWED, TEMPLATE_AVAILABLE, REQUEST_AVAILABLE})


def status_patch(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    """The merge patch that makes `stored` true; empty if it is."""
    if is_paused(snapshot):
        return {}
    wanted = {**_numbers(snapshot, stored), "conditions": _conditions(snapshot, stored, now)}
    return {key: value for key, value in wanted.items() if stored.get(key) != value}


def _numbers(snapshot: CheckSnapshot, stored: Status) -> dict[str, int | None]:
    """The numbers as a merge patch has them: None takes one out."""
    if snapshot.allowance is None:
        allowed = 0 if "remediationsAllowed" in stored else None
        return {"expectedMachines": None, "currentHealthy": None, "remediationsAllowed": allowed}
    return {
        "expectedMachines": snapshot.allowance.total,
        "currentHealthy": snapshot.allowance.healthy,
        # Zero too: a merge patch that leaves it out would leave an older number.
        "remediationsAllowed": remediations_allowed(snapshot.allowance),
    }


def _conditions(snapshot: CheckSnapshot, stored: Status, now: datetime) -> list[Mapping[str, Any]]:
    known_request = stored_condition(stored, REQUEST_AVAILABLE)
    ours = {one["type"]: one for one in conditions(snapshot, known_request, now)}
    # Of a check that cannot be read nobody knows whether it still has a template.
    gone = set() if isinstance(snapshot.check, InvalidCheckError) else _OURS - set(ours)
    kept = [one for one in items(stored, "conditions") if string(one, "type") not in gone]
    updated = [_updated(ours.pop(string(one, "type"), None), one, now) for one in kept]
    return [*updated, *({**one, "lastTransitionTime": stamp(now)} for one in ours.values())]


def _updated(wanted: Condition | None, stored: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
    if wanted is None or all(wanted.get(key, "") == (stored.get(key) or "") for key in SAID):
        return stored
    return {**wanted, "lastTransitionTime": stamp(now)}
