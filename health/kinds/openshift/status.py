"""The status of a MachineHealthCheck (MHC A.1). Pure.

Nothing is written for a paused check. A check that cannot be read loses its old numbers and allows nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from health.check.check_snapshot import CheckSnapshot
from health.check.pause import is_paused
from health.kinds.machines.conditions import changes
from health.kinds.machines.status_conditions import Form, updated
from health.kinds.machines.threshold import remediations_allowed

Status = Mapping[str, Any]


def status_patch(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    """The merge patch that corrects `stored`; empty if it is correct."""
    if is_paused(snapshot):
        return {}
    conditions = updated(stored, changes(snapshot, stored), Form(now))
    wanted = {**_numbers(snapshot, stored), "conditions": conditions}
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
