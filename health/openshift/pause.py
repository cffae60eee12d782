"""Pause: while a check carries the annotation, nothing at all is written for it (decision 7, A.2.8).

Presence counts, whatever the value. A check that cannot be read may be paused as well, and then nobody is
told what is wrong with it. The Lease of a target with a request is renewed all the same: others keep away.
"""

from collections.abc import Mapping

from health.check_sight import CheckSight
from health.health_check import InvalidCheckError
from health.observation import Hold, HoldReason

PAUSED = "cluster.x-k8s.io/paused"


class PausedInvalidCheckError(InvalidCheckError):
    """A check is paused, and cannot be read either."""


def pause_hold(annotations: Mapping[str, str]) -> Hold | None:
    """What these annotations of a check hold."""
    if PAUSED not in annotations:
        return None
    return Hold(reason=HoldReason.PAUSED, message=f"paused by the annotation {PAUSED}")


def is_paused(sight: CheckSight) -> bool:
    """Whether the check is paused."""
    if isinstance(sight.check, InvalidCheckError):
        return isinstance(sight.check, PausedInvalidCheckError)
    return sight.check.hold is not None and sight.check.hold.reason is HoldReason.PAUSED
