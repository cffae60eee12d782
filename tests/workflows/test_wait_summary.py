"""The summary of a timer keeps its time however long the words are."""

from datetime import timedelta

import pytest

from health.model.details import Details, HoldWords
from health.model.moves import Deadline, NextEvent, Phase, Wait
from objects.short_text import LONGEST_LINE, Brief
from tests.support.values.builders import MINUTE, NOW
from workflows.status import wait_summary


def summary(phase: Phase, brief: Brief, *until: Deadline) -> str:
    return wait_summary(Wait(phase=phase, until=until, brief=brief), NOW)


@pytest.mark.parametrize("phase", Phase)
def test_phase_and_words_are_written(phase: Phase) -> None:
    written = wait_summary(Wait(phase=phase, brief=Brief("held by a person: disk: swap")), NOW)
    assert written == f"{phase}: held by a person: disk: swap"


def test_time_of_the_next_transition_is_written() -> None:
    until = Deadline(NOW + MINUTE, NextEvent.DEADLINE_PASSES)
    written = wait_summary(Wait(phase=Phase.WAITING, until=(until,), brief=Brief("Ready is False")), NOW)
    assert written == f"Waiting: Ready is False; until {NOW + MINUTE:%H:%M:%SZ}"


def test_time_far_ahead_is_written_as_a_date() -> None:
    until = Deadline(NOW + timedelta(days=3), NextEvent.HOLD_ENDS)
    assert summary(Phase.HELD, Brief("x"), until) == f"Held: x; until {NOW + timedelta(days=3):%Y-%m-%d}"


@pytest.mark.parametrize("event", [NextEvent.ASKS_AGAIN, None])
def test_another_question_and_a_maintenance_task_are_no_time_to_wait_for(event: NextEvent | None) -> None:
    assert summary(Phase.HELD, Brief("Threshold: not now"), Deadline(NOW + MINUTE, event)) == (
        "Held: Threshold: not now"
    )


@pytest.mark.parametrize(
    ("age", "written"),
    [(timedelta(minutes=5), "11:55Z"), (timedelta(days=3), "2026-02-26")],
    ids=["minutes", "days"],
)
def test_beginning_of_a_hold_is_written_and_only_while_it_decides(age: timedelta, written: str) -> None:
    held = Details(holds=(HoldWords(short="Threshold", full="not now", since=NOW - age),))
    words, until = Brief("Threshold: not now"), (Deadline(NOW + MINUTE, NextEvent.HOLD_ENDS),)
    waits = {
        phase: wait_summary(Wait(phase=phase, details=held, until=until, brief=words), NOW)
        for phase in (Phase.HELD, Phase.REMEDIATING)
    }
    assert waits[Phase.HELD] == f"Held since {written}: Threshold: not now; until 12:01:00Z"[:60]
    assert waits[Phase.REMEDIATING] == "Remediating: Threshold: not now; until 12:01:00Z"


@pytest.mark.parametrize("phase", Phase)
def test_long_name_is_cut_and_phase_state_and_time_stay(phase: Phase) -> None:
    until = Deadline(NOW + MINUTE, NextEvent.STEP_TIMES_OUT)
    written = summary(phase, Brief(name=f"Reboot/ns/{'n' * 250}", after="exists"), until)
    assert len(written) == LONGEST_LINE
    assert written.startswith(f"{phase}: Reboot/")
    assert written.endswith(f"n… exists; until {NOW + MINUTE:%H:%M:%SZ}")


def test_words_without_a_name_are_cut_at_their_end() -> None:
    until = Deadline(NOW + MINUTE, NextEvent.HOLD_ENDS)
    written = summary(Phase.HELD, Brief("x" * 500), until)
    assert len(written) == LONGEST_LINE
    assert written.endswith(f"x…; until {NOW + MINUTE:%H:%M:%SZ}")
