"""SimulationView: the decisions now beside those under a simulated check or policy (docs/cli-json.md)."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Self

from pydantic import Field
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli.incidents.table import GAP
from cli.inspection.decision_view import DecisionView
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
        """How many incidents would have been remediated, held, or neither; open ones may not be due yet."""
        if not self.incidents:
            return f"no incident since {self.since:%Y-%m-%d %H:%M:%SZ}"
        held = [incident for incident in self.incidents if incident.held_by]
        never = [incident for incident in held if incident.would_be_remediated_at is None]
        remediated = [incident for incident in self.incidents if incident.would_be_remediated_at is not None]
        neither = [
            incident
            for incident in self.incidents
            if incident.would_be_remediated_at is None and not incident.held_by
        ]
        not_due = sum(incident.ended_at is None for incident in neither)
        later = len(held) - len(never)
        counts = (
            (len(remediated), f"would have been remediated{f' ({later} after a hold)' if later else ''}"),
            (len(never), "held all the time"),
            (len(neither) - not_due, "recovered before the duration was over"),
            (not_due, "not due yet"),
        )
        incidents = f"{len(self.incidents)} incident{'' if len(self.incidents) == 1 else 's'}"
        counted = ", ".join(f"{count} {words}" for count, words in counts if count)
        return f"{incidents} since {self.since:%Y-%m-%d %H:%M:%SZ}: {counted}"


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
    unknown_orders: tuple[str, ...] = ()
    """Why the orders to incidents could not be read; their steps then count as not approved."""
    temporal_problem: str = Field(default="", exclude=True)
    """Why no incident was replayed; "": Temporal could be asked."""
    warning: str = ""
    """The simulated policy names no field, so the defaults are simulated."""
    unknown_policy: str = ""
    """Why the policy that the detector uses is unknown; "": it is known."""


def changed(
    now: Sequence[DecisionView], simulated: Sequence[DecisionView]
) -> Iterable[tuple[str, DecisionView | None, DecisionView | None]]:
    """Each target with its decision now and under the simulation; None: there is no decision."""
    before, after = ({view.target: view for view in views} for views in (now, simulated))
    for target in sorted(before.keys() | after.keys()):
        yield target, before.get(target), after.get(target)


MOST_HELD = 20
"""The replayed incidents that are named; the JSON has all."""
NOTHING = "nothing"
LEFT_OUT = "The replay leaves out limits by label, back-off, required approvals, and the orders of people."


def simulation_page(view: SimulationView) -> RenderableType:
    """The checks one after the other, then the recorded incidents."""
    parts: list[RenderableType] = []
    for check in view.checks:
        parts += [*map(Text, _headlines(check)), _table(check), Text()]
    if view.replay is not None:
        parts += [Text(view.replay.words), *map(Text, _held(view.replay))]
        if view.replay.incidents:
            parts.append(Text(LEFT_OUT))
    return Group(*parts)


def _headlines(check: SimulatedCheckView) -> Iterator[str]:
    if check.problem:
        yield f"{check.check}: invalid: {check.problem}"
        return
    numbers = check.threshold.words if check.threshold else "its threshold is unknown"
    yield f"{check.check}: {check.selected} selected, {numbers}"
    for hold in check.holds:
        yield f"  holds all: {hold}"


def _table(check: SimulatedCheckView) -> RenderableType:
    rows = list(changed(check.now, check.simulated))
    if not rows:
        return Text("" if check.problem else "  no target is unhealthy")
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name in ("TARGET", "NOW", "SIMULATED", "WHY"):
        table.add_column(name, overflow="fold")
    for target, now, simulated in rows:
        style = "bold" if _words(now) != _words(simulated) else ""
        decision, decided = simulated or now, Text(_words(simulated), style=style)
        why = Text(decision.message if decision else "")
        table.add_row(target.rpartition("/")[2], _words(now), decided, why)
    return table


def _words(decision: DecisionView | None) -> str:
    return NOTHING if decision is None else decision.title


def _held(replay: ReplayView) -> Iterator[str]:
    held = [incident for incident in replay.incidents if incident.held_by]
    for incident in held[:MOST_HELD]:
        began = incident.would_be_remediated_at
        until = ", until it ended" if incident.ended_at else ", until now, and it is open"
        then = f", then remediated at {began:%H:%M:%SZ}" if began else until
        yield f"  {incident.failed_at:%Y-%m-%d %H:%M:%SZ} {incident.target}: {incident.held_by}{then}"
    if len(held) > MOST_HELD:
        yield f"  and {len(held) - MOST_HELD} more, see -o json"
