"""Whose request is it? What to do when the name of a request is taken already."""

from activities.held import ASK_AGAIN_SECONDS
from health.kinds.registry import CHECK_KINDS
from health.model.observation import Hold, HoldReason
from health.model.references import IncidentReference, TemplateReference
from health.model.remediation_request import TEMPLATE_NAME, RemediationRequest


def is_own(request: RemediationRequest, incident: IncidentReference) -> bool:
    """Whether it belongs to the check of the incident, or left to it by its operator (rule 39)."""
    kind = CHECK_KINDS[incident.check.group_kind]
    return kind.owner_of(request) == incident.check or kind.is_unsigned_for(request, incident.target)


def objection(
    existing: RemediationRequest, incident: IncidentReference, template: TemplateReference
) -> Hold | None:
    """Why a request that exists can't be taken for the incident's own; None: it is its own."""
    name = existing.metadata.name
    if not is_own(existing, incident):
        return _hold(HoldReason.TAKEN_BY_REQUEST, f"request {name} exists and belongs to another owner")
    if existing.target_uid not in ("", incident.target.uid):
        return _hold(HoldReason.EARLIER_REQUEST, f"request {name} of an earlier target still exists")
    if existing.metadata.annotations.get(TEMPLATE_NAME, "") not in ("", template.name):
        return _hold(HoldReason.EARLIER_REQUEST, f"request {name} of an earlier template still exists")
    if existing.is_being_deleted:
        return _hold(HoldReason.EARLIER_REQUEST, f"request {name} is being deleted")
    return None


def _hold(reason: HoldReason, message: str) -> Hold:
    return Hold(reason=reason, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)
