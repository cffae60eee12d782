"""CallSummaries: the question or effect of each activity of an incident, for the Temporal UI. Pure.

The UI shows the name of the activity before it: `observe • is it still unhealthy?`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from health.model.details import Details
from health.model.moves import AnnotationPatch, Phase
from health.model.references import Action, Step, TargetReference
from objects.brief import Brief
from workflows.contracts import CleanUpInput, EvidenceInput, ObserveInput, RenewInput

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


def renewal(request: RenewInput) -> Brief:
    return Brief(f"renew the Lease{' and the control-plane lock' if request.is_of_control_plane else ''}")


def clean_up(request: CleanUpInput) -> Brief:
    if not request.requests:
        return Brief("release the Lease")
    others = len(request.requests) - 1
    return Brief("delete", str(request.requests[0]), f"and {others} more" if others else "")
