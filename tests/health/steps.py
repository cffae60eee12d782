"""Steps that tests of escalation share: two templates of one kind, one of another, and a classic one."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from health.model.details import Details
from health.model.incident_result import OrderRecord
from health.model.moves import BY_A_CHANGE, AnnotateRequests, Move, Phase, ReleaseLease, RenewLease, Wait
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import RequestReference, Step, TemplateReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.learning import learned
from health.runbook.lease_record import LeaseRecord, LeaseState
from health.runbook.memory import Memory
from health.runbook.next_move import next_move
from tests.health.samples import NOW, fact, request_sight

MINUTE = timedelta(minutes=1)
REBOOT = TemplateReference(
    api_version="example.com/v1", kind="RebootTemplate", namespace="remediators", name="reboot"
)
RESET = REBOOT.model_copy(update={"name": "reset"})
REPLACE = REBOOT.model_copy(update={"kind": "ReplaceTemplate", "name": "replace"})
CLASSIC = (Step(template=REBOOT),)
FIRST = Step(template=REBOOT, timeout_seconds=300)
SECOND = Step(template=RESET, timeout_seconds=120)
THIRD = Step(template=REPLACE, timeout_seconds=600)
ESCALATION = (FIRST, SECOND, THIRD)
HOLD = Hold(reason=HoldReason.THRESHOLD, message="5 of 10 unhealthy, at most 4 allowed")

ACTED = Memory(
    has_acted=True,
    lease=LeaseRecord(
        state=LeaseState.HELD,
        duration_seconds=300,
        acquired_at=NOW,
        request_acquired_at=NOW,
        renew_at=NOW + 5 * MINUTE,
    ),
)
"""What an incident knows that made its first request now."""
AN_INSTANT = timedelta(seconds=0.001)
HELD_LEASE = LeaseRecord(state=LeaseState.HELD)
"""One that was taken, or may have been."""


def request_of(step: Step, age: timedelta = timedelta(), **fields: object) -> RequestSnapshot:
    """A request of `step` that was made `age` ago; its uid is the name of its template."""
    template = step.template
    snapshot = request_sight(template.name, template=template.name, created=NOW - age, **fields)
    reference: RequestReference = snapshot.reference.model_copy(update={"kind": template.request_kind})
    return snapshot.model_copy(update={"reference": reference})


def seen(
    *requests: RequestSnapshot,
    state: TargetState = TargetState.EXPIRED,
    steps: tuple[Step, ...] = ESCALATION,
    hold: Hold | None = None,
    **fields: object,
) -> Observation:
    """What the detector answers of a target with these requests."""
    base = Observation(
        state=state,
        reason=f"it is {state}",
        remaining_seconds=90 if state is TargetState.WAITING else 0,
        fact=fact(),
        steps=() if state is TargetState.UNKNOWN else steps,
        requests=requests,
        hold=hold,
    )
    return base.model_copy(update=fields)


def move(observation: Observation, memory: Memory = ACTED, now: datetime = NOW) -> Move:
    """The next move, as the workflow asks for it."""
    completed = memory.at(now).complete(observation)
    return next_move(completed, learned(memory.at(now), completed, now), now)


def with_lease(memory: Memory, **fields: object) -> Memory:
    """The memory with another Lease."""
    return memory.model_copy(update={"lease": memory.lease.model_copy(update=fields)})


def order(kind: str, reason: str = "", until: datetime | None = None) -> OrderRecord:
    """An order of a person that was given now: "abort" or "hold"."""
    return OrderRecord(order=kind, reason=reason, given=NOW, until=until)


def because(reason: str) -> Details:
    """Details of a move that has but one reason: what is seen of its target."""
    return Details(reason=reason)


def annotations_of(result: Move) -> dict[str, str | None]:
    """What a move writes."""
    assert isinstance(result, AnnotateRequests), result
    return {name: text for mark in result.patches for name, text in mark.annotations.items()}


def with_steps_tried(*steps: Step) -> list[RequestSnapshot]:
    """Requests that failed, and were told to stop."""
    return [request_of(step, succeeded=False, timed_out_at=NOW) for step in steps]


@dataclass(frozen=True)
class Timed:
    """A wait by the length of its timer, whatever that is for."""

    phase: Phase
    details: str
    seconds: float | None = None


def timed(result: Move, now: datetime = NOW) -> Move | Timed:
    """A move without what people are told of its end, which tests/health/test_next_transition.py is about."""
    match result:
        case Wait():
            return Timed(result.phase, str(result.details), timer_of(result, now))
        case AnnotateRequests() | RenewLease() | ReleaseLease():
            return replace(result, next_transition=BY_A_CHANGE)
        case _:
            return result


def timer_of(result: Move, now: datetime = NOW) -> float | None:
    """How many seconds it waits; None: it waits for a look or an order."""
    assert isinstance(result, Wait), result
    left = result.requeue_after(now)
    return None if left is None else left.total_seconds()
