"""Events of a storm (semantics 1.5): what became so since the storm that was seen before."""

from collections.abc import Iterator
from dataclasses import dataclass

from health.announcement import Severity
from health.storm import Storm


@dataclass(frozen=True)
class StormNote:
    """One Event; `seed` tells it from the same one of another storm."""

    severity: Severity
    reason: str
    message: str
    seed: str


def storm_notes(before: Storm | None, after: Storm | None) -> Iterator[StormNote]:
    """What to tell; a storm that is forgotten because the spec knows none any more tells nothing."""
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
