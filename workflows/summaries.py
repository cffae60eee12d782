"""The summaries of an incident's activities and waits in the Temporal UI. Pure.

The UI shows the name of an activity before its question or effect: `observe • is it still unhealthy?`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Self

from health.model.details import Details
from health.model.moves import AnnotationPatch, Phase, Wait
from health.model.references import Action, Step, TargetReference
from objects.brief import LONGEST_LINE, Brief
from workflows.contracts import CleanUpInput, EvidenceInput, ObserveInput
from workflows.kit.calls import in_summary

_AFTER_PHASE = ": "
"""A separator that no phase contains."""
_UNTIL = "; until "
_DAY = timedelta(days=1)
_QUESTIONS: Mapping[Phase, str] = MappingProxyType(
    {
        Phase.WAITING: "is it still unhealthy?",
        Phase.HELD: "may it act now?",
        Phase.ACTING: "what is true after the act?",
        Phase.REMEDIATING: "is it healthy now?",
        Phase.EXHAUSTED: "is it healthy now?",
        Phase.HEALTHY_DELAY: "is it still healthy?",
        Phase.CLEANING_UP: "are its requests gone?",
        Phase.LEFT_ALONE: "is it healthy now?",
        Phase.ENDED: "is there still nothing to do?",
    }
)


def question(question: ObserveInput, phase: Phase, why: Details) -> Brief:
    """The question in the phase before it, with the orders that it reports or the reason of a hold."""
    orders = ", ".join(order.order for order in question.orders)
    return Brief(f"{_QUESTIONS[phase]} {f'reports {orders}' if orders else why.differing}")


def step(taken: Step, target: TargetReference) -> Brief:
    if taken.action is not Action.REQUEST:
        return Brief(taken.action.lower(), str(target))
    template = taken.template
    name = "/".join(part for part in (template.namespace, template.name) if part)
    return Brief(f"create {template.request_kind} from", name)


def evidence(request: EvidenceInput) -> Brief:
    due = step(request.step, request.incident.target)
    return Brief(f"before: {due.before}", due.name)


def annotation(patches: tuple[AnnotationPatch, ...]) -> Brief:
    first, others = patches[0], len(patches) - 1
    names = ", ".join(name.rpartition("/")[2] for name in first.names)
    return Brief(f"write {names} on", str(first.request), f"and {others} more" if others else "")


def clean_up(request: CleanUpInput) -> Brief:
    if not request.requests:
        return Brief("release the Lease")
    others = len(request.requests) - 1
    return Brief("delete", str(request.requests[0]), f"and {others} more" if others else "")


@dataclass(frozen=True)
class WaitSummary:
    """The summary of a wait's timer: the phase, why, and until when.

    It has what differs from other waits. The reasons in full are in the answers of the detector, and the
    current details have them all.
    """

    phase: str
    """An unknown phase is kept as text."""
    words: str
    until: str = ""
    """When it moves on by itself; "": a change of the cluster or an order moves it on."""

    @classmethod
    def of(cls, wait: Wait, now: datetime) -> Self:
        """The summary of the timer of this wait; long names in it are cut."""
        until = _until(wait, now)
        room = LONGEST_LINE - len(f"{wait.phase}{_AFTER_PHASE}{_UNTIL if until else ''}{until}")
        return cls(wait.phase, wait.brief.within(room), until)

    def __str__(self) -> str:
        words = f"{_AFTER_PHASE}{self.words}" if self.words else ""
        end = f"{_UNTIL}{self.until}" if self.until else ""
        return in_summary(f"{self.phase}{words}{end}")


def _until(wait: Wait, now: datetime) -> str:
    """The time of the next transition; another question to the detector is none that people wait for."""
    moment = wait.next_moment
    if moment is None or wait.asks_next:
        return ""
    return f"{moment.at:%H:%M:%SZ}" if moment.at - now < _DAY else f"{moment.at:%Y-%m-%d}"
