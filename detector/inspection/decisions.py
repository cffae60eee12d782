"""TargetDecision: the decision about one target at one moment, for people; and the decisions of a check.

The runbook decides (`health.runbook.outlook`). A decision is unknown if an incident did not answer, or the
policy is invalid.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from detector.inspection.inspection import Inspection
from detector.inspection.memories import IncidentMemories
from detector.state import facts
from detector.state.check_state import CheckState
from health.model.moves import Phase
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderRecord
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.runbook.outlook import Outlook, outlook


class Decided(StrEnum):
    """The kinds of decisions about a target that needs one."""

    WAITS = "waits"
    """The duration of its condition is not over."""
    HELD = "held"
    HELD_BY_PERSON = "held by a person"
    LEFT_ALONE = "left alone"
    """A person aborted its remediation, and nothing is left to clean up."""
    MAY_ACT = "may act"
    REMEDIATING = "remediating"
    """It has a request, a mark, or is being deleted."""
    EXHAUSTED = "exhausted"
    """Every step was tried."""
    UNKNOWN = "unknown"
    """Its state cannot be judged, which holds it; or whether a person or the policy holds it is unknown."""
    CLEANING_UP = "cleaning up"
    """It is no longer unhealthy, or a person aborted it, and its request is still there."""


_DECIDED: Mapping[Phase, Decided] = MappingProxyType(
    {
        Phase.WAITING: Decided.WAITS,
        Phase.HELD: Decided.HELD,
        Phase.ACTING: Decided.MAY_ACT,
        Phase.REMEDIATING: Decided.REMEDIATING,
        Phase.EXHAUSTED: Decided.EXHAUSTED,
        Phase.HEALTHY_DELAY: Decided.CLEANING_UP,
        Phase.CLEANING_UP: Decided.CLEANING_UP,
        Phase.LEFT_ALONE: Decided.LEFT_ALONE,
        Phase.ENDED: Decided.CLEANING_UP,
    }
)


@dataclass(frozen=True, kw_only=True)
class TargetDecision:
    """The decision about one target at one moment."""

    target: TargetReference
    observation: Observation
    outlook: Outlook
    unknown: str = ""
    """Why the orders to its incident are unknown; "": they are known."""
    is_policy_unknown: bool = False

    @property
    def order(self) -> OrderRecord | None:
        """The order of a person that decides now, or blocks the next step; None: none does."""
        memory = self.outlook.memory
        return self.outlook.order or memory.left_alone or memory.held

    @property
    def hold(self) -> Hold | None:
        """Why nothing new is done, unless a person ordered that; None if nothing holds it."""
        if self.outlook.order is not None or self.outlook.phase is Phase.ACTING:
            return None
        hold = self.outlook.hold or (None if self.observation.may_be_admitted else self.observation.hold)
        return None if self.is_policy_unknown and is_by_the_policy(hold) else hold

    @property
    def decided(self) -> Decided:
        """May act only if it is known that no person and no rule of the policy holds it."""
        decided, outlook = self._by_the_runbook, self.outlook
        is_held_by_policy = outlook.hold is not None and self.hold is None and decided is Decided.HELD
        if decided is Decided.MAY_ACT or is_held_by_policy:
            return Decided.UNKNOWN if self.unknown or self.is_policy_unknown else decided
        return decided

    @property
    def _by_the_runbook(self) -> Decided:
        if self.outlook.order is not None:
            is_held = self.outlook.phase is Phase.HELD
            return Decided.HELD_BY_PERSON if is_held else _DECIDED[self.outlook.phase]
        if self.observation.state is TargetState.UNKNOWN:
            return Decided.UNKNOWN
        if self.outlook.is_recorded_only:
            return Decided.REMEDIATING if self.observation.requests else Decided.MAY_ACT
        return _DECIDED[self.outlook.phase]


def is_by_the_policy(hold: Hold | None) -> bool:
    """True for a hold whose length the policy limits."""
    return hold is not None and hold.reason is HoldReason.BACK_OFF


def decisions(
    inspection: Inspection, check: CheckReference, memories: IncidentMemories
) -> Iterator[TargetDecision]:
    """The decisions about the targets of a check that need one, ordered by name."""
    for incident in incidents(inspection, check):
        yield decision(inspection, incident, memories)


def decision(
    inspection: Inspection, incident: IncidentReference, memories: IncidentMemories
) -> TargetDecision:
    """The decision about the target of an incident, whether the incident is open or not."""
    observation, now = inspection.answers.observe(incident), inspection.state.now()
    return TargetDecision(
        target=incident.target,
        observation=observation,
        outlook=outlook(observation, memories.of(incident), now),
        unknown=memories.why_unknown(incident),
        is_policy_unknown=bool(inspection.unknown_policy),
    )


def incidents(inspection: Inspection, check: CheckReference) -> Iterator[IncidentReference]:
    """The incidents of a check that are, or should be, open, ordered by the name of the target."""
    state = inspection.cluster_state
    names = _unhealthy(state.checks.get(check)) | state.requests.targets_of(check)
    for name in sorted(names):
        target = state.targets.get(check, name)
        if target is not None:
            yield inspection.incident(check, target)


def _unhealthy(check_state: CheckState | None) -> set[str]:
    return set() if check_state is None else check_state.unhealthy


def holds_of_check(inspection: Inspection, check: CheckReference) -> tuple[Hold, ...]:
    """The holds of a check as a whole, in the order of precedence."""
    of_checks = inspection.watched.context.of_checks
    state, storms = inspection.cluster_state, inspection.answers.storms
    found = facts.check_holds(
        state,
        check,
        inspection.state.now(),
        unseen=of_checks.unseen(check),
        allowance=state.allowance(check),
        storm=storms.hold(check),
    )
    return tuple(check_hold.hold for check_hold in found.found)
