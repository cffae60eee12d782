"""The decision about each target of a check that is unhealthy or has a request, at one moment."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from detector.inspection.inspection import Inspection
from detector.state import facts
from detector.state.check_state import CheckState
from health.model.observation import Hold, Observation, TargetState
from health.model.references import CheckReference, IncidentReference, TargetReference


class Decided(StrEnum):
    """The kinds of decisions about a target that needs one."""

    WAITS = "waits"
    """The duration of its condition is not over."""
    HELD = "held"
    MAY_ACT = "may act"
    REMEDIATING = "remediating"
    """It has a request, a mark, or is being deleted."""
    UNKNOWN = "unknown"
    """Its state cannot be judged, which holds it."""
    CLEANING_UP = "cleaning up"
    """It is no longer unhealthy, and its request is still there."""


@dataclass(frozen=True, kw_only=True)
class TargetDecision:
    """The decision about one target, with the observation behind it."""

    target: TargetReference
    observation: Observation

    @property
    def hold(self) -> Hold | None:
        """Why nothing new is done; None if nothing holds it."""
        return None if self.observation.may_be_admitted else self.observation.hold

    @property
    def decided(self) -> Decided:
        seen = self.observation
        if seen.state is TargetState.UNKNOWN:
            return Decided.UNKNOWN
        if not seen.is_unhealthy:
            return Decided.CLEANING_UP
        if seen.requests or seen.is_marked or seen.under_way:
            return Decided.REMEDIATING
        if seen.state is TargetState.WAITING:
            return Decided.WAITS
        return Decided.HELD if self.hold else Decided.MAY_ACT


def decisions(inspection: Inspection, check: CheckReference) -> Iterator[TargetDecision]:
    """The decisions about the targets of a check that need one, ordered by name."""
    for incident in incidents(inspection, check):
        yield TargetDecision(target=incident.target, observation=inspection.answers.observe(incident))


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
    return tuple(one.hold for one in found.found)
