"""The table and the JSON of past incidents, made of values."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console

from cli.incidents.history import IncidentRecordView, past_table, sums
from cli.incidents.incident_record import IncidentRecord, Kept
from cli.incidents.story import Episode
from cli.incidents.summary import IncidentSummary
from health.model.moves import Outcome, Phase
from health.model.order import OrderRecord
from health.model.request_record import RequestRecord
from health.runbook.state import Memory
from tests.cli.incidents.summaries import UNHEALTHY, ended, state, summary
from tests.support.values.builders import INCIDENT, MINUTE, NOW

BEGAN = NOW - 120 * MINUTE
ENTRIES = {"started": 0, "Waiting": 0, "Held": 5, "Acting": 65, "Remediating": 66, "CleaningUp": 119}
STORY = tuple(Episode(when=BEGAN + after * MINUTE, what=what, words="") for what, after in ENTRIES.items())
REQUEST = RequestRecord(request="Reboot/ns/node-1", uid="u", template="t", started=BEGAN + 66 * MINUTE)
ORDER = OrderRecord(order="hold", reason="disk swap", identity="ada@desk", given=NOW)
REMEDIATED = ended(Outcome.REMEDIATED, requests=(REQUEST,), orders=(ORDER,), attempts=1)


def past(
    of: IncidentSummary = REMEDIATED, story: tuple[Episode, ...] = STORY, **fields: Any
) -> IncidentRecord:
    return IncidentRecord(summary=of, story=story, now=NOW, **fields)


def printed(*incidents: IncidentRecord, width: int = 80) -> list[str]:
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(past_table(incidents, width))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_row_has_the_outcome_and_the_time_of_each_part() -> None:
    header, row = printed(past())
    assert header.split() == ["STARTED", "CHECK", "ENDED", "AS", "TOOK", "WAITED", "HELD", "STEPS", "ORDERS"]
    assert row == "2026-03-01 10:00Z  workers  Remediated  2h    5m      1h    1 in 54m  1"


def test_incident_without_a_step_has_no_steps_and_one_without_a_history_has_no_times() -> None:
    waited = past(ended(), STORY[:2])
    assert printed(waited)[1].split()[-3:] == ["-", "-", "-"]
    assert printed(past(story=()))[1].split()[-6:] == ["?", "?", "1", "in", "?", "1"]


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
    assert past(of).ended_as == expected


def test_sums_count_outcomes_and_incomplete_incidents() -> None:
    lost = past(lacks_beginning=True)
    assert sums([past(), past(), past(ended())]) == "3 incidents: 2 Remediated, 1 Recovered"
    assert sums([lost]) == "1 incident: 1 Remediated; 1 incomplete, see `problem` in -o json"
    assert sums([]) == "no incidents"


def test_json_line_has_who_ordered_what_and_why() -> None:
    view = IncidentRecordView.of(past())
    (order,) = view.orders
    assert (order.order, order.identity, order.reason, order.given_at) == (
        "hold",
        "ada@desk",
        "disk swap",
        NOW,
    )
    assert view.requests == (REQUEST,)
    assert (view.outcome, view.attempts, view.problem) == (Outcome.REMEDIATED, 1, "")
    assert [one.phase for one in view.phases] == [*list(ENTRIES)[1:]]
    assert view.history[0].what == "started"


def test_json_of_an_open_incident_has_its_beginning_over_all_runs() -> None:
    memory = Memory(began=BEGAN - MINUTE, attempt=2, records=(REQUEST,))
    view = IncidentRecordView.of(past(summary(state(Phase.HELD, UNHEALTHY, memory=memory))))
    assert (view.started_at, view.attempts, view.requests) == (BEGAN - MINUTE, 2, (REQUEST,))


def test_json_names_each_part_that_is_missing() -> None:
    view = IncidentRecordView.of(
        past(replace(summary(None), problem="no worker answers"), lacks_beginning=True)
    )
    assert view.problem == "no worker answers; Temporal has removed the history of its first runs"


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
