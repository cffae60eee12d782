"""What matters of one target beyond its verdict, read off the picture: who else holds it, and its turn."""

from datetime import datetime

from detector.picture.picture import Picture
from detector.picture.request_index import SeenRequest
from detector.picture.target_leases import lease_of_its_node, own_lease
from detector.picture.target_store import place_of
from health.gate.admission import Rival, TargetFacts
from health.gate.health_check import InvalidCheckError
from health.kinds.lease_holder import holder_of, turn_holder_of
from health.model.references import CheckReference, Step
from health.model.target import Target
from health.runbook.escalation import Plan
from kube.lease import CONTROL_PLANE_TURN, LeaseRecord, expiry, holder_is_valid


def target_facts(picture: Picture, check: CheckReference, target: Target, now: datetime) -> TargetFacts:
    """The facts of `target` as one of `check`."""
    name = target.metadata.name
    return TargetFacts(
        is_excluded=target.is_excluded,
        has_no_step=not _has_step(picture, check, target),
        earlier_request=_earlier_request(picture, check, target),
        lease_holder=_lease_of_another(picture, check, target, now),
        requester=_request_of_another(picture, check, name),
        turn=_turn(picture, check, name, now) if target.is_control_plane else None,
    )


def acquired_at(picture: Picture, check: CheckReference, target: Target) -> datetime | None:
    """Since when `check` holds the Lease of `target`; None if it does not."""
    lease = picture.leases.get(own_lease(check, target))
    if lease is None or lease.spec.holder_identity != holder_of(check):
        return None
    return lease.spec.acquire_time


def _earlier_request(picture: Picture, check: CheckReference, target: Target) -> str:
    for entry in picture.requests.of(check, target.metadata.name):
        if entry.request.target_uid not in ("", target.metadata.uid):
            return str(entry.reference)
    return ""


def _request_of_another(picture: Picture, check: CheckReference, name: str) -> Rival | None:
    """Another's request, unless its remediator was told to stop (decision 13).

    One of a template of our own is in the way until it is gone: ours would have its name (semantics 2.8).
    """
    own = Plan(_steps(picture, check))
    for entry in picture.requests.for_target(name):
        is_in_the_way = entry.sight.timed_out_at is None or own.step_of(entry.reference) is not None
        if entry.owner != check and is_in_the_way and _may_be_for(check, entry):
            return Rival(str(entry.owner or "another owner"), str(entry.reference))
    return None


def _may_be_for(check: CheckReference, entry: SeenRequest) -> bool:
    """Whether a request can be for a target of `check`: one of this name may be of another sort."""
    if entry.owner is not None:
        return place_of(entry.owner) == place_of(check)
    return check.namespace in ("", entry.reference.namespace)


def _lease_of_another(picture: Picture, check: CheckReference, target: Target, now: datetime) -> Rival | None:
    names = dict.fromkeys((own_lease(check, target), lease_of_its_node(target)))
    rivals = (_holder(picture.leases.get(name), holder_of(check), now) for name in names)
    return next((rival for rival in rivals if rival is not None), None)


def _has_step(picture: Picture, check: CheckReference, target: Target) -> bool:
    known = picture.checks[check].check
    return not isinstance(known, InvalidCheckError) and bool(known.steps_for(target))


def _steps(picture: Picture, check: CheckReference) -> tuple[Step, ...]:
    known = picture.checks[check].check
    return () if isinstance(known, InvalidCheckError) else known.steps


def _turn(picture: Picture, check: CheckReference, name: str, now: datetime) -> Rival | None:
    """Another node of the control plane, by any request for it (semantics 2.4/1), else by the Lease."""
    turns = [entry for entry in picture.requests.all() if entry.sight.is_of_control_plane]
    if any(entry.request.target_name == name for entry in turns):
        return None
    if turns:
        return Rival(turns[0].request.target_name, str(turns[0].reference))
    return _holder(picture.leases.get(CONTROL_PLANE_TURN), turn_holder_of(check, name), now)


def _holder(lease: LeaseRecord | None, we: str, now: datetime) -> Rival | None:
    if lease is None or not holder_is_valid(lease, now) or lease.spec.holder_identity == we:
        return None
    ends = expiry(lease) or now
    return Rival(lease.spec.holder_identity or "", seconds=(ends - now).total_seconds())
