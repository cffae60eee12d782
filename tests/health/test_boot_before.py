"""Which boot ID counts as that from before the first step, and which steps begin anew."""

from dataclasses import replace
from typing import Any

import pytest

from health.model.moves import (
    End,
    Outcome,
    Phase,
    RemoveRequests,
    RenewLease,
    TakeStep,
)
from health.model.remediation_request import BOOT_ID, RemediationRequest
from health.runbook.memory_parts import NewStart
from health.runbook.state import Memory
from tests.support.values import proving
from tests.support.values.builders import (
    MINUTE,
    NOW,
    SECOND,
    request_of,
)
from tests.support.values.memories import Timed, handed_over, timed, with_lease
from tests.support.values.proving import (
    A_SECOND,
    KEPT,
    MADE,
    MARK,
    NEW,
    NEWEST,
    OLD,
    SAME,
    TIME,
    Incident,
    healthy,
    told,
    unhealthy,
)

incident = proving.incident


@pytest.mark.parametrize("boot_id", [OLD, NEW])
def test_request_that_was_cleaned_up_and_is_still_seen_begins_nothing(
    incident: Incident, boot_id: str
) -> None:
    """The watch of a kind lags: the target would be remediated against a person's word."""
    incident.sees(healthy(MADE, boot_id=boot_id, is_confirmed=True))
    incident.cleans_up()
    assert isinstance(incident.sees(healthy(MADE, boot_id=boot_id)), RemoveRequests)
    incident.cleans_up()
    assert isinstance(incident.sees(healthy(boot_id=boot_id)), End)


@pytest.mark.rule("rule 40", "rule 52/healthy")
def test_resume_ends_the_incident_of_a_healthy_target_once_its_requests_are_gone(incident: Incident) -> None:
    """No act would take the first step anew: nothing in the cluster shows that it was remediated."""
    incident.memory = replace(incident.memory, starts_over=NewStart())
    assert isinstance(incident.sees(healthy(MADE, boot_id=OLD)), RemoveRequests)
    incident.cleans_up()
    end = incident.sees(healthy(boot_id=OLD))
    assert isinstance(end, End)
    assert end.outcome is Outcome.REMEDIATED


@pytest.mark.rule("rule 40")
def test_resume_takes_the_steps_anew_where_the_target_failed_again(incident: Incident) -> None:
    incident.memory = replace(incident.memory, starts_over=NewStart())
    incident.sees(healthy(MADE, boot_id=OLD))
    incident.cleans_up()
    step = incident.sees(unhealthy(boot_id=OLD))
    assert isinstance(step, TakeStep)
    assert step.step == 0
    again = incident.acts(boot_id=OLD)
    assert incident.sees(healthy(again, boot_id=OLD)).phase is Phase.REMEDIATING


def test_resume_of_a_target_that_booted_meanwhile_ends_with_its_proof(incident: Incident) -> None:
    incident.memory = replace(incident.memory, starts_over=NewStart())
    assert incident.sees(healthy(MADE)).phase is Phase.HEALTHY_DELAY
    assert isinstance(incident.sees(healthy(MADE), TIME), RemoveRequests)
    incident.cleans_up()
    assert isinstance(incident.sees(healthy(), TIME), End)


def test_target_without_requests_has_its_time_and_keeps_no_lease(incident: Incident) -> None:
    """A user deleted the request after the boot, so no remediator works on the node (NHC 2.6)."""
    incident.memory = with_lease(incident.memory, renew_at=NOW)
    assert timed(incident.sees(healthy())) == Timed(Phase.HEALTHY_DELAY, KEPT, 300)
    assert isinstance(incident.sees(healthy(), TIME), RemoveRequests)


def test_steps_that_are_taken_anew_prove_what_follows_them(incident: Incident) -> None:
    incident.memory = replace(incident.memory, starts_over=NewStart())
    incident.sees(unhealthy(MADE, boot_id=NEW))
    incident.cleans_up()
    incident.sees(unhealthy(boot_id=NEW))
    again = incident.acts(boot_id=NEW)
    assert incident.sees(healthy(again, boot_id=NEW)).phase is Phase.REMEDIATING


def test_step_from_which_the_others_are_taken_anew_is_a_first_one(incident: Incident) -> None:
    incident.memory = replace(incident.memory, starts_over=NewStart(first_step=SECOND.template.name))
    incident.sees(unhealthy(MADE, boot_id=NEW))
    incident.cleans_up()
    step = incident.sees(unhealthy(boot_id=NEW))
    assert isinstance(step, TakeStep)
    assert step.step == 1
    again = incident.acts(SECOND, NEW)
    assert incident.sees(healthy(again, boot_id=NEW)).phase is Phase.REMEDIATING


def test_boot_before_a_first_step_that_did_not_say_it_stays_unknown_in_the_second() -> None:
    incident = Incident()
    over = incident.acts(boot_id="", timed_out_at=NOW)
    incident.sees(unhealthy(over, boot_id=NEW))
    second = incident.acts(SECOND, NEW)
    assert "no boot ID known from before" in told(incident.sees(healthy(over, second, boot_id=NEW)))


def test_boot_before_the_first_step_counts_in_an_escalation(incident: Incident) -> None:
    over = MADE.model_copy(update={"timed_out_at": NOW})
    incident.sees(unhealthy(over, boot_id=NEW))
    second = incident.acts(SECOND, NEW)
    assert incident.sees(healthy(over, second)).phase is Phase.HEALTHY_DELAY
    assert incident.sees(healthy(over, second, boot_id=OLD)).phase is Phase.REMEDIATING


def test_request_that_is_made_anew_says_what_was_before(incident: Incident) -> None:
    """Somebody deleted the first one, and the target booted by itself."""
    incident.memory = incident.memory.after_loss((MADE.reference,), unhealthy(), NOW)
    again = incident.acts(boot_id=NEW)
    assert incident.sees(healthy(again)).phase is Phase.REMEDIATING
    assert incident.sees(healthy(again, boot_id=NEWEST)).phase is Phase.HEALTHY_DELAY


def test_incident_that_lost_its_memory_knows_the_boot_from_the_request() -> None:
    incident = Incident()
    move = incident.sees(healthy(MADE, boot_id=OLD))
    assert isinstance(move, RenewLease)
    assert move.phase is Phase.REMEDIATING
    assert str(move.details).startswith(SAME)
    booted = with_lease(Memory(), renew_at=NOW + MINUTE)
    second = request_of(SECOND, -A_SECOND, boot_id=NEW)
    assert Incident(booted).sees(healthy(second, MADE)).phase is Phase.HEALTHY_DELAY


def test_deleted_request_begins_nothing_in_an_incident_that_did_not_know_it() -> None:
    going = MADE.model_copy(update={"is_being_deleted": True})
    assert isinstance(Incident().sees(healthy(going, boot_id=OLD)), RemoveRequests)


def test_memory_comes_through_the_wire_with_its_proof(incident: Incident) -> None:
    incident.sees(healthy(MADE))
    carried = handed_over(incident.memory)
    assert carried == incident.memory
    assert isinstance(Incident(carried).sees(healthy(MADE), TIME), RemoveRequests)


def test_second_failure_after_a_whole_clean_up_has_a_boot_of_its_own(incident: Incident) -> None:
    incident.sees(healthy(MADE))
    incident.sees(healthy(MADE), TIME)
    incident.cleans_up()
    incident.sees(unhealthy(boot_id=NEW))
    assert isinstance(incident.sees(healthy()), End)


def test_marked_machine_is_waited_for_until_it_booted_or_its_mark_is_taken_off() -> None:
    incident = Incident()
    before = unhealthy(steps=(MARK,))
    incident.sees(before)
    incident.memory = incident.memory.before_act(MARK).after_disruption(MARK, before, None, NOW)
    marked: dict[str, Any] = {"steps": (MARK,), "is_marked": True, "under_way": "it is marked"}
    same = incident.sees(healthy(boot_id=OLD, **marked))
    assert same.phase is Phase.REMEDIATING
    assert told(same).startswith(SAME)
    booted = Incident(incident.memory)
    assert booted.sees(healthy(**marked), MINUTE).phase is Phase.HEALTHY_DELAY
    assert isinstance(booted.sees(healthy(**marked), MINUTE + TIME), RemoveRequests)

    off = incident.sees(healthy(boot_id=OLD, steps=(MARK,), back_off_limit_seconds=1800), MINUTE)
    assert "somebody deleted its mark" in told(off) or off.phase is Phase.HELD


def test_mark_of_another_has_the_time_alone() -> None:
    incident = Incident()
    marked: dict[str, Any] = {"steps": (MARK,), "is_marked": True, "under_way": "it is marked"}
    incident.sees(unhealthy(**marked))
    assert "no boot ID known from before" in told(incident.sees(healthy(boot_id=OLD, **marked)))


def test_finalizer_that_hangs_when_another_boot_comes_is_no_reason_to_wait_anew(incident: Incident) -> None:
    incident.sees(healthy(MADE))
    incident.sees(healthy(MADE), TIME)
    going = MADE.model_copy(update={"is_being_deleted": True})
    incident.cleans_up(going)
    move = incident.sees(healthy(going, boot_id=NEWEST), TIME)
    assert isinstance(move, RemoveRequests) or move.phase is Phase.CLEANING_UP


def test_request_says_which_boot_was_before_it() -> None:
    metadata = {
        "name": "node-1",
        "uid": "uid",
        "creationTimestamp": "2026-03-01T11:00:00Z",
        "annotations": {BOOT_ID: OLD},
    }
    request = RemediationRequest.model_validate({"metadata": metadata}).snapshot("example.com/v1", "Reboot")
    assert request.boot_id == OLD
