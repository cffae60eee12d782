"""The table of incidents in terminals of several widths: rows stay distinguishable, and no number is cut."""

from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from cli.incidents.document import IncidentDocument
from cli.incidents.state_queries import NO_WORKER
from cli.incidents.table import column_widths, fitted_table, headline, in_order, incident_rows
from cli.shared.terminal import print_trimmed
from health.cluster.global_stop import Stop
from health.model.details import HELD_BY_PERSON, Details, HoldWords
from health.model.moves import Phase
from health.model.observation import Hold, HoldReason
from health.model.order import OrderRecord
from health.runbook.state import Memory
from tests.cli.incidents.summaries import CONDITION, document, state, summary, unhealthy
from tests.support.values.builders import ESCALATION, FIRST, MINUTE, NOW, request_of, with_steps_tried
from tests.support.values.memories import ACTED, standing

LONG = "ip-10-0-12-7.eu-central-1.compute.internal"
HELD: dict[str, Any] = {"standing": standing("hold", "disk swap")}
NOTHING = Details()
BY_PERSON = Details(holds=(HoldWords(short=HELD_BY_PERSON, full="disk swap", since=NOW - 3 * MINUTE),))
REQUEST = "Reboot/remediators/node-1 exists"
THRESHOLD = Hold(reason=HoldReason.THRESHOLD, message="not now", since=NOW - 120 * MINUTE)


def incident(
    node: str, phase: Phase, why: Details = NOTHING, memory: Memory = ACTED, **observed: Any
) -> IncidentDocument:
    """An incident that says the condition of its node, and what else there is to say."""
    reason = {"subject": f"Node/{node}", "reason": CONDITION}
    observation = unhealthy(*observed.pop("requests", ()), **observed)
    return document(summary(state(phase, why.model_copy(update=reason), observation, memory), node))


DOCUMENTS = [
    incident(LONG, Phase.HELD, BY_PERSON, Memory(**HELD)),
    incident(
        "node-2",
        Phase.REMEDIATING,
        BY_PERSON.model_copy(update={"requests": REQUEST}),
        replace(ACTED, **HELD),
        requests=[request_of(FIRST)],
    ),
    incident("node-3", Phase.HELD, Details(holds=(THRESHOLD.words,), ask_again_seconds=1800), hold=THRESHOLD),
    document(summary(None, "node-4")),
]


def drawn(width: int, *documents: IncidentDocument) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        rows = incident_rows(in_order(documents or DOCUMENTS), is_wide=False)
        console.print(fitted_table(rows, width))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    assert len(drawn(width)) == 1 + len(DOCUMENTS)
    assert max(map(len, drawn(width))) <= width


def test_at_200_columns_nothing_is_cut() -> None:
    assert "…" not in "".join(drawn(200))


def test_at_80_columns_every_column_is_there_and_the_reason_of_a_hold_stands_first() -> None:
    header, *rows = drawn(80, *DOCUMENTS[1:])
    assert header.split() == ["TARGET", "CHECK", "PHASE", "HELD", "AGE", "NEXT", "DETAILS"]
    assert [row.split("  ")[0] for row in rows] == ["node-2", "node-3", "node-4"]
    assert " 3m " in rows[0]
    assert "held by a person: disk" in rows[0]
    assert " 2h " in rows[1]
    assert "Threshold: not now; " in rows[1]


def test_at_80_columns_age_makes_room_for_what_tells_long_names_apart() -> None:
    header, *rows = drawn(80)
    assert header.split() == ["TARGET", "CHECK", "PHASE", "NEXT", "DETAILS"]
    assert rows[0].startswith("ip-10-0-12-7.eu")
    assert "held by a person: disk" in rows[0]


def test_at_40_columns_rows_can_still_be_distinguished() -> None:
    header, *rows = drawn(40, *DOCUMENTS[1:])
    assert header.split() == ["TARGET", "CHECK", "PHASE", "NEXT"]
    assert [" ".join(row.split()) for row in rows] == [
        "node-2 workers Remediating, held -",
        "node-3 workers Held 30m",
        "node-4 workers unknown -",
    ]
    header, *rows = drawn(40)
    assert header.split() == ["TARGET", "PHASE"]
    assert rows[0].startswith("ip-10-0-12-7.eu")


def test_age_is_the_first_column_to_go_and_details_the_next() -> None:
    natural = {"TARGET": 6, "CHECK": 7, "PHASE": 11, "AGE": 4, "NEXT": 6, "DETAILS": 90}
    assert "AGE" in column_widths(natural, 68)
    assert column_widths(natural, 67) == {name: natural[name] for name in natural if name != "AGE"} | {
        "DETAILS": 29
    }
    assert "DETAILS" in column_widths(natural, 62)
    assert list(column_widths(natural, 61)) == ["TARGET", "CHECK", "PHASE", "NEXT"]
    assert list(column_widths(natural, 5)) == ["TARGET", "PHASE"]


def test_spare_width_goes_to_the_name_before_the_details() -> None:
    natural = {"TARGET": 40, "PHASE": 11, "DETAILS": 90}
    assert column_widths(natural, 69) == {"TARGET": 30, "PHASE": 11, "DETAILS": 24}
    assert column_widths(natural, 100) == {"TARGET": 40, "PHASE": 11, "DETAILS": 45}


CLAIMS = [
    incident(
        "node-1",
        Phase.HELD,
        memory=Memory(standing=(OrderRecord(order="claim", reason="", identity=by, given=NOW),)),
    )
    for by in (
        "ada@desk",
        "",
        "maximilian@phone",
        "kubectl annotation on Node/node-1 (manager kubectl-annotate)",
        "maximiliana-von-und-zu@phone",
    )
]


def test_user_of_a_claim_has_a_column_as_soon_as_an_incident_is_claimed() -> None:
    assert not any("CLAIM" in line for line in drawn(200))
    header, *rows = drawn(80, *CLAIMS, DOCUMENTS[-1])
    assert header.split() == ["TARGET", "CHECK", "PHASE", "AGE", "NEXT", "CLAIM", "DETAILS"]
    at = header.index("CLAIM")
    assert [row[at:].split()[0] for row in rows] == ["ada", "yes", "maximi…", "kubectl", "maximi…", "-"]
    _, *rows = drawn(200, *CLAIMS)
    assert rows[-1].split()[5] == "maximiliana-von-und-zu"


def test_claim_is_dropped_after_the_age_and_before_the_details() -> None:
    natural = dict.fromkeys(("TARGET", "CHECK", "PHASE", "AGE", "NEXT", "CLAIM", "DETAILS"), 11)
    assert set(natural).difference(column_widths(natural, 76)) == {"AGE"}
    assert set(natural).difference(column_widths(natural, 64)) == {"AGE", "CLAIM"}


def test_into_a_pipe_no_line_ends_with_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    rows = incident_rows(DOCUMENTS, is_wide=True)
    print_trimmed(fitted_table(rows, 1000), Console(width=1000))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(DOCUMENTS)
    assert all(line == line.rstrip() for line in lines)


def test_details_begin_with_what_tells_incidents_apart() -> None:
    assert [one.brief for one in DOCUMENTS[:3]] == [
        f"held by a person: disk swap; {CONDITION}",
        f"held by a person: disk swap; {REQUEST}; {CONDITION}",
        f"Threshold: not now; {CONDITION}",
    ]


def test_targets_stand_in_the_order_of_their_numbers_whatever_digits_they_have() -> None:
    found = drawn(200, *(incident(node, Phase.WAITING) for node in ("node-10", "node-²", "node-2")))
    assert [line.split()[0] for line in found[1:]] == ["node-2", "node-10", "node-²"]


def test_details_of_an_incident_with_only_a_condition_are_the_condition() -> None:
    assert incident("node-1", Phase.WAITING).brief == CONDITION
    exhausted = Details(requests=REQUEST, more=("no template left to try",))
    found = incident("node-1", Phase.EXHAUSTED, exhausted, requests=[request_of(FIRST)])
    assert found.brief == f"no template left to try; {REQUEST}; {CONDITION}"


def test_nothing_is_next_where_a_person_must_come() -> None:
    tried = with_steps_tried(*ESCALATION)
    header, found = drawn(200, incident("node-1", Phase.EXHAUSTED, requests=tried))
    assert header.split()[4] == "NEXT"
    assert found.split()[4] == "-"


@pytest.mark.rule("rule 42")
def test_cluster_that_is_stopped_is_reported_once_beside_the_numbers() -> None:
    stop = Stop("power work").hold
    held = [incident(node, Phase.HELD, hold=stop) for node in ("node-1", "node-2")]

    told = f"; {held[0].cluster} is stopped in the whole cluster: power work"
    assert headline(held) == f"2 incidents: 2 Held{told}"
    assert "stopped" not in headline(DOCUMENTS)


def test_incidents_that_no_worker_answers_for_are_counted_with_the_next_step() -> None:
    silent = [document(replace(summary(None, f"node-{number}"), problem=NO_WORKER)) for number in (1, 2)]
    told = "2 incidents: 2 unknown; 2 did not answer: see `paramedic doctor`"
    assert headline(silent) == told


def test_at_80_columns_the_time_until_which_an_approval_is_waited_for_is_whole() -> None:
    waits = Details(more=("waits for approval until 2026-03-01T12:30:00Z (then it stays held): Reboot/ns/a",))
    _, row = drawn(80, incident("node-1", Phase.HELD, waits))
    assert "waits for approval until 12:30Z" in row
