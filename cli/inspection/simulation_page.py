"""Renders a simulation for people: one line for each target whose treatment is, or would be, a decision."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli.incidents.table import GAP
from cli.inspection.check_view import DecisionView
from cli.inspection.simulation_view import ReplayView, SimulatedCheckView, SimulationView, changed

MOST_HELD = 20
"""The replayed incidents that are named; the JSON has all."""
NOTHING = "nothing"


def simulation_page(view: SimulationView) -> RenderableType:
    """The checks one after the other, then the recorded incidents."""
    parts: list[RenderableType] = []
    for check in view.checks:
        parts += [*map(Text, _headlines(check)), _table(check), Text()]
    if view.replay is not None:
        parts += [Text(view.replay.words), *map(Text, _held(view.replay))]
    return Group(*parts)


def _headlines(check: SimulatedCheckView) -> Iterator[str]:
    numbers = check.threshold.words if check.threshold else "its threshold is unknown"
    yield f"{check.check}: {check.selected} selected, {numbers}"
    if check.problem:
        yield f"  invalid: {check.problem}"
    for hold in check.holds:
        yield f"  holds all: {hold}"


def _table(check: SimulatedCheckView) -> RenderableType:
    rows = list(changed(check.now, check.simulated))
    if not rows:
        return Text("  no target is unhealthy")
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
    if decision is None:
        return NOTHING
    return f"{decision.decided} by {decision.reason}" if decision.reason else decision.decided


def _held(replay: ReplayView) -> Iterator[str]:
    held = [incident for incident in replay.incidents if incident.held_by]
    for one in held[:MOST_HELD]:
        began = one.would_be_remediated_at
        until = ", until it ended" if one.ended_at else ", and still is"
        then = f", then remediated at {began:%H:%M:%SZ}" if began else until
        yield f"  {one.failed_at:%Y-%m-%d %H:%M:%SZ} {one.target}: {one.held_by}{then}"
    if len(held) > MOST_HELD:
        yield f"  and {len(held) - MOST_HELD} more, see -o json"
