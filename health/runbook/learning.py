"""Learning: what a look adds to the memory of an incident.

What the cluster shows of ours is kept, and cleaned up, whoever made it. The same look again adds nothing.
"""

from datetime import datetime

from health.model.incident_result import recorded
from health.model.observation import ENDED, Observation, TargetState
from health.runbook.escalation import Plan, lease_duration
from health.runbook.memory import Memory


def learned(memory: Memory, seen: Observation, now: datetime) -> Memory:
    """The memory after a look."""
    known = _watching_the_mark(_recognizing_the_deletion(memory, seen, now), seen, now)
    adopted = _recording(_checking_lease(_adopting(known, seen, now), seen, now), seen, now)
    told = _forgetting_what_was_found(adopted, seen)
    return _exhausting(_starting_over(_spending(told, seen, now), seen), seen, now)


def _forgetting_what_was_found(memory: Memory, seen: Observation) -> Memory:
    """What an act found holds the failure that it was for, and no later one."""
    if memory.found is None or seen.state in (TargetState.EXPIRED, TargetState.UNKNOWN):
        return memory
    return memory.model_copy(update={"found": None})


def _recognizing_the_deletion(memory: Memory, seen: Observation, now: datetime) -> Memory:
    """A deletion that was ordered and whose answer was lost was ours, if the target goes or is gone."""
    is_going = bool(seen.under_way) or (seen.state is TargetState.GONE and not seen.is_replaced)
    if not memory.may_have_deleted or not is_going:
        return memory
    changes = {"has_acted": True, "deleted_at": now, "attempt": memory.attempt_of(seen)}
    return memory.model_copy(update=changes | {"may_have_deleted": False})


def _watching_the_mark(memory: Memory, seen: Observation, now: datetime) -> Memory:
    """A mark that was taken off while the target is unhealthy counts as an attempt (rule 14)."""
    is_marked = seen.is_marked
    if is_marked == memory.is_marked or seen.state is TargetState.UNKNOWN:
        return memory
    watched = memory.model_copy(update={"is_marked": is_marked, "marked_at": None})
    if is_marked or seen.state is not TargetState.EXPIRED:
        return watched
    return watched.having_lost((), seen, now)


def _adopting(memory: Memory, seen: Observation, now: datetime) -> Memory:
    if not seen.requests:
        return memory
    known = {request.uid: request for request in memory.requests}
    known |= {request.uid: request.reference for request in seen.requests}
    changes: dict[str, object] = {
        "requests": tuple(known.values()),
        "has_acted": True,
        "attempt": memory.attempt_of(seen),
        "may_hold_lease": memory.may_hold_lease or not memory.has_given_back,
        "is_of_control_plane": memory.is_of_control_plane
        or any(request.is_of_control_plane for request in seen.requests),
        "lease_seconds": _lease_seconds(seen) or memory.lease_seconds,
        # Of a request that was adopted nobody knows yet until when its Lease runs.
        "renew_at": memory.renew_at or now,
    }
    return memory.model_copy(update=changes)


def _recording(memory: Memory, seen: Observation, now: datetime) -> Memory:
    known = {request.uid for request in memory.requests}
    records = recorded(memory.records, seen.requests, known, now)
    return memory if records == memory.records else memory.model_copy(update={"records": records})


def _checking_lease(memory: Memory, seen: Observation, now: datetime) -> Memory:
    """A Lease whose time is another than we know is read again; what was sighted may itself be old."""
    sighted = seen.lease_acquired_at
    if sighted is None or sighted in (memory.lease_acquired_at, memory.lease_sighted_at):
        return memory
    return memory.model_copy(update={"lease_sighted_at": sighted, "renew_at": now})


def _lease_seconds(seen: Observation) -> float | None:
    """How long the Lease is taken for while the latest request runs; None: the check does not list it."""
    plan = Plan(seen.steps)
    step = plan.step_of(plan.latest(seen.requests).reference)
    return None if step is None else lease_duration(step).total_seconds()


def _spending(memory: Memory, seen: Observation, now: datetime) -> Memory:
    if seen.state is not TargetState.EXPIRED:
        return memory
    plan = Plan(seen.steps, memory.spent)
    over = {plan.step_of(request.reference) for request in plan.course(seen.requests, now).over}
    # A classic remediation has no turn that could be over: a request that somebody deletes is made anew.
    steps = [step for step in seen.steps if step in over and step.timeout_seconds is not None]
    new = tuple(step.template for step in steps if step.template not in memory.spent)
    return memory.model_copy(update={"spent": (*memory.spent, *new)}) if new else memory


def _starting_over(memory: Memory, seen: Observation) -> Memory:
    if not memory.starts_over or not seen.steps or memory.owns_something or seen.requests:
        return memory
    names = [step.template.name for step in seen.steps]
    wanted = memory.starts_over.first_step
    first = names.index(wanted) if wanted in names else 0
    before = tuple(step.template for step in seen.steps[:first])
    changes = {"spent": before, "marks": (), "starts_over": None}
    return memory.model_copy(update=changes | {"lost": 0, "lost_attempt": 0})


def _exhausting(memory: Memory, seen: Observation, now: datetime) -> Memory:
    if seen.state is TargetState.UNKNOWN:
        return memory
    is_tried = seen.state not in ENDED and bool(seen.requests or memory.spent)
    is_exhausted = is_tried and Plan(seen.steps, memory.spent).course(seen.requests, now).is_exhausted
    return memory.model_copy(update={"is_exhausted": is_exhausted})
