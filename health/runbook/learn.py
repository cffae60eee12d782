"""Learning: what an observation adds to the memory of an incident. Pure.

Objects of the incident in the cluster are remembered and cleaned up, whether or not this run made them. The
same observation a second time adds nothing.
"""

from datetime import datetime

from health.model.incident_result import recorded
from health.model.observation import ENDED, Observation, TargetState
from health.model.references import Action
from health.model.verdict import CountedFact
from health.runbook import by_order, shadow
from health.runbook.approvals import followed
from health.runbook.escalation import Plan, lease_duration, meant_by
from health.runbook.given_orders import obeyed
from health.runbook.memory_parts import Disruption
from health.runbook.recovery import with_proof
from health.runbook.relapse import waits, with_relapse
from health.runbook.state import Memory

_SEEN = frozenset({TargetState.HEALTHY, TargetState.WAITING, TargetState.EXPIRED})
"""States that come from looking at the target itself."""


def learned(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The memory after an observation; the order of the calls matters."""
    memory = shadow.entered_or_left(memory, observation)
    delays = memory.delays.observed(
        observation,
        now,
        is_blocked=memory.is_blocked,
        is_before_the_first_step=memory.is_before_the_first_step,
    )
    recovery, counted = memory.recovery.observed(observation, now), _counted(memory, observation)
    changes = {"recovery": recovery, "delays": delays, "counted": counted}
    memory = memory.model_copy(update=changes | {"holds": observation.holds_after(memory.holds)})
    if not memory.is_shadow:
        return _learned(memory, observation, now)
    # The incident records the acts of others without adopting them; it learns its own objects as usual.
    memory = shadow.watching_others(memory, observation, now)
    if memory.starts_over and not memory.owns_something:
        memory = shadow.begun_anew(memory)
    return _learned(memory, shadow.ours(observation, memory), now)


def _counted(memory: Memory, observation: Observation) -> CountedFact | None:
    """The failure that the next detector goes on counting; an unknown state says nothing about it."""
    if observation.state is TargetState.UNKNOWN:
        return memory.counted
    fact, counted_from = observation.fact, observation.counted_from
    if fact is None or counted_from is None or observation.seen_at is None:
        return None
    signs = observation.signs_seen
    return CountedFact(fact=fact, counted_from=counted_from, as_of=observation.seen_at, signs=signs)


def _learned(memory: Memory, observation: Observation, now: datetime) -> Memory:
    memory = by_order.taken(memory, observation, now)
    memory = _noting_the_boot(memory, observation)
    observation = with_proof(observation, memory)
    memory = _recognizing_the_deletion(memory, observation, now)
    memory = _watching_the_mark(memory, observation, now)
    memory = _adopting(memory, observation, now)
    own = {request.uid for request in memory.requests}
    lease = memory.lease.observed(observation.lease_acquired_at, now)
    records = recorded(memory.records, observation.requests, own, now)
    # The finding of an act applies to the failure behind that act, and not to later ones.
    is_of_this_failure = observation.state in (TargetState.EXPIRED, TargetState.UNKNOWN)
    found = memory.found if is_of_this_failure else None
    memory = memory.model_copy(update={"lease": lease, "records": records, "found": found})
    memory = _ending_the_row_of_failures(memory, observation)
    memory = obeyed(memory, observation, now)
    memory = _spending(memory, observation, now)
    memory = _starting_over(memory, observation)
    memory = with_relapse(memory, observation)
    memory = followed(memory, observation, now)
    return _exhausting(memory, observation, now)


def _noting_the_boot(memory: Memory, observation: Observation) -> Memory:
    """Take the boot ID of the oldest request.

    A request that was just cleaned up may still be visible, and is ignored.
    """
    made = [
        request
        for request in observation.requests
        if not request.is_being_deleted and request.uid not in memory.cleaned_up
    ]
    if not made:
        return memory
    first = min(made, key=lambda request: request.created)
    recovery = memory.recovery.begun(first.boot_id, is_first=memory.is_before_the_first_step)
    return memory.model_copy(update={"recovery": recovery})


def _recognizing_the_deletion(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """A deletion that was ordered and whose answer was lost was ours if the target disappears."""
    is_going = bool(observation.under_way) or (
        observation.state is TargetState.GONE and not observation.is_replaced
    )
    if not memory.disruption.may_have_deleted or not is_going:
        return memory
    deletion = Disruption(action=Action.DELETE, at=now)
    changes = {"has_acted": True, "disruption": deletion, "attempt": memory.attempt_of(observation)}
    return memory.model_copy(update=changes)


def _watching_the_mark(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """Any mark counts as ours (rule 39); its removal while the target is unhealthy ends an attempt.

    The incident that set it may not know, because the answer of an act is lost when its worker dies.
    """
    if observation.is_marked == memory.is_marked or observation.state not in _SEEN:
        return memory
    disruption = Disruption() if memory.disruption.marked_at else memory.disruption
    changes = {"is_marked": observation.is_marked, "disruption": disruption, "has_acted": True}
    if observation.is_marked:  # the boot ID before another controller's mark is unknown
        changes["recovery"] = memory.recovery.begun("", is_first=False)
    watched = memory.model_copy(update=changes)
    if observation.is_marked or observation.state is not TargetState.EXPIRED:
        return watched
    return watched.having_lost((), observation, now)


def _adopting(memory: Memory, observation: Observation, now: datetime) -> Memory:
    if not observation.requests:
        return memory
    requests = {request.uid: request for request in memory.requests}
    requests |= {request.uid: request.reference for request in observation.requests}
    plan = Plan(observation.steps)
    step = plan.step_of(plan.latest(observation.requests).reference)
    # Without a step the check does not list the template of the latest request.
    seconds = None if step is None else lease_duration(step).total_seconds()
    changes: dict[str, object] = {
        "requests": tuple(requests.values()),
        "has_acted": True,
        "attempt": memory.attempt_of(observation),
        "lease": memory.lease.adopted(seconds, now),
    }
    return memory.model_copy(update=changes)


def _ending_the_row_of_failures(memory: Memory, observation: Observation) -> Memory:
    """End the row when the next act would have other inputs: the next question asks to act."""
    if (
        observation.state is not TargetState.EXPIRED
        or memory.failing is None
        or memory.failing.goes_on(observation)
    ):
        return memory
    return memory.model_copy(update={"failing": None})


def _spending(memory: Memory, observation: Observation, now: datetime) -> Memory:
    plan = memory.plan(observation)
    # Requests that were just cleaned up, or that a finalizer keeps, are of the remediation before.
    present = (request for request in observation.requests if request.uid not in memory.cleaned_up)
    seen = (plan.step_of(request.reference) for request in present)
    taken = memory.with_taken(step for step in seen if step is not None)
    templates = tuple(step.template for step in observation.steps) or memory.steps
    memory = memory.model_copy(update={"taken": taken, "steps": templates})
    if observation.state is not TargetState.EXPIRED:
        return memory
    over = {plan.step_of(request.reference) for request in plan.course(observation.requests, now).over}
    # A classic remediation has one step, never spent: if its request is deleted, another one is made.
    steps = [step for step in observation.steps if step in over and step.timeout_seconds is not None]
    new = tuple(step.template for step in steps if step.template not in memory.spent)
    return memory.model_copy(update={"spent": (*memory.spent, *new)})


def _starting_over(memory: Memory, observation: Observation) -> Memory:
    if not memory.starts_over or not observation.steps or memory.owns_something or observation.requests:
        return memory
    wanted = meant_by(memory.starts_over.first_step, (step.template for step in observation.steps))
    first = next((number for number, step in enumerate(observation.steps) if step.template in wanted), 0)
    before = tuple(step.template for step in observation.steps[:first])
    loss = memory.loss.model_copy(update={"attempt": 0}) if memory.loss else None
    changes = {"spent": before, "patches": (), "starts_over": None, "loss": loss}
    changes |= {"taken": (), "earlier": None, "relapsed": ()}
    proves = (
        memory.recovery.over() if observation.state in ENDED else memory.recovery.anew(observation.boot_id)
    )
    return memory.model_copy(update=changes | {"recovery": proves})


def _exhausting(memory: Memory, observation: Observation, now: datetime) -> Memory:
    if observation.state is TargetState.UNKNOWN:
        return memory
    is_tried = observation.state not in ENDED and bool(observation.requests or memory.tried)
    is_tried = is_tried and not waits(memory, observation)
    is_exhausted = is_tried and memory.plan(observation).course(observation.requests, now).is_exhausted
    return memory.model_copy(update={"is_exhausted": is_exhausted})
