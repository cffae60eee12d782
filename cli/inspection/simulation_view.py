"""SimulationView: the decisions now beside those under a simulated check or policy (docs/cli-json.md)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Self

from cli.inspection.check_view import DecisionView
from cli.inspection.explanation_view import HoldView, ThresholdView
from cli.inspection.replay import ReplayedIncident
from objects.frozen import Frozen


class SimulatedCheckView(Frozen):
    """One check, with its decisions now and under the simulation."""

    check: str
    problem: str
    """Why the simulated check is invalid; "" if it is valid."""
    selected: int
    threshold: ThresholdView | None
    holds: tuple[HoldView, ...]
    now: tuple[DecisionView, ...]
    """The decisions as they are."""
    simulated: tuple[DecisionView, ...]
    """The decisions as they would be."""


class ReplayedView(Frozen):
    """One recorded incident under the simulated numbers."""

    check: str
    target: str
    failed_at: datetime
    ended_at: datetime | None
    would_be_remediated_at: datetime | None
    held_by: str
    """The first reason that would have held it; "": none."""

    @classmethod
    def of(cls, replayed: ReplayedIncident) -> Self:
        incident = replayed.incident
        return cls(
            check=incident.check,
            target=incident.target,
            failed_at=incident.failed,
            ended_at=incident.ended,
            would_be_remediated_at=replayed.remediated,
            held_by=replayed.held_by,
        )


class ReplayView(Frozen):
    """The recorded incidents of a time under the simulated numbers."""

    since: datetime
    incidents: tuple[ReplayedView, ...]

    @property
    def words(self) -> str:
        """How many incidents would have been remediated, held, or neither."""
        held = [incident for incident in self.incidents if incident.held_by]
        never = [one for one in held if one.would_be_remediated_at is None]
        remediated = [incident for incident in self.incidents if incident.would_be_remediated_at is not None]
        recovered = len(self.incidents) - len(remediated) - len(never)
        return (
            f"{len(self.incidents)} incidents since {self.since:%Y-%m-%d %H:%M:%SZ}: "
            f"{len(remediated)} would have been remediated ({len(held) - len(never)} of them later), "
            f"{len(never)} held all the time, {recovered} recovered before they were due"
        )


class SimulationView(Frozen):
    """A simulation of one file, for all checks that it concerns."""

    cluster: str
    at: datetime
    of: str
    """The simulated check, or "the policy"."""
    has_defaults: bool = True
    """True if the API server has filled in the defaults of a simulated check."""
    checks: tuple[SimulatedCheckView, ...]
    replay: ReplayView | None
    """None: Temporal could not be asked."""
    unknown_approvals: tuple[str, ...] = ()
    """Why the approvals of incidents could not be read; their steps then count as not approved."""


def changed(
    now: Sequence[DecisionView], simulated: Sequence[DecisionView]
) -> Iterable[tuple[str, DecisionView | None, DecisionView | None]]:
    """Each target with its decision now and under the simulation; None: there is no decision."""
    before, after = ({view.target: view for view in views} for views in (now, simulated))
    for target in sorted(before.keys() | after.keys()):
        yield target, before.get(target), after.get(target)
