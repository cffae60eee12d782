"""Adoption: a request that names no owner belongs to the check that selects its target (rule 39).

The machine-api-operator does not record on a request for which check it made it.
"""

from collections.abc import Mapping
from dataclasses import replace

from detector.state.check_state import CheckState
from detector.state.request_index import SeenRequest
from detector.state.target_store import TargetStore, place_of
from health.kinds.registry import CHECK_KINDS
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from health.runbook.escalation import Plan


def adopted(
    entry: SeenRequest, checks: Mapping[CheckReference, CheckState], targets: TargetStore
) -> SeenRequest:
    """`entry`, owned by the first check that could have made it; unchanged if owned, or if none could."""
    if entry.owner is not None:
        return entry
    for check, check_state in checks.items():
        if entry.request.target_name in check_state.selected and _could_own(
            check, check_state, entry, targets
        ):
            return replace(entry, owner=check)
    return entry


def _could_own(
    check: CheckReference, check_state: CheckState, entry: SeenRequest, targets: TargetStore
) -> bool:
    target = targets.get(check, entry.request.target_name)
    if target is None or isinstance(check_state.check, InvalidCheckError):
        return False
    if Plan(check_state.check.steps).step_of(entry.reference) is None:
        return False
    place, who = place_of(check), target.metadata
    return CHECK_KINDS[check.group_kind].is_unsigned_for(entry.request, place.reference(who.name, who.uid))
