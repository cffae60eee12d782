"""IncidentStatus: the state of an incident in the Temporal UI, in the query `state`, and in its result. Pure.

It is updated for each move, before the move is carried out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from health.model.details import NO_WORDS, Details, named_reason
from health.model.incident_result import IncidentResult, ended
from health.model.moves import BY_A_CHANGE, End, Move, NextTransition, Outcome, Phase, Wait
from health.model.observation import Observation
from health.model.order import OrderRecord
from health.model.request_snapshot import RequestSnapshot
from health.runbook.state import Memory
from objects.markdown import escaped, listed
from objects.timestamps import stamp
from workflows.messages import State


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
        self, observation: Observation | None, requests: Iterable[RequestSnapshot], memory: Memory
    ) -> State:
        """The answer to the query; the next transition is unknown while the detector is being asked."""
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
        )

    def __str__(self) -> str:
        """The current details of the Temporal UI, in Markdown: what, why not yet, and what is next."""
        reason = named_reason(self.why.subject, self.why.reason)
        lines = (*self.why.more_lines, ("Evidence", self.evidence or ""), self._next)
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
