"""The state of an incident in the Temporal UI, in the query `state`, and in its result. Pure.

An `IncidentStatus` is updated for each move, before the move is carried out. The Temporal UI shows the name
of an activity before its summary, a question or an effect: `observe • is it still unhealthy?`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Self

from health.model.details import NO_WORDS, Details, named_reason
from health.model.incident_result import IncidentResult, ended
from health.model.moves import BY_A_CHANGE, AnnotationPatch, End, Move, NextTransition, Outcome, Phase, Wait
from health.model.observation import Observation, TargetState
from health.model.order import OrderRecord
from health.model.references import Action, Step, TargetReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.state import Memory
from objects.short_text import LONGEST_LINE, Brief, escaped, listed
from objects.timestamps import stamp
from workflows.contracts import CleanUpInput, EvidenceInput, ObserveInput
from workflows.kit import in_summary
from workflows.messages import State

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


@dataclass(frozen=True, kw_only=True)
class IncidentStatus:
    """The state of an incident; the default is that of a new one."""

    phase: Phase = Phase.WAITING
    why: Details = NO_WORDS
    details: str = "starting"
    """`why` in one sentence."""
    outcome: Outcome | None = None
    next_transition: NextTransition = BY_A_CHANGE
    wakes_at: datetime | None = None
    held: OrderRecord | None = None
    """The hold of a person that the details contain."""
    evidence: str | None = None
    """The place of the evidence; a failure to save it is in the details."""

    @classmethod
    def of(cls, move: Move, memory: Memory) -> Self:
        """The status while this move is carried out."""
        evidence = memory.evidence
        unsaved = (evidence,) if evidence is not None and not evidence.is_saved else ()
        why = move.details.with_notes((*memory.notes, *unsaved))
        return cls(
            phase=move.phase,
            why=why,
            details=str(why),
            outcome=move.outcome if isinstance(move, End) else None,
            next_transition=move.next_transition,
            held=memory.held,
            evidence=evidence.words if evidence is not None and evidence.is_saved else None,
        )

    def resting(self, wait: Wait, now: datetime) -> Self:
        timeout = wait.requeue_after(now)
        wakes_at = None if timeout is None else now + timeout
        return replace(self, next_transition=wait.next_transition, wakes_at=wakes_at)

    def awake(self) -> Self:
        """The same once the wait is over."""
        return replace(self, wakes_at=None)

    def is_true_of(self, memory: Memory) -> bool:
        """True if the details contain the orders that stand."""
        says_left_alone = self.phase is Phase.LEFT_ALONE
        return says_left_alone is (memory.left_alone is not None) and self.held == memory.held

    def state(
        self,
        observation: Observation | None,
        last_known: Observation | None,
        requests: Iterable[RequestSnapshot],
        memory: Memory,
    ) -> State:
        """The answer to the query; the next transition is unknown while the detector is being asked."""
        is_known = observation is not None and observation.state is not TargetState.UNKNOWN
        return State(
            phase=self.phase,
            details=self.details,
            why=self.why,
            outcome=self.outcome,
            requests=tuple(requests),
            observation=observation,
            memory=memory,
            wakes_at=self.wakes_at,
            next_transition=self.next_transition if observation else None,
            last_known=None if is_known else last_known,
        )

    def __str__(self) -> str:
        """The current details of the Temporal UI, in Markdown: what, why not yet, and what is next."""
        reason = named_reason(self.why.subject, self.why.reason)
        lines = (*self.why.more_lines, ("Evidence", self.evidence), self._next)
        return f"**{self.phase}**: {escaped(reason)}\n\n{listed(*lines)}"

    @property
    def _next(self) -> tuple[str, str]:
        if self.outcome is not None:
            return "Outcome", self.outcome
        transition = self.next_transition
        at = f"at {stamp(transition.at)}: " if transition.at else ""
        return "Next", f"{at}{transition.what}"


def result_of(end: End, memory: Memory, started: datetime, now: datetime) -> IncidentResult:
    # A deleted Machine is replaced at the end of its incident.
    has_recovered = end.outcome in (Outcome.RECOVERED, Outcome.REMEDIATED)
    return IncidentResult(
        outcome=end.outcome,
        reason=str(end.details),
        started=started,
        ended=now,
        failed=memory.delays.fact.since if memory.delays.fact else None,
        recovered=memory.recovery.healthy_since or now if has_recovered else None,
        attempts=memory.attempt,
        deleted=memory.disruption.deleted_at,
        remediation=memory.earlier,
        requests=ended(memory.records, now),
        ordered=memory.order,
        orders=memory.orders,
        shadow=memory.shadow if memory.has_been_in_shadow else None,
        evidence=memory.evidence,
        timeline=memory.timeline,
    )


def question_summary(question: ObserveInput, phase: Phase, why: Details) -> Brief:
    """The question in the phase before it, with the orders that it reports or the reason of a hold."""
    orders = ", ".join(order.order for order in question.orders)
    return Brief(f"{_QUESTIONS[phase]} {f'reports {orders}' if orders else why.differing}")


def step_summary(taken: Step, target: TargetReference) -> Brief:
    if taken.action is not Action.REQUEST:
        return Brief(taken.action.lower(), str(target))
    template = taken.template
    name = "/".join(part for part in (template.namespace, template.name) if part)
    return Brief(f"create {template.request_kind} from", name)


def evidence_summary(request: EvidenceInput) -> Brief:
    due = step_summary(request.step, request.incident.target)
    return Brief(f"before: {due.before}", due.name)


def annotation_summary(patches: tuple[AnnotationPatch, ...]) -> Brief:
    first, others = patches[0], len(patches) - 1
    names = ", ".join(name.rpartition("/")[2] for name in first.names)
    return Brief(f"write {names} on", str(first.request), f"and {others} more" if others else "")


def clean_up_summary(request: CleanUpInput) -> Brief:
    if not request.requests:
        return Brief("release the Lease")
    others = len(request.requests) - 1
    return Brief("delete", str(request.requests[0]), f"and {others} more" if others else "")


def wait_summary(waiting: Wait, now: datetime) -> str:
    """The summary of a timer: the phase, since when it is held, why, and until when; long names are cut.

    It has what differs from other waits. The reasons in full are in the answers of the detector, and the
    current details have them all. A change of the cluster or an order moves on a wait without a time, and
    another question to the detector is no end that people wait for.
    """
    moment, until = waiting.next_deadline, ""
    if moment is not None and not waiting.asks_next:
        is_soon = moment.at - now < _DAY
        until = f"; until {moment.at:%H:%M:%SZ}" if is_soon else f"; until {moment.at:%Y-%m-%d}"
    phase, since = str(waiting.phase), waiting.details.held_since
    if since is not None and waiting.phase is Phase.HELD:  # to the minute, as the line is short
        phase += f" since {since:%H:%MZ}" if now - since < _DAY else f" since {since:%Y-%m-%d}"
    words = waiting.brief.within(LONGEST_LINE - len(f"{phase}: {until}"))
    return in_summary(f"{phase}{f': {words}' if words else ''}{until}")
