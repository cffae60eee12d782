"""A step runs, ends, and the next one begins; the check is edited meanwhile."""

import pytest

from health.model.moves import AnnotateRequests, AnnotationPatch, Phase, RenewLease, TakeStep, Wait
from health.model.remediation_request import TIMED_OUT
from health.runbook.learn import learned
from objects.timestamps import stamp
from tests.support.values.builders import (
    ADMITTED,
    CLASSIC,
    ESCALATION,
    FIRST,
    HOLD,
    MINUTE,
    NOW,
    SECOND,
    THIRD,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.memories import (
    ACTED,
    AN_INSTANT,
    annotations_of,
    because,
    move,
    timed,
    timer_of,
    with_lease,
)

AT_WORK, FAILED = request_of(FIRST), request_of(FIRST, succeeded=False, timed_out_at=NOW)
WORKING_TIME = {FIRST: 300, SECOND: 120, THIRD: 600}


@pytest.mark.rule("NHC 2.4/6/timeout", "rule 1")
def test_step_rests_until_just_after_its_timeout() -> None:
    short = with_lease(ACTED, renew_at=NOW + 60 * MINUTE)
    for step, seconds in WORKING_TIME.items():
        result = move(seen(request_of(step)), short)
        assert isinstance(result, Wait)
        assert result.phase is Phase.REMEDIATING
        assert timer_of(result) == seconds + AN_INSTANT.total_seconds()


@pytest.mark.rule("NHC 1.7/nhc-timed-out", "NHC 2.4/6/timeout")
def test_step_that_timed_out_is_marked_before_the_next_one_begins() -> None:
    over = request_of(FIRST, 5 * MINUTE + AN_INSTANT)
    first = move(seen(over))
    assert isinstance(first, AnnotateRequests)
    assert first.patches == (AnnotationPatch(request=over.reference, annotations={TIMED_OUT: stamp(NOW)}),)
    assert move(seen(over), ACTED.after_annotation(first.patches)) == TakeStep(
        1, ADMITTED, because("it is Expired")
    )


@pytest.mark.rule("NHC 2.4/6/failed", "rule 22")
def test_step_that_failed_is_marked_at_once_and_the_next_one_begins() -> None:
    failed = request_of(FIRST, succeeded=False)
    result = move(seen(failed))
    assert annotations_of(result) == {TIMED_OUT: stamp(NOW)}
    assert move(seen(FAILED)) == TakeStep(1, ADMITTED, because("it is Expired"))


@pytest.mark.rule("NHC 2.4/6/succeeded", "NHC 2.7/Succeeded")
def test_step_that_succeeded_in_vain_moves_on_at_its_timeout_without_a_mark() -> None:
    in_vain = request_of(FIRST, 5 * MINUTE, succeeded=True)
    assert isinstance(move(seen(in_vain)), Wait)
    assert move(seen(request_of(FIRST, 5 * MINUTE + AN_INSTANT, succeeded=True))) == TakeStep(
        1, ADMITTED, because("it is Expired")
    )


@pytest.mark.rule("NHC 2.4/2", "NHC 2.4/6/kept")
def test_each_step_follows_the_one_before_and_all_requests_stay() -> None:
    for tried, following in (([FIRST], 1), ([FIRST, SECOND], 2)):
        assert move(seen(*with_steps_tried(*tried))) == TakeStep(
            following, ADMITTED, because("it is Expired")
        )


@pytest.mark.rule("NHC 2.4/2/none left", "rule 40/exhausted")
def test_without_a_step_left_it_waits_for_resume() -> None:
    result = move(seen(*with_steps_tried(*ESCALATION)))
    assert isinstance(result, Wait)
    assert result.phase is Phase.EXHAUSTED
    assert str(result.details).endswith("no template left to try")


@pytest.mark.rule("NHC 2.4/6/timeout", "NHC 2.4/2/none left")
def test_last_step_is_marked_as_timed_out_too() -> None:
    last = request_of(THIRD, 10 * MINUTE + AN_INSTANT)
    result = move(seen(*with_steps_tried(FIRST, SECOND), last))
    assert isinstance(result, AnnotateRequests)
    assert result.phase is Phase.EXHAUSTED
    assert [mark.request for mark in result.patches] == [last.reference]


@pytest.mark.rule("NHC 2.4/2/none left")
def test_exhausted_incident_no_longer_renews_the_lease() -> None:
    due = with_lease(ACTED, renew_at=NOW)
    assert isinstance(move(seen(*with_steps_tried(*ESCALATION)), due), Wait)
    assert isinstance(move(seen(*with_steps_tried(FIRST, SECOND), hold=HOLD), due), RenewLease)


@pytest.mark.rule("NHC 2.4/2")
def test_step_whose_request_a_user_deleted_after_its_turn_is_not_taken_again() -> None:
    after = learned(ACTED, seen(FAILED), NOW)
    assert move(seen(), after) == TakeStep(1, ADMITTED, because("it is Expired"))
    at_work = seen(request_of(SECOND))
    assert timed(move(at_work, after)) == timed(move(at_work, ACTED))


@pytest.mark.rule("rule 22")
def test_classic_remediation_that_failed_goes_on_as_before() -> None:
    result = move(seen(request_of(CLASSIC[0], succeeded=False), steps=CLASSIC))
    assert isinstance(result, Wait)
    assert result.phase is Phase.REMEDIATING
    assert str(result.details) == "it is Expired; Reboot/remediators/node-1 failed"


@pytest.mark.rule("rule 10/steps")
def test_running_step_keeps_its_request_when_the_list_changes() -> None:
    result = move(seen(AT_WORK, steps=(SECOND, THIRD)))
    assert isinstance(result, Wait)
    assert result.phase is Phase.REMEDIATING


@pytest.mark.rule("rule 10/steps")
def test_next_step_is_of_the_new_list() -> None:
    assert move(seen(FAILED, steps=(THIRD, FIRST))) == TakeStep(0, ADMITTED, because("it is Expired"))
    assert move(seen(FAILED, steps=(FIRST, THIRD))) == TakeStep(1, ADMITTED, because("it is Expired"))
    assert move(seen(FAILED, steps=(THIRD,))) == TakeStep(0, ADMITTED, because("it is Expired"))


@pytest.mark.rule("rule 10/steps", "rule 40/exhausted")
def test_step_that_is_added_ends_an_exhaustion() -> None:
    exhausted = learned(ACTED, seen(FAILED, steps=(FIRST,)), NOW)
    assert move(seen(FAILED, steps=(FIRST, SECOND)), exhausted) == TakeStep(
        1, ADMITTED, because("it is Expired")
    )


@pytest.mark.rule("rule 10/edit")
def test_edited_timeout_counts_from_the_start_of_the_request() -> None:
    request = request_of(FIRST, 2 * MINUTE)
    shorter = FIRST.model_copy(update={"timeout_seconds": 60})
    assert TIMED_OUT in annotations_of(move(seen(request, steps=(shorter, SECOND))))
