"""The words of an incident: its timeline and the summary of its waits."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from health.model.approval import Approval
from health.model.details import Details
from health.model.incident_result import FIRST_KEPT, MOST_BYTES, MOST_ENTRIES, Timeline, TimelineEntry
from health.model.moves import SHORT_HOLD, AskApproval, Blocked, Phase, RemoveRequests, RenewLease, Wait
from health.model.observation import Observation, TargetState
from health.runbook.decide import next_move
from health.runbook.learn import learned
from health.runbook.orders import HoldOrder, ordered
from health.runbook.state import Memory
from health.runbook.words import entry_of, new_orders
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    HOLD,
    INCIDENT,
    MINUTE,
    NOW,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.memories import ACTED, standing

BEGAN = NOW - MINUTE


def entry(what: str = "Ready is Unknown", phase: Phase = Phase.HELD, at: datetime = NOW) -> TimelineEntry:
    return TimelineEntry(at=at, phase=phase, what=what)


def timeline_of(entries: Sequence[TimelineEntry]) -> Timeline:
    made = Timeline()
    for one in entries:
        made = made.noting(one, BEGAN)
    return made


TEXTS = st.text(max_size=300) | st.sampled_from(["a", "b"])
OPEN = st.sampled_from([one for one in Phase if one is not Phase.ENDED])
TIMES = st.integers(0, 300).map(lambda minutes: NOW + minutes * MINUTE)
ENTRIES = st.lists(st.builds(entry, TEXTS, OPEN, TIMES), max_size=200)


@given(ENTRIES)
@example([entry(f"{number} {'é' * 250}", at=NOW + number * MINUTE) for number in range(30)])
def test_any_timeline_is_bounded_and_loses_no_entry_uncounted(entries: list[TimelineEntry]) -> None:
    made = timeline_of(entries)
    assert len(made.entries) <= MOST_ENTRIES
    assert sum(len(one.model_dump_json().encode()) for one in made.entries) <= MOST_BYTES
    repeated = [one for one, other in pairwise(made.entries) if one.is_like(other)]
    assert not repeated or made.left_out
    if entries:
        assert made.entries[-1].is_like(entries[-1])


@given(ENTRIES)
def test_times_of_the_phases_add_up_to_the_whole_time(entries: list[TimelineEntry]) -> None:
    entries.sort(key=lambda one: one.at)
    end = NOW + 301 * MINUTE
    whole = sum(one.seconds for one in timeline_of(entries).phases(end))
    assert whole == ((end - BEGAN).total_seconds() if entries else 0)


def test_equal_neighbours_are_one_entry_with_the_first_time() -> None:
    made = timeline_of([entry(), entry(at=NOW + MINUTE), entry("other"), entry()])
    assert [(one.what, one.times) for one in made.entries] == [
        ("Ready is Unknown", 2),
        ("other", 1),
        ("Ready is Unknown", 1),
    ]
    assert made.entries[0].at == NOW


def test_first_and_latest_entries_are_kept() -> None:
    made = timeline_of([entry(str(number)) for number in range(MOST_ENTRIES + 5)])
    kept = [int(one.what) for one in made.entries]
    assert kept[:FIRST_KEPT] == [*range(FIRST_KEPT)]
    assert kept[FIRST_KEPT:] == [*range(FIRST_KEPT + 5, MOST_ENTRIES + 5)]
    assert made.left_out == 5


def test_end_of_the_incident_is_no_phase_with_a_time() -> None:
    made = timeline_of([entry(), entry("Recovered", Phase.ENDED, NOW + MINUTE)])
    assert [(one.phase, one.seconds) for one in made.phases(NOW + 5 * MINUTE)] == [(Phase.HELD, 120)]


def test_phase_that_comes_again_is_one_sum() -> None:
    waits, holds = (entry(phase=phase) for phase in (Phase.WAITING, Phase.HELD))
    later = [one.model_copy(update={"at": NOW + n * MINUTE}) for n, one in ((4, holds), (6, waits))]
    made = timeline_of([waits, *later])
    assert [(one.phase, one.seconds / 60) for one in made.phases(NOW + 9 * MINUTE)] == [
        (Phase.WAITING, 8),
        (Phase.HELD, 2),
    ]


def test_moves_are_told_with_their_reason_and_without_the_target() -> None:
    observation = seen(request_of(FIRST), subject="Node/node-1", reason="Ready is Unknown")
    details = Details(subject=observation.subject, reason=observation.reason)
    waits = Wait(phase=Phase.WAITING, details=details.and_also("waits").with_notes(["a note"]))
    told = entry_of(waits, observation, INCIDENT.target, NOW, is_first=False)
    assert told is not None
    assert (told.phase, told.what.startswith("Ready is Unknown"), "note" in told.what) == (
        Phase.WAITING,
        True,
        False,
    )
    removes = entry_of(RemoveRequests(details), observation, INCIDENT.target, NOW, is_first=False)
    assert removes is not None
    assert removes.what == "delete Reboot/remediators/node-1; Ready is Unknown"
    approval = Approval(step=FIRST, names=("reboot",), asked_at=NOW)
    asks = entry_of(
        AskApproval(approval, details.and_also("asks")), observation, INCIDENT.target, NOW, is_first=False
    )
    assert asks is not None
    assert asks.phase is Phase.HELD
    renews = RenewLease(Phase.REMEDIATING, details)
    assert entry_of(renews, observation, INCIDENT.target, NOW, is_first=False) is None
    first = entry_of(renews, observation, INCIDENT.target, NOW, is_first=True)
    assert first is not None, "a hold of this moment would be older than the history"
    assert (first.at, first.phase, first.what) == (NOW, Phase.REMEDIATING, "Ready is Unknown")


def test_order_is_told_once_with_its_person_and_again_when_it_is_refused() -> None:
    before = Memory()
    memory = ordered(before, HoldOrder(reason="disk swap", identity="ada@desk", for_seconds=60), NOW)
    (told,) = new_orders(memory, before, NOW)
    assert (told.what, told.who) == ("hold: disk swap, until 2026-03-01T12:01:00Z", "ada@desk")
    assert [*new_orders(memory, memory, NOW)] == []
    refused = replace(memory, orders=(memory.orders[0].model_copy(update={"refused": "no step runs"}),))
    (again,) = new_orders(refused, memory, NOW)
    assert again.what.endswith("; refused: no step runs")


ONE = request_of(FIRST)
WAITING = seen(state=TargetState.WAITING, remaining_seconds=60)
HELD = Memory(standing=standing("hold", "disk swap"))
WHO_HOLDS = "held by a person: disk swap"


def wait(observation: Observation, memory: Memory) -> Wait:
    move = next_move(observation, learned(memory, observation, NOW), NOW)
    assert isinstance(move, Wait)
    return move


def brief(observation: Observation, memory: Memory) -> str:
    return wait(observation, memory).brief.within()


@pytest.mark.parametrize(
    ("observation", "memory", "expected"),
    [
        (WAITING, Memory(), "Ready is Unknown"),
        (seen(hold=HOLD), Memory(), "Threshold: 5 of 10 unhealthy, at most 4 allowed"),
        (seen(hold=HOLD), HELD, WHO_HOLDS),
        (seen(ONE), ACTED, "step 1 of 3, reboot"),
        (seen(ONE), replace(ACTED, standing=HELD.standing), WHO_HOLDS),
        (seen(ONE, steps=CLASSIC), ACTED, str(ONE)),
    ],
)
def test_wait_begins_with_what_differs(observation: Observation, memory: Memory, expected: str) -> None:
    assert brief(observation, memory) == expected


@pytest.mark.parametrize(
    ("observation", "memory", "expected"),
    [
        (WAITING, Memory(), None),
        (seen(ONE), ACTED, None),
        (seen(ONE), replace(ACTED, standing=HELD.standing), None),
        (seen(hold=HOLD), Memory(), Blocked.HELD),
        (WAITING, HELD, Blocked.HELD),
        (seen(*with_steps_tried(*ESCALATION)), ACTED, Blocked.EXHAUSTED),
        (seen(), Memory(standing=standing("abort")), Blocked.LEFT_ALONE),
    ],
)
def test_saved_views_find_an_incident_by_what_blocks_it(
    observation: Observation, memory: Memory, expected: Blocked | None
) -> None:
    assert wait(observation, memory).blocked is expected


@pytest.mark.parametrize(("seconds", "is_short"), [(SHORT_HOLD.total_seconds() - 1, True), (60, False)])
def test_hold_of_less_than_a_minute_changes_no_saved_view(seconds: float, *, is_short: bool) -> None:
    held = wait(seen(hold=HOLD.model_copy(update={"ask_again_seconds": seconds})), Memory())
    assert held.is_short_hold(NOW) is is_short
    assert not held.is_short_hold(NOW - timedelta(minutes=2))
    assert not wait(WAITING, Memory()).is_short_hold(NOW)
