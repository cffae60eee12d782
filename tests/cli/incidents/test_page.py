"""The page of `paramedic show`, rendered from values: the next move, and the possible orders."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from rich.console import Console

from cli.incidents.document import IncidentDocument
from cli.incidents.show import incident_page
from health.model.details import HELD_BY_PERSON, Details, HoldWords
from health.model.evidence import EvidenceRecord
from health.model.incident_result import Timeline, TimelineEntry
from health.model.moves import Outcome, Phase
from health.model.observation import Hold, HoldReason, TargetState, failed
from health.model.order import OrderRecord
from health.model.task_subject import TaskSubject
from health.runbook.failures import FailingActs, MaintenanceTask, TaskNote
from health.runbook.memory_parts import LeaseMemory, LeaseState, RecoveryMemory
from health.runbook.state import Memory
from tests.cli.incidents.summaries import CONDITION, UNHEALTHY, document, ended, state, summary, unhealthy
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    HOLD,
    INCIDENT,
    MINUTE,
    NOW,
    SECOND,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.memories import ACTED, standing
from workflows.messages import State

NOTHING = Details()
HELD: dict[str, Any] = {"standing": standing("hold", "disk swap")}
BACK_OFF = Hold(reason=HoldReason.BACK_OFF, message="2nd remediation in a row")


def page(of: State, *story: TimelineEntry, left_out: int = 0) -> IncidentDocument:
    memory = replace(of.memory, timeline=Timeline(entries=story, left_out=left_out))
    return document(summary(of.model_copy(update={"memory": memory})))


def entry(words: str, phase: Phase = Phase.HELD, **fields: Any) -> TimelineEntry:
    return TimelineEntry(at=NOW, phase=phase, what=words, **fields)


def lines(of: State, *story: TimelineEntry) -> list[str]:
    return printed(page(of, *story))


def printed(of: IncidentDocument, *, is_full: bool = False) -> list[str]:
    console = Console(width=1000, highlight=False)
    with console.capture() as captured:
        console.print(incident_page(of, is_full=is_full))
    return [line.rstrip() for line in captured.get().splitlines()]


def line(label: str, of: State, *story: TimelineEntry) -> str:
    (found,) = (line for line in lines(of, *story) if line.startswith(label))
    return found.removeprefix(label).strip()


def remediating(**memory: Any) -> State:
    observation = unhealthy(request_of(FIRST, MINUTE))
    return state(Phase.REMEDIATING, UNHEALTHY, observation, replace(ACTED, **memory))


def test_page_says_what_happens_next_and_when() -> None:
    assert line("Goes on", remediating()) == (
        "in 4m (2026-03-01 12:04:00Z): "
        "the step RebootTemplate/reboot times out, and RebootTemplate/reset is next"
    )


def test_page_says_since_when_the_hold_holds_that_decides() -> None:
    held = (HoldWords(short=HELD_BY_PERSON, since=NOW - MINUTE), BACK_OFF.began_at(NOW).words)
    of = state(Phase.HELD, UNHEALTHY.model_copy(update={"holds": held}), unhealthy())
    assert line("Details", of) == f"{CONDITION}; held by a person; BackOff: 2nd remediation in a row"
    assert line("Held since", of) == "2026-03-01 11:59:00Z (1m ago)"
    assert not any(row.startswith("Held since") for row in lines(remediating()))


def test_page_says_of_a_hold_without_an_end_what_ends_it_and_no_time() -> None:
    assert line("Goes on", remediating(**HELD)) == "by resume, or when it recovers"


def test_page_says_of_an_exhausted_incident_that_a_person_must_come_and_no_time() -> None:
    exhausted = state(Phase.EXHAUSTED, UNHEALTHY, EXHAUSTED)
    words = "by resume, or when it recovers"
    assert line("Goes on", exhausted) == words
    assert page(exhausted).goes_on_at is None


def test_page_says_that_the_lease_will_be_renewed_and_released() -> None:
    observation = unhealthy(request_of(CLASSIC[0]), steps=CLASSIC)
    assert line("Lease", state(Phase.REMEDIATING, UNHEALTHY, observation, ACTED)) == (
        "is renewed in 5m (2026-03-01 12:05:00Z); "
        "is released in 15m (2026-03-01 12:15:00Z), when the remediation is overdue"
    )


def test_page_says_since_when_a_lease_is_to_be_renewed_whose_renewals_fail() -> None:
    memory = replace(ACTED, lease=LeaseMemory(state=LeaseState.HELD, renew_at=NOW - MINUTE))
    observation = unhealthy(request_of(CLASSIC[0]), steps=CLASSIC)
    assert line("Lease", state(Phase.REMEDIATING, UNHEALTHY, observation, memory)).startswith(
        "was to be renewed 2026-03-01 11:59:00Z (1m ago)"
    )


def test_page_says_how_far_a_recovery_is_that_is_to_be_proven() -> None:
    recovery = RecoveryMemory(
        has_begun=True, boot_id_before="boot-1", healthy_since=NOW - MINUTE, boot_id="boot-2"
    )
    says = {"state": TargetState.HEALTHY, "boot_id": "boot-2", "proven_recovery_seconds": 300}
    observation = unhealthy(request_of(FIRST)).model_copy(update=says)
    memory = replace(ACTED, recovery=recovery)
    assert line("Recovery", state(Phase.HEALTHY_DELAY, UNHEALTHY, observation, memory)) == (
        "healthy with a new boot ID for 1m of 5m"
    )


@pytest.mark.parametrize(
    ("renew_at", "expected"),
    [
        (NOW - 5 * MINUTE, "runs out in 1m (2026-03-01 12:01:00Z)"),
        (NOW - 7 * MINUTE, "ran out 2026-03-01 11:59:00Z (1m ago)"),
    ],
)
def test_page_says_until_when_the_lease_of_an_exhausted_incident_runs(
    renew_at: datetime, expected: str
) -> None:
    """It would have been renewed at half of its ten minutes, and the Lease has a minute more."""
    memory = Memory(lease=LeaseMemory(state=LeaseState.HELD, renew_at=renew_at))
    given_back = "is released in 30m (2026-03-01 12:30:00Z), when the remediation is overdue"
    assert line("Lease", state(Phase.EXHAUSTED, UNHEALTHY, EXHAUSTED, memory)) == f"{expected}; {given_back}"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(
            request_of(SECOND, MINUTE),
            "step 2 of 3, template reset, created 2026-03-01 11:59:00Z (1m ago), "
            "times out in 1m (2026-03-01 12:01:00Z)",
            id="runs",
        ),
        pytest.param(
            request_of(FIRST, 9 * MINUTE, timed_out_at=NOW - 4 * MINUTE),
            "step 1 of 3, template reboot, created 2026-03-01 11:51:00Z (9m ago), "
            "timed out 2026-03-01 11:56:00Z (4m ago)",
            id="timed out",
        ),
        pytest.param(
            request_of(FIRST, MINUTE, succeeded=True),
            "step 1 of 3, template reboot, created 2026-03-01 11:59:00Z (1m ago)",
            id="succeeded",
        ),
    ],
)
def test_request_is_reported_with_step_template_age_and_time_limit(request_: Any, expected: str) -> None:
    shown = lines(state(Phase.REMEDIATING, UNHEALTHY, unhealthy(request_), ACTED))
    assert expected in [one.strip() for one in shown]


def test_request_without_a_time_limit_is_shown_as_such() -> None:
    observation = unhealthy(request_of(CLASSIC[0]), steps=CLASSIC)
    shown = lines(state(Phase.REMEDIATING, UNHEALTHY, observation, ACTED))
    assert any(one.endswith("(0s ago), no time limit") for one in shown)


EXHAUSTED = seen(*with_steps_tried(*ESCALATION), answered_at=NOW)
STEPS = "resume --step TEMPLATE (RebootTemplate/reboot or RebootTemplate/reset or ReplaceTemplate/replace)"
LEFT_ALONE = Memory(standing=standing("abort"))


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        pytest.param(
            state(Phase.WAITING, NOTHING, seen(state=TargetState.WAITING)), "hold, abort", id="waits"
        ),
        pytest.param(state(Phase.HELD, NOTHING, seen(hold=HOLD, steps=CLASSIC)), "hold, abort", id="held"),
        pytest.param(
            state(Phase.HELD, NOTHING, seen(hold=BACK_OFF, steps=CLASSIC)),
            "resume, hold, abort",
            id="back-off",
        ),
        pytest.param(
            state(Phase.HELD, NOTHING, seen(steps=CLASSIC), Memory(**HELD)),
            "resume, abort",
            id="held by a person",
        ),
        pytest.param(state(Phase.REMEDIATING, NOTHING, seen(steps=CLASSIC)), "hold, abort", id="one step"),
        pytest.param(
            remediating(),
            f"skip --step RebootTemplate/reboot, hold, abort, {STEPS}",
            id="several steps",
        ),
        pytest.param(remediating(**HELD), f"resume, abort, {STEPS}", id="request under a hold"),
        pytest.param(state(Phase.EXHAUSTED, NOTHING, EXHAUSTED), f"resume, abort, {STEPS}", id="exhausted"),
        pytest.param(state(Phase.HEALTHY_DELAY, NOTHING, seen(steps=CLASSIC)), "abort", id="healthyDelay"),
        pytest.param(state(Phase.LEFT_ALONE, NOTHING, seen(), LEFT_ALONE), "resume", id="left alone"),
        pytest.param(state(Phase.CLEANING_UP, NOTHING, seen(steps=CLASSIC)), "", id="cleans up"),
    ],
)
def test_page_says_which_orders_make_sense(of: State, expected: str) -> None:
    found = ", ".join(order.line for order in page(of).possible_orders)
    words = found.replace("paramedic ", "").replace(f" node-1 --cluster {INCIDENT.cluster}", "")
    assert words == ", ".join(filter(None, ("claim", expected)))


def test_page_shows_the_claim_and_proposes_its_end() -> None:
    claim = OrderRecord(order="claim", reason="INC-7", identity="ada@desk", given=NOW)
    claimed = remediating(standing=(claim,))
    assert (
        line("Claimed", claimed) == "INC-7; by ada@desk; since 2026-03-01 12:00:00Z (0s ago); until unclaim"
    )
    assert line("You can", claimed) == "paramedic unclaim node-1 --cluster main-0a1b"
    assert any(row.strip().startswith("paramedic skip node-1") for row in lines(claimed))


SKIPPED = OrderRecord(order="skip", reason="", given=NOW, step="reboot", is_pending=True)
REFUSED = SKIPPED.model_copy(update={"is_pending": False, "refused": "no step runs"})


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        ((SKIPPED,), "skip reboot; waits for the detector"),
        ((REFUSED,), "skip reboot; refused, no step runs"),
        ((REFUSED, SKIPPED), "skip reboot; waits for the detector"),
        ((REFUSED, *standing("hold", "disk swap")), "skip reboot; refused, no step runs"),
    ],
)
def test_page_says_that_an_order_waits_and_why_the_latest_was_refused(
    orders: tuple[OrderRecord, ...], expected: str
) -> None:
    assert line("Order", remediating(orders=orders)) == expected


def test_orders_can_be_typed_as_they_are_printed() -> None:
    left_alone = document(summary(state(Phase.LEFT_ALONE, NOTHING)), name="it's")
    _, resume = left_alone.possible_orders
    assert resume.command == f"""paramedic resume 'it'"'"'s' --cluster {INCIDENT.cluster}"""
    staging = document(summary(remediating()), name=None, command="paramedic --namespace staging")
    last = staging.possible_orders[-1]
    assert last.command == f"paramedic --namespace staging resume workers/node-1 --cluster {INCIDENT.cluster}"
    assert last.steps[-1] == "ReplaceTemplate/replace"


def test_json_has_what_the_page_has() -> None:
    view = page(remediating())
    assert view.goes_on_at == NOW + 4 * MINUTE
    assert view.goes_on_with == "the step RebootTemplate/reboot times out, and RebootTemplate/reset is next"
    (request,) = view.requests or ()
    assert (request.step, request.steps, request.times_out_at) == (1, 3, NOW + 4 * MINUTE)
    assert tuple(order.command for order in view.possible_orders[:3]) == (
        "paramedic claim node-1 --cluster main-0a1b",
        "paramedic skip node-1 --cluster main-0a1b --step RebootTemplate/reboot",
        "paramedic hold node-1 --cluster main-0a1b",
    )
    assert page(remediating(**HELD)).goes_on_at is None


UNMARKED = TaskNote(
    task=MaintenanceTask.ANNOTATE,
    subject=TaskSubject.of_request("uid"),
    what="annotate Reboot/ns/node-1",
    why="failed calling webhook",
    since=NOW - 3 * MINUTE,
    failed=NOW,
    failures=7,
    next_try=NOW + MINUTE,
)
RIGHT_MISSING = UNMARKED.model_copy(
    update={
        "task": MaintenanceTask.CLEAN_UP,
        "what": "delete Reboot/ns/node-1",
        "why": "403",
        "refused_since": NOW - MINUTE,
        "failures": 1,
        "since": NOW,
        "next_try": NOW + 5 * MINUTE,
    }
)
FAILING = FailingActs(count=3, since=NOW - MINUTE, hold=failed("away"), next_act=NOW + 2 * MINUTE)


def test_page_says_what_failed_and_when_it_is_tried_again() -> None:
    held = state(Phase.HELD, NOTHING, seen(), Memory(notes=(RIGHT_MISSING, UNMARKED), failing=FAILING))
    shown = [one.removeprefix("Retrying").strip() for one in lines(held) if one.startswith("Retrying")]
    for found, what, row, again in zip(
        shown,
        (
            "act: Failed: the attempt to act failed: away",
            "annotate Reboot/ns/node-1: failed calling webhook",
            "delete Reboot/ns/node-1: a right is missing, or an admission plugin or the schema refuses: 403",
        ),
        (
            "failed 3 times since 2026-03-01 11:59:00Z (1m ago)",
            "failed 7 times since 2026-03-01 11:57:00Z (3m ago)",
            "failed 2026-03-01 12:00:00Z (0s ago)",
        ),
        (
            "in 2m (2026-03-01 12:02:00Z)",
            "in 1m (2026-03-01 12:01:00Z)",
            "in 5m (2026-03-01 12:05:00Z)",
        ),
        strict=True,
    ):
        assert found == f"{what}; {row}, tried again {again}"
    first, *_, last = page(held).retries or ()
    assert (first.what, first.failures, first.next_try_at) == ("act", 3, NOW + 2 * MINUTE)
    assert (last.what, last.since, last.next_try_at) == (RIGHT_MISSING.what, NOW, NOW + 5 * MINUTE)


def test_row_of_acts_is_reported_only_while_the_incident_is_held() -> None:
    assert not [one for one in lines(remediating(failing=FAILING)) if one.startswith("Retrying")]


def test_page_of_an_incident_that_has_ended_says_why() -> None:
    reason = f"{INCIDENT.target} is healthy"
    remediated = document(ended(Outcome.REMEDIATED, reason=reason))
    assert remediated.words == f"Remediated after 2h: {reason}"
    assert remediated.details == reason


def test_json_names_the_target_in_what_the_detector_answered() -> None:
    answered = page(remediating()).observation
    assert answered is not None
    assert (answered.reason, answered.subject) == (f"{INCIDENT.target}: {CONDITION}", "")


def test_history_says_who_ordered_what_and_how_often_it_happened() -> None:
    shown = lines(remediating(), entry("hold: disk swap", who="ada@desk"), entry("Storm", times=3))
    assert any(one.endswith("  Held by ada@desk: hold: disk swap") for one in shown)
    assert any(one.endswith("  Held (x3): Storm") for one in shown)


@pytest.mark.parametrize(
    ("is_full", "left_out", "count", "first"),
    [
        (False, 0, 13, "(3 earlier since 2026-03-01 12:00:00Z, see --full)"),
        (True, 0, 15, "2026-03-01 12:00:00Z  Held: 0"),
        (True, 4, 16, "(4 earlier since 2026-03-01 12:00:00Z; 4 of them are not kept)"),
        (False, 4, 13, "(7 earlier since 2026-03-01 12:00:00Z, see --full; 4 of them are not kept)"),
    ],
)
def test_history_is_cut_to_its_latest_entries_unless_all_are_wanted(
    *, is_full: bool, left_out: int, count: int, first: str
) -> None:
    entries = (entry(str(number)) for number in range(15))
    shown = printed(page(remediating(), *entries, left_out=left_out), is_full=is_full)
    (begin,) = (number for number, line in enumerate(shown) if line.startswith("History"))
    (end,) = (number for number, line in enumerate(shown) if line.startswith("Workflow"))
    assert shown[begin].split(maxsplit=1)[1] == first
    assert end - begin == count


REJECTED = Hold(reason=HoldReason.STEP_REJECTED, message="boot was rejected at 2026-03-01T12:00:00Z, by ada")


def test_rows_that_begin_with_a_time_do_not_repeat_it_or_its_day() -> None:
    observation = unhealthy(hold=REJECTED)
    observation = observation.model_copy(update={"reason": "Ready is Unknown since 2026-03-01T11:55:00Z"})
    held = state(Phase.HELD, UNHEALTHY, observation)
    assert line("Detector", held) == (
        "2026-03-01 12:00:00Z (0s ago): Expired: Ready is Unknown since 11:55:00Z; "
        "held: StepRejected: boot was rejected, by ada"
    )
    words = "Ready is Unknown since 2026-03-01T12:00:00Z, waiting for 5s"
    assert line("History", held, entry(words, Phase.WAITING)) == (
        "2026-03-01 12:00:00Z  Waiting: Ready is Unknown, waiting for 5s"
    )


def test_evidence_is_named_with_the_command_that_shows_it_also_after_the_end() -> None:
    record = EvidenceRecord(namespace="ns", name="e", at=NOW - MINUTE)
    saved = state(Phase.REMEDIATING, UNHEALTHY, memory=Memory(evidence=record))
    assert line("Evidence", saved) == "ConfigMap ns/e, taken 2026-03-01 11:59:00Z (1m ago)"
    assert "kubectl get configmap -n ns e -o yaml" in "\n".join(lines(saved))
    assert document(ended(evidence=record)).evidence == record

    failed_record = record.model_copy(update={"problem": "pods is forbidden"})
    unsaved = state(Phase.REMEDIATING, UNHEALTHY, memory=Memory(evidence=failed_record))
    assert line("Evidence", unsaved) == "not saved: pods is forbidden"
    assert "kubectl get configmap" not in "\n".join(lines(unsaved))


def test_open_incident_without_an_answer_shows_when_it_goes_on_and_the_orders_that_temporal_keeps() -> None:
    silent = replace(summary(None), problem="no worker answers")
    shown = printed(document(silent, command="paramedic -n prod"))
    at = next(number for number, line in enumerate(shown) if line.startswith("Goes on"))
    cluster = f"--cluster {INCIDENT.cluster}"
    assert [line.strip() for line in shown[at : at + 3]] == [
        "Goes on     when a worker answers: see `paramedic doctor`; Temporal keeps orders until then",
        f"You can     paramedic -n prod hold node-1 {cluster}",
        f"paramedic -n prod abort node-1 {cluster}",
    ]
