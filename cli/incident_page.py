"""IncidentPage: all that is known of one incident, for people."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.table import Table
from rich.text import Text

from cli.ages import short
from cli.console import phase_text
from cli.incident_sight import IncidentSight
from cli.links import kubectl_lines
from cli.story import Episode
from health.observation import Observation
from workflows.messages import State

SHOWN = 12
"""Episodes that are shown, the last ones."""

Line = tuple[str, str | Text]


@dataclass(frozen=True)
class Page:
    """One incident and its story at `now`."""

    sight: IncidentSight
    story: tuple[Episode, ...]
    ui_link: str
    now: datetime


def incident_page(page: Page) -> Table:
    """The page, a label and a value a line."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _lines(page):
        table.add_row(label, value if isinstance(value, Text) else Text(value))
    return table


def _lines(page: Page) -> Iterator[Line]:
    sight, now = page.sight, page.now
    incident, state = sight.incident, sight.state
    yield "Target", f"{incident.target} (uid {incident.target.uid})"
    yield "Check", str(incident.check)
    yield "Cluster", incident.cluster
    yield "Phase", phase_text(sight.phase, is_held=state is not None and state.memory.held)
    yield "Details", sight.details
    yield "Started", _ago(sight.started, now)
    if sight.closed is not None:
        yield "Ended", _ago(sight.closed, now)
    if state is not None:
        yield from _timers(state, now)
        yield "Goes on", _goes_on(sight, now)
        yield from _requests(state)
        yield "Detector", _answer(state.observation, now)
    yield from _story(page)
    yield "Workflow", incident.workflow_id
    if page.ui_link:
        yield "Temporal UI", page.ui_link
    yield from zip(("Kubernetes", "", "", "", ""), kubectl_lines(sight), strict=False)


def _timers(state: State, now: datetime) -> Iterator[Line]:
    memory = state.memory
    if memory.held:
        yield "Hold", _order(memory.held_reason, memory.held_until, now)
    if memory.left_alone:
        yield "Left alone", _order(memory.left_alone_reason, memory.left_alone_until, now)
    if memory.renew_at is not None and memory.renew_at > now:
        yield "Lease", f"renewed {_in(memory.renew_at, now)}"


def _goes_on(sight: IncidentSight, now: datetime) -> str:
    if sight.goes_on_at is None:
        return "when something changes, or by an order"
    return f"{'asks again ' if sight.asks_again else ''}{_in(sight.goes_on_at, now)}"


def _requests(state: State) -> Iterator[Line]:
    for request in state.requests:
        yield "Request", f"{request} ({request.reference.api_version})"
    if not state.requests:
        yield "Request", "none"


def _answer(seen: Observation | None, now: datetime) -> str:
    if seen is None:
        return "is being asked, and has not answered yet"
    when = f", {_ago(seen.answered_at, now)}" if seen.answered_at else ""
    verdict = f"held: {seen.hold}" if seen.hold else "admitted" if seen.is_admitted else "no hold"
    return f"{seen.state}: {seen.reason}; {verdict}{when}"


def _story(page: Page) -> Iterator[Line]:
    if len(page.story) > SHOWN:
        yield "History", f"({len(page.story) - SHOWN} earlier)"
    for number, episode in enumerate(page.story[-SHOWN:]):
        label = "" if number or len(page.story) > SHOWN else "History"
        words = episode.words.removeprefix(f"{page.sight.incident.target}: ")
        times = f" (x{episode.times})" if episode.times > 1 else ""
        moment = f"{episode.when:%Y-%m-%d %H:%M:%SZ}"
        yield label, f"{moment}  {episode.what}{times}{': ' if words else ''}{words}"


def _order(reason: str, until: datetime | None, now: datetime) -> str:
    return f"{reason}; until resume" if until is None else f"{reason}; ends {_in(until, now)}"


def _ago(when: datetime, now: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%SZ} ({short(now - when)} ago)"


def _in(when: datetime, now: datetime) -> str:
    return f"in {short(max(timedelta(), when - now))} ({when:%Y-%m-%d %H:%M:%SZ})"
