"""IncidentSummary: one incident as Temporal lists it, and as the workflow itself answers."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cli.shared.ages import short
from health.model.evidence import EvidenceRecord
from health.model.incident_result import IncidentResult
from health.model.moves import NextTransition, Outcome, Phase
from health.model.observation import HoldReason
from health.model.order import OrderRecord
from health.model.references import IncidentReference
from health.model.shadow_record import ShadowRecord
from health.model.timeline import Timeline
from health.runbook.incident import becomes_overdue_at
from health.runbook.orders import claim_of
from workflows.messages import State


@dataclass(frozen=True, kw_only=True)
class IncidentSummary:
    """One run of an incident's workflow, open or closed."""

    incident: IncidentReference
    run_id: str
    status: str
    """Temporal's status: "Running", "Completed", "Terminated", …"""
    started: datetime
    closed: datetime | None = None
    state: State | None = None
    """None before it is queried, if no worker answers, and after the end."""
    result: IncidentResult | None = None
    """The result of its workflow; None while it is open, and if it was terminated."""
    problem: str = ""
    """Why phase or outcome is unknown."""
    unreadable: str = ""
    """Why its data in Temporal cannot be read; "" if it can."""
    has_task_failures: bool = False
    """Whether Temporal reports that its workflow task keeps failing."""

    @property
    def is_open(self) -> bool:
        return self.closed is None

    @property
    def phase(self) -> Phase | str | None:
        """The phase, as plain text if this version does not know it; None if unknown."""
        if not self.is_open:
            return Phase.ENDED
        return self.state.phase if self.state else None

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it is open, and if it was terminated."""
        return self.result.outcome if self.result else None

    @property
    def reason(self) -> str:
        """The reason of the outcome, in words; "" where `outcome` is None."""
        return self.result.reason if self.result else ""

    @property
    def timeline(self) -> Timeline:
        """Its events in order; empty if its state is unknown."""
        if self.result is not None:
            return self.result.timeline
        return self.state.memory.timeline if self.state else Timeline()

    @property
    def is_held(self) -> bool:
        """True while an order `hold` of a person stands."""
        return self.state is not None and self.state.memory.held is not None

    @property
    def claim(self) -> OrderRecord | None:
        """The claim of a person; None if there is none, or if that is unknown."""
        return claim_of(self.state.memory) if self.state else None

    @property
    def shadow(self) -> ShadowRecord | None:
        """The steps it would have taken while in shadow; None if it never was, or if that is unknown."""
        memory = self.state.memory if self.state else None
        if memory is None:
            return self.result.shadow if self.result else None
        return memory.shadow if memory.has_been_in_shadow else None

    @property
    def evidence(self) -> EvidenceRecord | None:
        """The state of its evidence; None if none was wanted yet, or if that is unknown."""
        source = self.state.memory if self.state else self.result
        return source.evidence if source else None

    @property
    def repetition(self) -> str:
        """How often in a row its first step alone was taken, in words; "": seldom, or unknown."""
        if self.state is not None:
            return self.state.memory.repetition
        remediation = self.result.remediation if self.result else None
        return remediation.repetition if remediation else ""

    @property
    def orders(self) -> tuple[OrderRecord, ...]:
        """The latest orders that it got; empty if they are unknown."""
        source = self.state.memory if self.state else self.result
        return source.orders if source else ()

    @property
    def stopped(self) -> str:
        """The message of the global stop, if that holds it; "" if not, or if that is unknown."""
        hold = self.state.observation.hold if self.state and self.state.observation else None
        return hold.message if hold is not None and hold.reason is HoldReason.STOPPED else ""

    @property
    def details(self) -> str:
        """The reason in words, without the name of the target, which another column shows."""
        if self._end or self.state is None:
            return self._end or self.reason
        return self.state.why.beside_subject.lasting

    @property
    def brief(self) -> str:
        """The reason, shortened so that its distinguishing part comes first."""
        if self._end or self.state is None:
            return self.details
        return self.state.why.brief

    @property
    def words(self) -> str:
        """The full reason in the workflow's words; "" if it gives none."""
        return self.state.why.lasting if self.state else self.reason

    def lasted(self, now: datetime) -> timedelta:
        return (self.closed or now) - self.started

    @property
    def next_transition(self) -> NextTransition | None:
        """The next transition by time; None if unknown, or while the detector is being asked."""
        return self.state.next_transition if self.state else None

    def goes_on_in(self, now: datetime) -> timedelta | None:
        """Time until the next transition; None if unknown, or if it waits for a change or an order."""
        at = self.next_transition.at if self.next_transition else None
        return None if at is None else max(timedelta(), at - now)

    @property
    def overdue_at(self) -> datetime | None:
        """When its Lease is released; None if it holds none, or if that is unknown."""
        state = self.state
        if state is None or state.observation is None or not state.memory.lease.may_be_held:
            return None
        observation = state.observation.model_copy(update={"requests": state.requests})
        return becomes_overdue_at(observation, state.memory)

    @property
    def _end(self) -> str:
        """Why its state is unknown, or how it ended; "" for an open incident that answers."""
        if self.problem:
            return f"unknown: {self.problem}"
        if self.closed is not None:
            ended = f"{self.outcome or self.status} after {short(self.closed - self.started)}"
            return f"{ended}: {self.reason}" if self.reason else ended
        return ""
