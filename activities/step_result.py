"""The result of a step: a StepResult, or a StepHeld error if nothing was done, with the reason.

Both are returned to the incident and never retried by Temporal; an Event about the target may go with them.
"""

from dataclasses import dataclass
from typing import Self

from health.model.observation import Hold, HoldReason, failed
from health.runbook.failures import AT_ONCE
from kube.errors import Forbidden, KindUnknown, KubernetesError, NotFound, RequestRefused, retry_after
from objects.event import Event
from workflows.contracts import ActResult

ASK_AGAIN_SECONDS = 60.0
"""The requeue time of the NodeHealthCheck operator for states that people or other controllers must end."""


@dataclass(frozen=True)
class StepResult:
    """The answer of a step to the incident."""

    result: ActResult
    event: Event | None = None


class StepHeld(Exception):
    """Nothing was done; carries the hold that the activity answers with."""

    def __init__(self, hold: Hold, event: Event | None = None, *, is_forbidden: bool = False) -> None:
        self.hold = hold
        self.event = event
        self.is_forbidden = is_forbidden
        """True if the API server answered 403."""
        super().__init__(str(hold))

    @classmethod
    def because(cls, reason: HoldReason, message: str, *, ask_again_seconds: float) -> Self:
        return cls(Hold(reason=reason, message=message, ask_again_seconds=ask_again_seconds))

    @classmethod
    def by(cls, error: KubernetesError, event: Event | None = None) -> Self:
        """The hold for an error of the API server."""
        return cls(hold_of(error), event, is_forbidden=isinstance(error, Forbidden))


def not_created(error: KubernetesError) -> StepHeld:
    """The error after a refused creation of a request.

    Raises KubernetesError: the API server did not answer, so the request may exist.
    """
    if error.status is None and not isinstance(error, KindUnknown):
        raise error
    hold = hold_of(error).model_copy(update={"request_error": error.message})
    return StepHeld(hold, is_forbidden=isinstance(error, Forbidden))


def hold_of(error: KubernetesError) -> Hold:
    """The hold for an error of the API server: a refusal, or an attempt that broke off."""
    if isinstance(error, Forbidden):  # kube-apiserver also answers so right after its start
        again = AT_ONCE.total_seconds()
        return Hold(reason=HoldReason.REFUSED, message=error.message, ask_again_seconds=again)
    if isinstance(error, (RequestRefused, NotFound)):
        return Hold(reason=HoldReason.REFUSED, message=error.message, ask_again_seconds=ASK_AGAIN_SECONDS)
    return failed(error.message, retry_after(error))
