"""Shadow: the runbook of an incident that may write nothing. Pure (ADR 31).

A step is recorded instead of taken, and counts from then on as a running request: its timeout passes, and the
next step comes. Actions of others, above all of the present controller, are recorded, and their requests are
neither adopted nor maintained. Requests that the incident made before the shadow are maintained and cleaned
up as usual.
"""

from datetime import datetime

from health.model.admission import Admission
from health.model.incident_result import MOST_RECORDS, RequestRecord, ShadowRecord, ShadowStep, recorded
from health.model.observation import ENDED, HoldReason, Observation, TargetState
from health.model.references import Action, RequestReference, Step
from health.model.request_snapshot import RequestSnapshot
from health.runbook.state import Memory


def ours(observation: Observation, memory: Memory) -> Observation:
    """The observation without the actions of others."""
    own = {request.uid for request in memory.requests}
    changes: dict[str, object] = {
        "requests": tuple(request for request in observation.requests if request.uid in own)
    }
    if not memory.has_acted:
        changes |= {"under_way": "", "is_marked": False}
    if not memory.owns_something:
        # A person's confirmation is for the controller that keeps the requests of the Node.
        changes |= {"lease_acquired_at": None, "is_confirmed": False}
    return observation.model_copy(update=changes)


def others(observation: Observation, memory: Memory) -> tuple[RequestSnapshot, ...]:
    """The requests of others, which an incident in shadow leaves to them; outside shadow none."""
    own = {request.uid for request in memory.requests}
    requests = observation.requests if memory.is_shadow else ()
    return tuple(request for request in requests if request.uid not in own)


def as_if(observation: Observation, memory: Memory) -> Observation:
    """In shadow, the observation as if the recorded steps were taken; otherwise the observation itself.

    An abort would have removed the requests of recorded steps.
    """
    if not memory.is_shadow:
        return observation
    own = ours(observation, memory)
    if observation.state in ENDED or memory.left_alone:
        return own
    requests = (*own.requests, *_imagined(memory.shadow))
    return _permitted(own.model_copy(update={"requests": requests}), memory)


def _permitted(observation: Observation, memory: Memory) -> Observation:
    """The same with an admission, unless another hold applies: a recorded step needs none.

    The detector knows nothing of a `resume` that skips the back-off, because no question asks to act.
    """
    reason = observation.hold.reason if observation.hold else HoldReason.NO_ADMISSION
    is_skipped = reason is HoldReason.BACK_OFF and memory.skips_back_off
    is_held = reason is not HoldReason.NO_ADMISSION and not is_skipped
    if is_held or observation.state is not TargetState.EXPIRED:
        return observation
    return observation.admitted(Admission())


def _imagined(record: ShadowRecord) -> tuple[RequestSnapshot, ...]:
    """The requests that would exist; they count as succeeded, so that they are not annotated."""
    return tuple(
        RequestSnapshot(
            reference=RequestReference(
                api_version=step.template.api_version,
                kind=step.template.request_kind,
                namespace=step.template.namespace,
                name=f"would-be-{number}",
                uid=f"shadow-{number}",
                template=step.template.name,
            ),
            created=step.at,
            succeeded=True,
            is_flagged_as_old=True,
        )
        for number, step in enumerate(record.current)
        if step.action is Action.REQUEST
    )


def is_over(step: Step, record: ShadowRecord) -> bool:
    """True if the step, a deletion or a mark was recorded: after these the incident only waits."""
    return any(
        recorded.action is not Action.REQUEST
        or (recorded.action, recorded.template) == (step.action, step.template)
        for recorded in record.current
    )


def having_recorded(memory: Memory, number: int, observation: Observation, now: datetime) -> Memory:
    """The memory once the step with that index would have been taken."""
    step, record = observation.steps[number], memory.shadow
    new = ShadowStep(
        number=number + 1, action=step.action, template=step.template, at=now, why=observation.reason
    )
    kept = (*record.steps, new)[-MOST_RECORDS:]
    forgotten = len(record.steps) + 1 - len(kept)
    shadow = ShadowRecord(steps=kept, spent=max(0, record.spent - forgotten), others=record.others)
    return memory.model_copy(update={"shadow": shadow, "skips_back_off": False})


def entered_or_left(memory: Memory, observation: Observation) -> Memory:
    """The memory with the current shadow state; an unknown state changes nothing.

    Steps of an earlier shadow do not count in a later one.
    """
    if observation.is_shadow is None or observation.is_shadow == memory.is_shadow:
        return memory
    return begun_anew(memory).model_copy(update={"is_shadow": observation.is_shadow})


def begun_anew(memory: Memory) -> Memory:
    """The memory without recorded steps that count as taken."""
    shadow = memory.shadow.model_copy(update={"spent": len(memory.shadow.steps)})
    return memory.model_copy(update={"shadow": shadow})


def watching_others(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The memory with the current actions of others on the target."""
    own = {request.uid for request in memory.requests}
    requests = [request for request in observation.requests if request.uid not in own]
    others = recorded(memory.shadow.others, requests, (), now)
    if not memory.has_acted:
        others = _with_deed(others, observation.under_way, now)
    return memory.model_copy(update={"shadow": memory.shadow.model_copy(update={"others": others})})


def _with_deed(others: tuple[RequestRecord, ...], under_way: str, now: datetime) -> tuple[RequestRecord, ...]:
    """The records with another actor's deletion or mark of the target, while it is in progress."""
    if not under_way:
        return others
    new = RequestRecord(request=under_way, uid=under_way, template="", started=now)
    earlier = next((other for other in others if other.uid == under_way), new)
    rest = tuple(other for other in others if other.uid != under_way)
    return (*rest, earlier.model_copy(update={"ended": None}))[-MOST_RECORDS:]
