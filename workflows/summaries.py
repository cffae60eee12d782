"""The summaries of an incident's activities and waits in the Temporal UI. Pure.

The UI shows the name of an activity before its question or effect: `observe • is it still unhealthy?`.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from health.model.details import Details
from health.model.moves import AnnotationPatch, Phase, Wait
from health.model.references import Action, Step, TargetReference
from objects.brief import LONGEST_LINE, Brief
from workflows.contracts import CleanUpInput, EvidenceInput, ObserveInput
from workflows.kit.calls import in_summary

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


def wait(waiting: Wait, now: datetime) -> str:
    """The summary of a timer: the phase, since when it is held, why, and until when; long names are cut.

    It has what differs from other waits. The reasons in full are in the answers of the detector, and the
    current details have them all. A change of the cluster or an order moves on a wait without a time, and
    another question to the detector is no end that people wait for.
    """
    moment, until = waiting.next_moment, ""
    if moment is not None and not waiting.asks_next:
        is_soon = moment.at - now < _DAY
        until = f"; until {moment.at:%H:%M:%SZ}" if is_soon else f"; until {moment.at:%Y-%m-%d}"
    phase, since = str(waiting.phase), waiting.details.held_since
    if since is not None and waiting.phase is Phase.HELD:  # to the minute, as the line is short
        phase += f" since {since:%H:%MZ}" if now - since < _DAY else f" since {since:%Y-%m-%d}"
    words = waiting.brief.within(LONGEST_LINE - len(f"{phase}: {until}"))
    return in_summary(f"{phase}{f': {words}' if words else ''}{until}")
