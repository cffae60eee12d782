"""Shadow: the runbook of an incident that may write nothing. Pure (ADR 31).

A step is recorded instead of taken, and counts from then on as a running request: its timeout passes, and the
next step comes. Actions of others, above all of the present controller, are recorded, and their requests are
neither adopted nor maintained. Requests that the incident made before the shadow are maintained and cleaned
up as usual.
"""

from dataclasses import replace
from datetime import datetime

from health.model.details import Details
from health.model.moves import REQUESTS_ARE_GONE, End, Move, Outcome, Phase
from health.model.observation import ENDED, Observation
from health.model.references import Action, RequestReference, Step
from health.model.request_record import MOST_RECORDS, RequestRecord, recorded
from health.model.request_snapshot import RequestSnapshot
from health.model.shadow_record import ShadowRecord, ShadowStep
from health.runbook.memory import Memory
from health.runbook.waiting import wait
from objects.timestamps import stamp

IN_SHADOW = "in shadow"


def ours(seen: Observation, memory: Memory) -> Observation:
    """The observation without the actions of others."""
    known = {request.uid for request in memory.requests}
    changes: dict[str, object] = {"requests": tuple(one for one in seen.requests if one.uid in known)}
    if not memory.has_acted:
        changes |= {"under_way": "", "is_marked": False}
    if not memory.owns_something:
        # A person's confirmation is for the controller that keeps the requests of the Node.
        changes |= {"lease_acquired_at": None, "is_confirmed": False}
    return seen.model_copy(update=changes)


def as_if(seen: Observation, memory: Memory) -> Observation:
    """The observation as if the recorded steps were taken; an abort would have removed their requests."""
    own = ours(seen, memory)
    if seen.state in ENDED or memory.left_alone:
        return own
    return own.model_copy(update={"requests": (*own.requests, *_imagined(memory.shadow))})


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
        one.action is not Action.REQUEST or (one.action, one.template) == (step.action, step.template)
        for one in record.current
    )


def in_shadow(move: Move, seen: Observation, memory: Memory, now: datetime) -> Move:
    """The move in shadow, with details that say so."""
    if not isinstance(move, End):
        return replace(move, details=_details(move.details, seen, memory))
    return _ended(move, seen, memory, now)


def _ended(end: End, seen: Observation, memory: Memory, now: datetime) -> Move:
    details = _details(end.details, seen, memory)
    others = [str(one.reference) for one in seen.requests]
    if others:
        why = f"waits until the requests of others are gone: {', '.join(others)}"
        return wait(Phase.CLEANING_UP, details.and_also(why), now, otherwise=REQUESTS_ARE_GONE)
    is_ours = memory.shadow.steps and not memory.has_acted
    return End(Outcome.WOULD_HAVE_REMEDIATED if is_ours else end.outcome, details)


def _details(details: Details, seen: Observation, memory: Memory) -> Details:
    own = ", ".join(map(str, ours(seen, memory).requests))
    would = ", ".join(f"{step} at {stamp(step.at)}" for step in memory.shadow.current)
    words = f"{IN_SHADOW}, would have taken: {would}" if would else IN_SHADOW
    return details.model_copy(update={"requests": own, "shadow": words})


def having_recorded(memory: Memory, number: int, seen: Observation, now: datetime) -> Memory:
    """The memory once the step with that index would have been taken."""
    step, record = seen.steps[number], memory.shadow
    new = ShadowStep(number=number + 1, action=step.action, template=step.template, at=now, why=seen.reason)
    kept = (*record.steps, new)[-MOST_RECORDS:]
    forgotten = len(record.steps) + 1 - len(kept)
    shadow = ShadowRecord(steps=kept, spent=max(0, record.spent - forgotten), others=record.others)
    return memory.model_copy(update={"shadow": shadow, "skips_back_off": False})


def entered_or_left(memory: Memory, seen: Observation) -> Memory:
    """The memory with the current shadow state; an unknown state changes nothing.

    Steps of an earlier shadow do not count in a later one.
    """
    if seen.is_shadow is None or seen.is_shadow == memory.is_shadow:
        return memory
    return begun_anew(memory).model_copy(update={"is_shadow": seen.is_shadow})


def begun_anew(memory: Memory) -> Memory:
    """The memory without recorded steps that count as taken."""
    shadow = memory.shadow.model_copy(update={"spent": len(memory.shadow.steps)})
    return memory.model_copy(update={"shadow": shadow})


def watching_others(memory: Memory, seen: Observation, now: datetime) -> Memory:
    """The memory with the current actions of others on the target."""
    known = {request.uid for request in memory.requests}
    requests = [one for one in seen.requests if one.uid not in known]
    others = recorded(memory.shadow.others, requests, (), now)
    if not memory.has_acted:
        others = _with_deed(others, seen.under_way, now)
    return memory.model_copy(update={"shadow": memory.shadow.model_copy(update={"others": others})})


def _with_deed(others: tuple[RequestRecord, ...], under_way: str, now: datetime) -> tuple[RequestRecord, ...]:
    """The records with another actor's deletion or mark of the target, while it is in progress."""
    if not under_way:
        return others
    new = RequestRecord(request=under_way, uid=under_way, template="", started=now)
    known = next((one for one in others if one.uid == under_way), new)
    rest = tuple(one for one in others if one.uid != under_way)
    return (*rest, known.model_copy(update={"ended": None}))[-MOST_RECORDS:]
