"""A storm as conditions of the status (NHC 1.3), parsed back from them, and as Events (NHC 1.5).

The conditions are the memory of a storm: the next leader, and the NodeHealthCheck operator, continue from
them (rule 39). Both appear with the first storm, and stay as False when it is over. Events report the
changes since the previous storm value.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from health.check.storm import Storm
from health.model.stored_status import items, string
from objects.event import Severity
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


@dataclass(frozen=True)
class StormNote:
    """One Event; `seed` distinguishes it from the same Event of another storm."""

    severity: Severity
    reason: str
    message: str
    seed: str


def storm_notes(before: Storm | None, after: Storm | None) -> Iterator[StormNote]:
    """The Events; a storm that is dropped because the spec no longer has a cooldown causes none."""
    if after is None:
        return
    if _began(before, after):
        message = "Storm recovery mode activated - delaying remediation until threshold is reached"
        yield StormNote(Severity.WARNING, "StormRecoveryStarted", message, f"{after.turned}")
    if _began_to_cool(before, after):
        message = "Storm recovery mode will exit after cooldown delay"
        yield StormNote(Severity.WARNING, "StormRecoveryCooldownStarted", message, f"{after.cooldown_turned}")
    if before is not None and before.is_active and not after.is_active:
        message = "Storm recovery mode deactivated - normal remediation resumed"
        yield StormNote(Severity.NORMAL, "StormRecoveryEnded", message, f"{after.turned}")


def _began(before: Storm | None, after: Storm) -> bool:
    is_another = before is None or not before.is_active or before.turned != after.turned
    return after.is_active and is_another


def _began_to_cool(before: Storm | None, after: Storm) -> bool:
    is_another = before is None or not before.is_cooling or before.cooldown_turned != after.cooldown_turned
    return after.is_cooling and is_another
