"""The status of a MachineHealthCheck (CAPI B.1), in the version of the check. Pure.

While the check is paused only the condition Paused is written. A check that cannot be read loses its old
numbers. While its Machines cannot be read, or it has no Cluster, the numbers stay. observedGeneration
follows the spec only while it can be read.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from health.check.check_snapshot import CheckSnapshot
from health.check.pause import is_paused
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.conditions import blocking_reason, changes
from health.kinds.clusterapi.group import V1BETA2
from health.kinds.clusterapi.status_conditions import conditions_patch
from health.kinds.machines.threshold import remediations_allowed
from health.model.invalid_check import InvalidCheckError

Status = Mapping[str, Any]

MOST_TARGETS = 10_000
"""The number of names that the schema allows; of more the first ones are listed."""
_NUMBERS = ("expectedMachines", "currentHealthy", "remediationsAllowed")


def status_patch(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    """The merge patch that corrects `stored`; empty if it is correct."""
    of_conditions = conditions_patch(
        stored,
        lambda listed: changes(snapshot, listed),
        api_version=_api_version(snapshot),
        generation=snapshot.generation,
        now=now,
    )
    wanted = {} if is_paused(snapshot) else _numbers(snapshot)
    return {key: value for key, value in wanted.items() if stored.get(key) != value} | of_conditions


def _api_version(snapshot: CheckSnapshot) -> str:
    check = snapshot.check
    return check.api_version if isinstance(check, MachineHealthCheck | InvalidCheckError) else V1BETA2


def _numbers(snapshot: CheckSnapshot) -> dict[str, Any]:
    """The numbers for a merge patch, in which None removes a field."""
    if isinstance(snapshot.check, InvalidCheckError):
        return dict.fromkeys((*_NUMBERS, "targets"))
    decided = snapshot.allowance
    if decided is None or blocking_reason(snapshot) is not None:
        return {}
    numbers = (decided.total, decided.healthy, remediations_allowed(decided))
    names = sorted(snapshot.selected)[:MOST_TARGETS]
    return {
        **dict(zip(_NUMBERS, numbers, strict=True)),
        "observedGeneration": snapshot.generation,
        "targets": names or None,
    }
