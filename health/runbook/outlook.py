"""Outlook: the decision of the runbook about a target as people read it now, without carrying it out. Pure.

The detector's answer and the incident's memory go through the functions of the leading detector and of the
workflow, so an order of a person holds here as it holds there. A maintenance task that is due is left out: it
changes no decision.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from health.gate.admission import answered
from health.model.admission import Admission
from health.model.approval import Progress
from health.model.moves import NextTransition, Phase
from health.model.observation import Hold, Observation
from health.model.order import OrderRecord
from health.runbook.decide import unmaintained
from health.runbook.decision import Decision, Reason
from health.runbook.incident import Incident
from health.runbook.learn import learned
from health.runbook.state import Memory
from health.runbook.words import as_move


@dataclass(frozen=True)
class Outlook:
    """The row of the runbook that decides about an incident, with its values."""

    incident: Incident
    decision: Decision

    @property
    def phase(self) -> Phase:
        return self.decision.phase

    @property
    def memory(self) -> Memory:
        """The memory once the incident has learned the observation."""
        return self.incident.memory

    @property
    def order(self) -> OrderRecord | None:
        """The order of a person that decides; None: something else does."""
        match self.decision.reason:
            case Reason.LEFT_ALONE:
                return self.memory.left_alone
            case Reason.HELD_BY_PERSON:
                return self.memory.held
        return None

    @property
    def hold(self) -> Hold | None:
        """The hold that decides; None: nothing holds it, or `order` does, or it waits as `words` say."""
        match self.decision.reason:
            case Reason.HELD_BY_DETECTOR | Reason.APPROVAL_MISSING | Reason.STEP_REJECTED:
                return self.incident.observation.hold
            case Reason.ACTS_FAIL:
                return self.memory.failing.hold if self.memory.failing else None
        return None

    @property
    def words(self) -> str:
        """The difference from other incidents, in the words of the workflow; "": there is none."""
        return as_move(self.decision, self.incident).details.differing

    @property
    def next_transition(self) -> NextTransition:
        """The end of the wait that follows the act, if one is due."""
        return as_move(replace(self.decision, act=None), self.incident).next_transition

    @property
    def is_recorded_only(self) -> bool:
        """True in shadow if a step would be taken, or counts as taken."""
        return self.memory.is_shadow and self.phase in (Phase.ACTING, Phase.REMEDIATING, Phase.EXHAUSTED)


def as_reported(progress: Progress) -> Memory:
    """The memory of an incident as far as its latest question tells it."""
    return Memory(
        spent=progress.spent,
        skipped=progress.skipped,
        approval=progress.approval,
        standing=progress.standing,
        skips_back_off=progress.skips_back_off,
        holds=progress.holds,
    )


def outlook(observation: Observation, memory: Memory, now: datetime) -> Outlook:
    """The outlook of an incident with this memory, if it asked now and the detector saw `observation`."""
    memory = memory.at(now)
    answer = memory.complete(answered(observation, memory.intent(now), Admission))
    incident = Incident.of(answer, learned(memory, answer, now), now)
    return Outlook(incident, unmaintained(incident))
