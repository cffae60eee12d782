"""IncidentSummary: one incident as a command sees it: what Temporal lists of it, and what it says itself."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cli.ages import short
from health.model.evidence import EvidenceRecord
from health.model.moves import NextTransition, Outcome, Phase
from health.model.observation import HoldReason
from health.model.references import IncidentReference
from health.model.shadow_record import ShadowRecord
from health.runbook.remediating import becomes_overdue_at
from workflows.messages import State


@dataclass(frozen=True)
class IncidentSummary:
    """One run of an incident's workflow."""

    incident: IncidentReference
    run_id: str
    status: str
    """As Temporal says it: "Running", "Completed", "Terminated", …"""
    started: datetime
    closed: datetime | None = None
    state: State | None = None
    """None while it was not asked, when nobody answers, and after the end."""
    outcome: Outcome | None = None
    """How it ended; None while it is open, and where it was terminated."""
    reason: str = ""
    """Why it ended so, in words; "" as above."""
    result_shadow: ShadowRecord | None = None
    """What it told at its end of its time in shadow; None where it never was, and as above."""
    result_evidence: EvidenceRecord | None = None
    """What it told at its end of its evidence; None where none was wanted, and as above."""
    problem: str = ""
    """Why nothing is known of the phase or the outcome."""
    unreadable: str = ""
    """Why what Temporal keeps of it cannot be read; "": it can."""
    has_task_failures: bool = False
    """Whether Temporal reports that its workflow task fails again and again."""

    @property
    def is_open(self) -> bool:
        """Whether it still runs."""
        return self.closed is None

    @property
    def phase(self) -> Phase | str | None:
        """The phase, as text where only its worker knows it; None: unknown."""
        if not self.is_open:
            return Phase.ENDED
        return self.state.phase if self.state else None

    @property
    def is_held(self) -> bool:
        """Whether a person holds it."""
        return self.state is not None and self.state.memory.held is not None

    @property
    def shadow(self) -> ShadowRecord | None:
        """What it would have done while it was in shadow; None: it never was, or nobody knows."""
        memory = self.state.memory if self.state else None
        if memory is None:
            return self.result_shadow
        return memory.shadow if memory.has_been_in_shadow else None

    @property
    def evidence(self) -> EvidenceRecord | None:
        """What became of its evidence; None: none was wanted yet, or nobody knows."""
        return self.state.memory.evidence if self.state else self.result_evidence

    @property
    def stopped(self) -> str:
        """The global stop, in words, where that holds it; "" where it does not, or nobody knows."""
        hold = self.state.observation.hold if self.state and self.state.observation else None
        return hold.message if hold is not None and hold.reason is HoldReason.STOPPED else ""

    @property
    def details(self) -> str:
        """The reason in words, without the name of the target, which stands beside it."""
        if self._end or self.state is None:
            return self._end or self.reason
        return self.state.why.beside_subject.lasting

    @property
    def brief(self) -> str:
        """The same with what tells it from others first."""
        if self._end or self.state is None:
            return self.details
        return self.state.why.brief

    @property
    def words(self) -> str:
        """The reason as the incident says it, or said at its end; "" where it says nothing."""
        return self.state.why.lasting if self.state else self.reason

    def lasted(self, now: datetime) -> timedelta:
        """How long it lasted, or has lasted so far."""
        return (self.closed or now) - self.started

    @property
    def next_transition(self) -> NextTransition | None:
        """When it goes on by itself, and with what; None: unknown, or the detector is being asked."""
        return self.state.next_transition if self.state else None

    def goes_on_in(self, now: datetime) -> timedelta | None:
        """How long until then; None: unknown, or not before something changes, or an order comes."""
        at = self.next_transition.at if self.next_transition else None
        return None if at is None else max(timedelta(), at - now)

    @property
    def overdue_at(self) -> datetime | None:
        """When its Lease is given back; None: it holds none, or nobody knows."""
        state = self.state
        if state is None or state.observation is None or not state.memory.lease.may_be_held:
            return None
        seen = state.observation.model_copy(update={"requests": state.requests})
        return becomes_overdue_at(seen, state.memory)

    @property
    def _end(self) -> str:
        """Words of what says nothing of itself: why, or how it ended."""
        if self.problem:
            return f"unknown: {self.problem}"
        if self.closed is not None:
            ended = f"{self.outcome or self.status} after {short(self.closed - self.started)}"
            return f"{ended}: {self.reason}" if self.reason else ended
        return ""
