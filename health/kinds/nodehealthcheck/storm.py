"""A storm as conditions of the status (NHC 1.3), and parsed back from them.

The conditions are the memory of a storm: the next leader, and the NodeHealthCheck operator, continue from
them (rule 39). Both appear with the first storm, and stay as False when it is over.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from health.check.storm import Storm
from health.model.stored_status import items, string
from objects.timestamps import as_time, stamp

STORM, COOLDOWN = "StormActive", "StormCooldownActive"
_REASON = "HealthyNodeThresholdChange"
_STORM_MESSAGES = {
    True: (
        "Storm mode is activated - preventing any new remediation until the storm is over and cooldown "
        "duration expired"
    ),
    False: "Storm mode is deactivated, remediation can occur normally",
}
_COOLING = "Storm cooldown delay started - waiting before resuming normal remediation"
_CLEARED = "Cooldown cleared - storm threshold triggered"
_COMPLETED = "Storm cooldown completed"


def storm_conditions(storm: Storm | None) -> list[dict[str, str]]:
    """The conditions of a storm; empty without one."""
    if storm is None:
        return []
    cooldown_message = _COOLING if storm.is_cooling else _CLEARED if storm.is_active else _COMPLETED
    return [
        _condition(STORM, storm.turned, _STORM_MESSAGES[storm.is_active], is_true=storm.is_active),
        _condition(COOLDOWN, storm.cooldown_turned, cooldown_message, is_true=storm.is_cooling),
    ]


def stored_storm(status: Mapping[str, Any], now: datetime) -> Storm | None:
    """The storm in a stored status.

    A time in the future counts as now, which holds for longer.
    """
    found = {string(condition, "type"): condition for condition in items(status, "conditions")}
    if STORM not in found:
        return None
    storm, cooldown = found[STORM], found.get(COOLDOWN, {})
    is_active = _is_true(storm)
    turned = _turned(storm, now)
    return Storm(
        is_active=is_active,
        turned=turned,
        is_cooling=is_active and _is_true(cooldown),
        cooldown_turned=_turned(cooldown, now) if cooldown else turned,
    )


def _condition(type_: str, turned: datetime, message: str, *, is_true: bool) -> dict[str, str]:
    return {
        "type": type_,
        "status": str(is_true),
        "reason": _REASON,
        "message": message,
        "lastTransitionTime": stamp(turned),
    }


def _is_true(condition: Mapping[str, Any]) -> bool:
    return condition.get("status") == "True"


def _turned(condition: Mapping[str, Any], now: datetime) -> datetime:
    second, turned = now.replace(microsecond=0), as_time(condition.get("lastTransitionTime"))
    return second if turned is None else min(turned.replace(microsecond=0), second)
