"""The table and the JSON of past incidents, made of values."""

from dataclasses import replace
from datetime import timedelta

import pytest
from rich.console import Console

from cli.incidents.document import IncidentDocument
from cli.incidents.history import Kept, past_row, sums
from cli.incidents.table import fitted_table
from cli.incidents.visibility import IncidentSummary
from health.model.incident_result import RequestRecord, Timeline, TimelineEntry
from health.model.moves import Outcome, Phase
from health.model.order import OrderRecord
from health.runbook.state import Memory
from tests.cli.incidents.summaries import UNHEALTHY, document, ended, state, summary
from tests.support.values.builders import INCIDENT, MINUTE, NOW

BEGAN = NOW - 120 * MINUTE
ENTRIES = {"Waiting": 0, "Held": 5, "Acting": 65, "Remediating": 66, "CleaningUp": 119}


def told(*phases: str) -> Timeline:
    made = Timeline()
    for phase in phases:
        entry = TimelineEntry(at=BEGAN + ENTRIES[phase] * MINUTE, phase=Phase(phase), what="so")
        made = made.noting(entry, BEGAN)
    return made


STORY = told(*ENTRIES)
REQUEST = RequestRecord(request="Reboot/ns/node-1", uid="u", template="t", started=BEGAN + 66 * MINUTE)
ORDER = OrderRecord(order="hold", reason="disk swap", identity="ada@desk", given=NOW)
REMEDIATED = ended(Outcome.REMEDIATED, requests=(REQUEST,), orders=(ORDER,), attempts=1, timeline=STORY)


def past(of: IncidentSummary = REMEDIATED) -> IncidentDocument:
    return document(of)


def printed(*incidents: IncidentDocument, width: int = 80) -> list[str]:
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(fitted_table([past_row(one) for one in incidents], width))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_row_has_the_outcome_and_the_time_of_each_part() -> None:
    header, row = printed(past())
    assert header.split() == ["STARTED", "CHECK", "ENDED", "AS", "TOOK", "WAITED", "HELD", "STEPS", "ORDERS"]
    assert row == "2026-03-01 10:00Z  workers  Remediated  2h    5m      1h    1 in 54m  1"


def test_incident_without_a_step_has_no_steps_and_one_without_a_history_has_no_times() -> None:
    waited = past(ended(timeline=told("Waiting")))
    assert printed(waited)[1].split()[-3:] == ["-", "-", "-"]
    silent = past(ended(requests=(REQUEST,), orders=(ORDER,)))
    assert printed(silent)[1].split()[-6:] == ["?", "?", "1", "in", "?", "1"]


def test_table_of_long_names_fits_eighty_columns_and_cuts_only_the_check() -> None:
    check = INCIDENT.check.model_copy(update={"name": "workers-of-the-second-zone-with-gpu"})
    named = replace(REMEDIATED, incident=INCIDENT.model_copy(update={"check": check}))
    lines = printed(past(named), past())
    assert max(map(len, lines)) <= 80
    assert "workers-of…" in lines[1]
    assert "Remediated" in lines[1]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (REMEDIATED, "Remediated"),
        (summary(state(Phase.HELD, UNHEALTHY)), "Held"),
        (summary(None), "open"),
        (replace(summary(None), status="Terminated", closed=NOW), "Terminated"),
    ],
)
def test_row_of_any_incident_says_how_it_ended_or_stands(of: IncidentSummary, expected: str) -> None:
    assert printed(past(of))[1].split()[3] == expected
    assert sums([past(of)]) == f"1 incident: 1 {expected}"


def test_sums_count_outcomes_and_incomplete_incidents() -> None:
    lost = past(replace(REMEDIATED, problem="its result cannot be read"))
    assert sums([past(), past(), past(ended())]) == "3 incidents: 2 Remediated, 1 Recovered"
    assert sums([lost]) == "1 incident: 1 Remediated; 1 incomplete, see `problem` in -o json"
    assert sums([]) == "no incidents"


def test_json_line_has_who_ordered_what_and_why() -> None:
    view = past()
    (order,) = view.orders or ()
    assert (order.order, order.identity, order.reason, order.given) == (
        "hold",
        "ada@desk",
        "disk swap",
        NOW,
    )
    assert view.request_records == (REQUEST,)
    assert (view.outcome, view.attempts, view.problem) == (Outcome.REMEDIATED, 1, None)
    assert [one.phase for one in view.phases or ()] == [*ENTRIES]
    first, *_ = view.history or ()
    assert (first.phase, first.what) == ("Waiting", "so")


def test_json_of_an_open_incident_has_its_beginning_over_all_runs() -> None:
    memory = Memory(began=BEGAN - MINUTE, attempt=2, records=(REQUEST,))
    view = past(summary(state(Phase.HELD, UNHEALTHY, memory=memory)))
    assert (view.started_at, view.attempts, view.request_records) == (BEGAN - MINUTE, 2, (REQUEST,))


@pytest.mark.parametrize(
    ("retention", "expected"),
    [
        (
            timedelta(days=2),
            (
                "the namespace prod keeps ended incidents for 2d, so those that ended before "
                "2026-02-27 12:00Z are removed"
            ),
        ),
        (timedelta(days=30), "incidents that ended before 2026-02-22 12:00Z are not listed, see --since"),
        (None, "the retention of the namespace prod is unknown"),
    ],
)
def test_list_says_which_incidents_it_lacks(retention: timedelta | None, expected: str) -> None:
    since = NOW - timedelta(days=7)
    assert Kept(namespace="prod", since=since, retention=retention, now=NOW).words == expected
