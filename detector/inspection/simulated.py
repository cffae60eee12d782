"""Simulated: a copy of the state with another check, or under another policy.

The copy is made at one moment, and judged again in pieces, so the event loop goes on; the live state never
changes.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from pydantic import ValidationError

from detector.limits.limit_scopes import own_scope
from detector.state.check_state import CheckRecord, CheckState
from detector.state.state_view import StateView
from health.kinds.check_manifest import CheckManifest, ManifestError, mapping_at
from health.model.references import CheckReference
from health.policy.limits import LimitScope
from health.policy.maintenance_windows import open_windows
from health.policy.outage_guard import NO_OUTAGES
from health.policy.policy import InvalidPolicyError, Policy
from health.policy.policy_in_force import PolicyInForce
from kube.time_slice import TimeSlice
from objects.field_problem import FieldProblem
from objects.timestamps import stamp
from objects.yaml_document import NoDocumentError

SIMULATED_UID = "simulated"


class RefusedTextError(Exception):
    """The text is no valid check; the message names the field and its value."""


REFUSED_TEXTS = (InvalidPolicyError, ManifestError, NoDocumentError, RefusedTextError)
"""The errors of a text that is neither a valid check nor a valid policy."""


def record_of(manifest: CheckManifest, stored: CheckRecord | None, now: datetime) -> CheckRecord:
    """The check as the API server would store it, with identity and status of the stored one of its name.

    Raises:
        RefusedTextError: it is not valid.

    """
    reference = manifest.reference
    metadata = {
        **mapping_at(manifest.body, "metadata"),
        "name": reference.name,
        "namespace": reference.namespace,
        "uid": stored.metadata.uid if stored else SIMULATED_UID,
        "creationTimestamp": stamp(stored.metadata.creation_timestamp if stored else now),
        "generation": stored.metadata.generation + 1 if stored else 1,
    }
    status = stored.status if stored else {}
    try:
        record = CheckRecord.model_validate({**manifest.body, "metadata": metadata, "status": status})
    except ValidationError as error:
        raise RefusedTextError(str(FieldProblem.of(error))) from error
    problem = record.parse(manifest.kind).problem
    if problem is not None:
        raise RefusedTextError(str(problem))
    return record


async def under_check(state: StateView, manifest: CheckManifest, record: CheckRecord) -> StateView:
    """Another copy with this check in place of the stored one, and its targets judged in pieces."""
    supposed, piece = state.frozen(manifest.reference), TimeSlice()
    check_state = CheckState(manifest.kind, record)
    for name, target in supposed.targets.of(manifest.reference).items():
        if not check_state.ignores(name, target):
            check_state.see(name, target, supposed.cluster_context)
        await piece.yield_if_over()
    supposed.checks[manifest.reference] = check_state
    return supposed


async def under_policy(state: StateView, policy: Policy, now: datetime) -> StateView:
    """Another copy under this policy, with targets judged in pieces where it changes their numbers.

    An outage that stands was found by the guard in force; it ends only if the policy turns the guard off.
    """
    before = state.cluster_context
    context = replace(
        before,
        policy=PolicyInForce(policy=policy, stored=before.policy.stored),
        outages=before.outages if policy.outage_guard is not None else NO_OUTAGES,
        open_windows=open_windows(policy.maintenance_windows, now),
    )
    supposed, piece = state.frozen(*state.checks, context=context), TimeSlice()
    for reference, check_state in supposed.checks.items():
        if not context.changes_verdicts(reference.group_kind, before):
            continue
        for name in tuple(check_state.selected):
            check_state.see(name, supposed.targets.get(reference, name), context)
            await piece.yield_if_over()
    return supposed


def scopes_in(state: StateView) -> Callable[[CheckReference], tuple[LimitScope, ...]]:
    """The limits that the policy and the checks of this copy choose."""
    limits = state.cluster_context.policy.policy.limits
    of_policy = () if limits.is_off else (LimitScope(limits, "the policy"),)
    chosen: dict[CheckReference, tuple[LimitScope, ...]] = {}

    def scopes_of(reference: CheckReference) -> tuple[LimitScope, ...]:
        if reference not in chosen:
            own = own_scope(reference, state.checks.get(reference))
            chosen[reference] = of_policy if own is None else (*of_policy, own)
        return chosen[reference]

    return scopes_of
