"""AdmissionReview of admission.k8s.io/v1, as the API server asks and wants to be answered."""

from typing import Any

from health.kinds.nodehealthcheck.admission_review import Change, Operation
from objects.frozen import FrozenObject

FORBIDDEN = 403


class AdmissionRequest(FrozenObject):
    """What somebody wants to do with an object."""

    uid: str
    operation: Operation
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None

    @property
    def change(self) -> Change:
        """The same as a value of ours."""
        return Change(self.operation, new=self.object or {}, old=self.old_object or {})


class AdmissionReview(FrozenObject):
    """The question."""

    request: AdmissionRequest


def answer(request: AdmissionRequest, refusals: tuple[str, ...]) -> dict[str, Any]:
    """The answer: allowed, or all refusals as one message, in the form of the NodeHealthCheck operator."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": not refusals}
    if refusals:
        message = refusals[0] if len(refusals) == 1 else f"[{', '.join(refusals)}]"
        response["status"] = {"code": FORBIDDEN, "reason": "Forbidden", "message": message}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
