"""The input of a maintenance task, and what an incident remembers of its result, without a server."""

from dataclasses import replace
from datetime import timedelta

import pytest

from health.model.moves import AnnotationPatch
from health.model.observation import TargetState
from health.model.remediation_request import TIMED_OUT
from health.model.task_subject import OF_LEASE, TaskSubject
from health.runbook.failures import FORBIDDEN_GRACE, TaskFailure
from objects.timestamps import stamp
from tests.support.values.builders import FIRST, INCIDENT, NOW, SECOND, request_of, seen
from tests.support.values.memories import ACTED
from workflows.calls import annotation, clean_up, release, renewal
from workflows.contracts import AnnotateResult, CleanUpInput, CleanUpResult, RenewResult

pytestmark = pytest.mark.rule("rule 47")

MADE, NEXT = request_of(FIRST), request_of(SECOND)
BOTH = replace(ACTED, requests=(MADE.reference, NEXT.reference))
TWO_SECONDS = timedelta(seconds=2)


def failure(subject: TaskSubject, *, is_refused: bool = False) -> TaskFailure:
    return TaskFailure(subject=subject, what="do it", why="no", is_refused=is_refused)


def test_lease_that_could_not_be_renewed_is_renewed_at_the_next_try() -> None:
    call, failures = renewal(INCIDENT, ACTED), (failure(OF_LEASE),)
    failed = call.after(RenewResult(failures=failures), ACTED, NOW, 1)
    (note,) = failed.notes
    assert failed.lease.renew_at == note.next_try == NOW + TWO_SECONDS
    assert failed.lease.acquired_at == ACTED.lease.acquired_at

    done = call.after(RenewResult(acquired_at=NOW), failed, note.next_try, 1)
    assert done.notes == ()
    assert done.lease.renew_at == note.next_try + ACTED.lease.duration / 2


@pytest.mark.rule("rule 47/403")
def test_annotation_that_was_not_written_is_noted_and_the_others_are_remembered() -> None:
    patches = tuple(
        AnnotationPatch(request=one.reference, annotations={TIMED_OUT: stamp(NOW)}) for one in (MADE, NEXT)
    )
    call = annotation(INCIDENT, patches)
    refused = AnnotateResult(failures=(failure(patches[0].subject, is_refused=True),))
    first = call.after(refused, ACTED, NOW, 1)
    assert first.patches == patches[1:]
    (note,) = first.notes
    assert not note.is_refused_for_long

    (later,) = call.after(refused, first, NOW + FORBIDDEN_GRACE, 1).notes
    assert later.is_refused_for_long
    assert call.after(AnnotateResult(), first, NOW, 1).notes == ()


@pytest.mark.rule("NHC 2.5/release", "rule 40")
def test_request_that_cannot_be_deleted_keeps_the_lease_and_no_other_request() -> None:
    call = clean_up(INCIDENT, BOTH, seen(MADE, NEXT), (MADE, NEXT))
    failures = (failure(TaskSubject.of_request(MADE.uid)),)
    left = call.after(CleanUpResult(failures=failures, has_lease=True), BOTH, NOW, 1)
    assert left.requests == (MADE.reference,)
    assert left.lease.may_be_held
    assert left.clean_up_at == NOW + TWO_SECONDS
    assert call.after(CleanUpResult(), left, NOW, 1).owns_something is False


@pytest.mark.rule("NHC 2.7/finalizer", "rule 14/deleted request")
def test_request_that_a_finalizer_keeps_is_kept_with_the_lease_and_its_end_is_no_loss() -> None:
    call = clean_up(INCIDENT, BOTH, seen(MADE, NEXT), (MADE, NEXT))
    left = call.after(CleanUpResult(remaining=(MADE.reference,), has_lease=True), BOTH, NOW, 1)
    assert (left.requests, left.withdrawn) == ((MADE.reference,), (MADE.uid,))
    assert left.lease.may_be_held
    assert left.notes == ()


@pytest.mark.rule("NHC 2.6/confirmed")
def test_clean_up_receives_requests_that_the_detector_does_not_see_and_the_confirmation_of_a_person() -> None:
    call = clean_up(INCIDENT, BOTH, seen(MADE, is_confirmed=True), (MADE,))
    assert isinstance(call.asked, CleanUpInput)
    assert call.asked.requests == BOTH.requests
    assert call.asked.doubtful == (NEXT.uid,)
    assert call.asked.is_confirmed
    assert len(call.tried) == len([MADE, NEXT, "the Lease", "the confirmation"])


@pytest.mark.rule("rule 61")
@pytest.mark.parametrize("state", [TargetState.GONE, TargetState.HEALTHY])
def test_clean_up_says_whether_the_target_is_gone(state: TargetState) -> None:
    asked = clean_up(INCIDENT, BOTH, seen(state=state), ()).asked
    assert isinstance(asked, CleanUpInput)
    assert asked.is_gone is (state is TargetState.GONE)


@pytest.mark.rule("NHC 2.5/overdue")
def test_lease_that_is_given_back_while_requests_stay_is_forgotten_once_it_is() -> None:
    call = release(INCIDENT)
    assert isinstance(call.asked, CleanUpInput)
    assert call.asked.requests == ()
    given_back = call.after(CleanUpResult(), BOTH, NOW, 1)
    assert not given_back.lease.may_be_held
    assert given_back.requests == BOTH.requests
    kept = call.after(CleanUpResult(failures=(failure(OF_LEASE),), has_lease=True), BOTH, NOW, 1)
    assert kept.lease.may_be_held
    assert len(kept.notes) == 1
