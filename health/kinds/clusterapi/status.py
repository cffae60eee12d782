"""Status of a MachineHealthCheck (CAPI B.1), as a pure function of what is seen, in the version of the check.

While it is paused nothing is written but the condition Paused. Of one that cannot be read no number is left
of those that were true once; while its Machines cannot be seen, or it has no Cluster, the numbers stay as
they were. observedGeneration follows the spec only as far as it can be read.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from health.gate.check_snapshot import CheckSnapshot
from health.gate.invalid_check import InvalidCheckError
from health.gate.pause import is_paused
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.conditions import changes, obstacle
from health.kinds.clusterapi.group import V1BETA2
from health.kinds.clusterapi.status_conditions import conditions_patch
from health.kinds.clusterapi.threshold import remediations_allowed

Status = Mapping[str, Any]

MOST_TARGETS = 10_000
"""Names that the schema takes; of more the first."""
_NUMBERS = ("expectedMachines", "currentHealthy", "remediationsAllowed")


def status_patch(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    """The merge patch that makes `stored` true; empty if it is."""
    of_conditions = conditions_patch(
        stored,
        lambda listed: changes(snapshot, listed, now),
        api_version=_api_version(snapshot),
        generation=snapshot.generation,
        now=now,
    )
    wanted = {} if is_paused(snapshot) else _numbers(snapshot)
    return {key: value for key, value in wanted.items() if stored.get(key) != value} | of_conditions


def _api_version(snapshot: CheckSnapshot) -> str:
    known = snapshot.check
    return known.api_version if isinstance(known, MachineHealthCheck | InvalidCheckError) else V1BETA2


def _numbers(snapshot: CheckSnapshot) -> dict[str, Any]:
    """The numbers, as a merge patch has them: None takes one out."""
    if isinstance(snapshot.check, InvalidCheckError):
        return dict.fromkeys((*_NUMBERS, "targets"))
    decided = snapshot.allowance
    if decided is None or obstacle(snapshot) is not None:
        return {}
    numbers = (decided.total, decided.healthy, remediations_allowed(decided))
    names = sorted(snapshot.selected)[:MOST_TARGETS]
    return {
        **dict(zip(_NUMBERS, numbers, strict=True)),
        "observedGeneration": snapshot.generation,
        "targets": names or None,
    }
