"""Pause: the annotation that pauses a check of Machines of either API (rule 7, MHC A.2.8, CAPI B.2.7).

While a check carries it, whatever its value, nothing at all is written for it but that it is paused, where
its API has a condition for that. A check that cannot be read may be paused as well, and then nobody is told
what is wrong with it. The Lease of a target with a request is renewed all the same: others keep away.
"""

from collections.abc import Mapping

from pydantic import ValidationError

from health.gate.check_snapshot import CheckSnapshot
from health.gate.invalid_check import InvalidCheckError
from health.model.observation import Hold, HoldReason
from objects.metadata import ObjectMetadata

PAUSED = "cluster.x-k8s.io/paused"


class PausedInvalidCheckError(InvalidCheckError):
    """A check is paused, and cannot be read either."""


def pause_hold(annotations: Mapping[str, str]) -> Hold | None:
    """What these annotations of a check hold."""
    if PAUSED not in annotations:
        return None
    return Hold(reason=HoldReason.PAUSED, message=f"paused by the annotation {PAUSED}")


def of_paused(problem: InvalidCheckError, metadata: object) -> InvalidCheckError:
    """The problem, told from others where the check, whose raw metadata is given, is paused."""
    if not _is_paused(metadata):
        return problem
    return PausedInvalidCheckError(problem.field, problem.value, problem.problem, problem.api_version)


def is_paused(snapshot: CheckSnapshot) -> bool:
    """Whether the check is paused."""
    if isinstance(snapshot.check, InvalidCheckError):
        return isinstance(snapshot.check, PausedInvalidCheckError)
    return snapshot.context.is_fully_paused


def _is_paused(metadata: object) -> bool:
    """Whether a check that cannot be read is paused; metadata that cannot be read says nothing of it."""
    try:
        return pause_hold(ObjectMetadata.model_validate(metadata).annotations) is not None
    except ValidationError:
        return False
