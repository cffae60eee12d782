"""Whose request is it? What to do when the name of a request is taken already."""

from activities.held import ASK_AGAIN_SECONDS
from health.kinds import CHECK_KINDS
from health.observation import Hold, HoldReason
from health.references import IncidentReference, TemplateReference
from health.remediation_request import TEMPLATE_NAME, RemediationRequest


def objection(
    existing: RemediationRequest, incident: IncidentReference, template: TemplateReference
) -> Hold | None:
    """Why a request that exists can't be taken for the incident's own; None: it is its own."""
    kind = CHECK_KINDS[incident.check.kind]
    name = existing.metadata.name
    if existing.owner(kind.kind, kind.api_version) != incident.check.name:
        return _hold(HoldReason.TAKEN, f"request {name} exists and belongs to another owner")
    if existing.target_uid not in ("", incident.target.uid):
        return _hold(HoldReason.EARLIER_REQUEST, f"request {name} of an earlier target still exists")
    if existing.metadata.annotations.get(TEMPLATE_NAME, "") not in ("", template.name):
        return _hold(HoldReason.EARLIER_REQUEST, f"request {name} of an earlier template still exists")
    if existing.is_being_deleted:
        return _hold(HoldReason.EARLIER_REQUEST, f"request {name} is being deleted")
    return None


def _hold(reason: HoldReason, message: str) -> Hold:
    return Hold(reason=reason, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)
