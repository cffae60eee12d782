"""Pause: the annotation that pauses a check of Machines of either API (rule 7, MHC A.2.8, CAPI B.2.7).

While a check has it, with any value, nothing is written for the check, except a condition that it is paused
where its API has one. A check that cannot be read may be paused too, and its problem is then not reported.
The Lease of a target with a request is still renewed, to keep other holders away.
"""

from collections.abc import Mapping

from pydantic import ValidationError

from health.check.check_snapshot import CheckSnapshot
from health.model.invalid_check import InvalidCheckError
from health.model.observation import Hold, HoldReason
from objects.metadata import ObjectMetadata

PAUSED = "cluster.x-k8s.io/paused"


class PausedInvalidCheckError(InvalidCheckError):
    """A check is paused and cannot be read."""


def pause_hold(annotations: Mapping[str, str]) -> Hold | None:
    """The hold by these annotations of a check."""
    if PAUSED not in annotations:
        return None
    return Hold(reason=HoldReason.PAUSED, message=f"paused by the annotation {PAUSED}")


def of_paused(problem: InvalidCheckError, metadata: object) -> InvalidCheckError:
    """The problem, as PausedInvalidCheckError if the raw metadata says that the check is paused."""
    if not _is_paused(metadata):
        return problem
    return PausedInvalidCheckError(problem.problem, problem.api_version)


def is_paused(snapshot: CheckSnapshot) -> bool:
    if isinstance(snapshot.check, InvalidCheckError):
        return isinstance(snapshot.check, PausedInvalidCheckError)
    return snapshot.holds.is_fully_paused


def _is_paused(metadata: object) -> bool:
    """True if a check that cannot be read is paused; unreadable metadata counts as not paused."""
    try:
        return pause_hold(ObjectMetadata.model_validate(metadata).annotations) is not None
    except ValidationError:
        return False
