"""The annotations on requests, and requests that the incident adopts."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.moves import AnnotateRequests, AnnotationPatch, RemoveRequests, Wait
from health.model.observation import Observation, TargetState
from health.model.references import is_id_of
from health.model.remediation_request import (
    EVER,
    GREW_OLD,
    GREW_OLD_FLAG,
    HEALTHY_DELAY,
    TARGET_UID,
    TIMED_OUT,
    RemediationRequest,
)
from health.model.remediation_request import (
    INCIDENT as INCIDENT_ANNOTATION,
)
from health.model.request_snapshot import RequestSnapshot
from health.runbook.deadlines import CLOCK_SKEW, OLD, healthy, old, timed_out, unhealthy
from health.runbook.failures import merged, patched
from health.runbook.state import Memory
from objects.timestamps import stamp
from tests.support.values.builders import (
    FIRST,
    INCIDENT,
    MINUTE,
    NOW,
    request,
    request_of,
    request_snapshot,
    seen,
)
from tests.support.values.memories import ACTED, AN_INSTANT, move

A_MOMENT = timedelta(microseconds=1)


def patch(annotations: dict[str, str | None], uid: str = "request-uid") -> AnnotationPatch:
    return AnnotationPatch(request=request(uid), annotations=annotations)


def as_the_cluster_shows(annotations: dict[str, str | None]) -> RequestSnapshot:
    """A request of ours that carries these annotations, as it is read."""
    metadata = {
        "name": "node-1",
        "namespace": "remediators",
        "uid": "request-uid",
        "creationTimestamp": stamp(NOW),
        "annotations": {INCIDENT_ANNOTATION: "of-it", TARGET_UID: "of-its-target"}
        | {name: text for name, text in annotations.items() if text is not None},
    }
    read = RemediationRequest.model_validate({"metadata": metadata}).snapshot("example.com/v1", "Reboot")
    return read.model_copy(update={"reference": request()})


@pytest.mark.rule("NHC 1.7/nhc-timed-out", "NHC 2.4/6/timeout")
def test_request_that_is_over_is_annotated_with_the_time() -> None:
    assert timed_out(request_snapshot(), NOW) == patch({TIMED_OUT: "2026-03-01T12:00:00Z"})
    assert timed_out(request_snapshot(succeeded=False), NOW) == patch({TIMED_OUT: "2026-03-01T12:00:00Z"})


@pytest.mark.rule("NHC 2.4/6/succeeded", "NHC 2.5/overdue")
def test_request_that_succeeded_is_not_annotated_to_stop() -> None:
    assert timed_out(request_snapshot(succeeded=True), NOW) is None


@pytest.mark.rule("rule 39")
def test_mark_of_the_operator_is_left_as_it_is() -> None:
    assert timed_out(request_snapshot(timed_out_at=NOW - OLD), NOW) is None
    assert healthy(request_snapshot(healthy_since=NOW - OLD), NOW) is None


@pytest.mark.rule("NHC 1.7/healthy-delay", "NHC 2.6/positive")
def test_stamp_of_a_recovery_is_in_utc_and_in_whole_seconds() -> None:
    now = datetime(2026, 3, 1, 13, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=1)))
    assert healthy(request_snapshot(), now) == patch({HEALTHY_DELAY: "2026-03-01T12:00:00Z"})


@pytest.mark.rule("rule 8/wire")
def test_stamp_far_ahead_would_keep_the_request_for_ever_and_is_written_anew() -> None:
    ahead = NOW + CLOCK_SKEW
    assert healthy(request_snapshot(healthy_since=ahead), NOW) is None
    anew = patch({HEALTHY_DELAY: stamp(NOW)})
    assert healthy(request_snapshot(healthy_since=ahead + A_MOMENT), NOW) == anew
    assert healthy(as_the_cluster_shows({HEALTHY_DELAY: "9999-12-31T23:59:59Z"}), NOW) == anew


@pytest.mark.rule("rule 19")
@pytest.mark.parametrize("since", [NOW, EVER])
def test_stamp_goes_when_the_target_fails_again(since: datetime) -> None:
    assert unhealthy(request_snapshot(healthy_since=since)) == patch({HEALTHY_DELAY: None})
    assert unhealthy(request_snapshot()) is None


@pytest.mark.rule("NHC 2.1/17/48 h", "rule 23")
@pytest.mark.parametrize(
    ("age", "is_flagged", "is_due"),
    [(OLD - A_MOMENT, False, False), (OLD, False, True), (OLD, True, False), (10 * OLD, True, False)],
)
def test_request_is_flagged_once_when_it_is_48_hours_old(
    age: timedelta, *, is_flagged: bool, is_due: bool
) -> None:
    due = old(request_snapshot(created=NOW - age, is_flagged_as_old=is_flagged), NOW)
    assert due == (patch({GREW_OLD: GREW_OLD_FLAG}) if is_due else None)


@pytest.mark.parametrize(
    ("annotations", "field", "value"),
    [
        pytest.param({TIMED_OUT: stamp(NOW)}, "timed_out_at", NOW, id="timed out"),
        pytest.param({HEALTHY_DELAY: stamp(NOW)}, "healthy_since", NOW, id="healthy"),
        pytest.param({HEALTHY_DELAY: None}, "healthy_since", None, id="unhealthy"),
        pytest.param({GREW_OLD: GREW_OLD_FLAG}, "is_flagged_as_old", True, id="old"),
    ],
)
def test_written_annotations_are_known_at_once(
    annotations: dict[str, str | None], field: str, value: object
) -> None:
    before = request_snapshot(created=NOW - OLD, healthy_since=NOW - OLD)
    (after,) = patched([before], [patch(annotations)])
    assert after == before.model_copy(update={field: value})


@pytest.mark.rule("NHC 2.6/unreadable")
@pytest.mark.parametrize("theirs", [EVER, NOW - A_MOMENT], ids=["unreadable", "before the request"])
def test_stamp_that_another_writer_wrote_over_ours_counts(theirs: datetime) -> None:
    stamped = request_snapshot(created=NOW, healthy_since=theirs)
    assert patched([stamped], [patch({HEALTHY_DELAY: stamp(NOW)})]) == (stamped,)


def test_mark_of_another_request_changes_nothing() -> None:
    assert patched([request_snapshot()], [patch({TIMED_OUT: stamp(NOW)}, "another")]) == (request_snapshot(),)


def test_latest_writing_of_an_annotation_counts() -> None:
    known = merged((), [patch({HEALTHY_DELAY: stamp(NOW), TIMED_OUT: stamp(NOW)}), patch({}, "another")])
    assert merged(known, [patch({HEALTHY_DELAY: None})]) == (
        patch({HEALTHY_DELAY: None, TIMED_OUT: stamp(NOW)}),
        patch({}, "another"),
    )


STATES = st.fixed_dictionaries(
    {
        "created": st.integers(0, 100).map(lambda hours: NOW - timedelta(hours=hours)),
        "succeeded": st.sampled_from([None, True, False]),
        "timed_out_at": st.sampled_from([None, NOW]),
        "healthy_since": st.sampled_from([None, NOW]),
        "is_flagged_as_old": st.booleans(),
    }
)


@given(state=STATES)
def test_mark_that_was_written_is_not_due_again(state: dict[str, Any]) -> None:
    snapshot = request_snapshot(**state)
    for due in (timed_out(snapshot, NOW), healthy(snapshot, NOW), unhealthy(snapshot), old(snapshot, NOW)):
        if due is None:
            continue
        (after,) = patched([snapshot], [due])
        name = next(iter(due.annotations))
        again = {
            TIMED_OUT: timed_out(after, NOW),
            HEALTHY_DELAY: unhealthy(after) if due.annotations[name] is None else healthy(after, NOW),
            GREW_OLD: old(after, NOW),
        }
        assert again[name] is None


@pytest.mark.rule("rule 39/back")
@given(
    annotations=st.dictionaries(
        st.sampled_from([TIMED_OUT, HEALTHY_DELAY]), st.sampled_from([stamp(NOW), None])
    )
)
def test_remembered_annotations_are_those_of_the_cluster(annotations: dict[str, str | None]) -> None:
    (remembered,) = patched([request_snapshot()], [patch(annotations)])
    assert remembered == as_the_cluster_shows(annotations)


pytestmark = pytest.mark.rule("rule 39", "rule 52")

THEIRS = request_of(FIRST, MINUTE, is_unsigned=True, is_of_operator=True)
ADOPTION = AnnotationPatch(request=THEIRS.reference, adopts=True)


def patches(of: Observation, memory: Memory = ACTED) -> tuple[AnnotationPatch, ...]:
    result = move(of, memory)
    return result.patches if isinstance(result, AnnotateRequests) else ()


def test_request_of_the_operator_is_adopted_first_and_once() -> None:
    assert patches(seen(THEIRS)) == (ADOPTION,)
    after = ACTED.after_annotation((ADOPTION,))
    assert isinstance(move(after.complete(seen(THEIRS)), after), Wait)


def test_request_of_the_operator_is_adopted_while_it_is_kept_for_a_healthy_target() -> None:
    kept = seen(THEIRS, state=TargetState.HEALTHY).model_copy(update={"healthy_delay_seconds": -1})
    assert patches(kept) == (ADOPTION,)


def test_request_of_the_operator_that_goes_at_once_is_not_adopted_before() -> None:
    assert isinstance(move(seen(THEIRS, state=TargetState.HEALTHY), ACTED), RemoveRequests)


def test_request_of_the_operator_that_is_being_deleted_is_not_adopted() -> None:
    assert patches(seen(THEIRS.model_copy(update={"is_being_deleted": True}))) == ()


def test_adoption_that_fails_keeps_no_other_annotation_from_being_written() -> None:
    over = request_of(FIRST, 5 * MINUTE + AN_INSTANT, is_unsigned=True)
    adoption, stop = patches(seen(over))
    assert (adoption.adopts, dict(stop.annotations)) == (True, {TIMED_OUT: stamp(NOW)})
    assert adoption.subject != stop.subject
    assert str(adoption) == f"annotate {over.reference} with {INCIDENT_ANNOTATION}"


@pytest.mark.parametrize(
    ("annotations", "is_unsigned", "is_of_operator"),
    [
        pytest.param({}, True, True, id="of the operator"),
        pytest.param({INCIDENT_ANNOTATION: INCIDENT.workflow_id}, False, True, id="adopted"),
        pytest.param(
            {INCIDENT_ANNOTATION: INCIDENT.workflow_id, TARGET_UID: "uid"}, False, False, id="made by us"
        ),
    ],
)
def test_adopted_request_is_still_known_as_reported_by_the_operator(
    annotations: dict[str, str], *, is_unsigned: bool, is_of_operator: bool
) -> None:
    snapshot = _request(annotations).snapshot("a.example.com/v1", "Reboot")
    assert (snapshot.is_unsigned, snapshot.is_of_operator) == (is_unsigned, is_of_operator)


@pytest.mark.parametrize(
    ("workflow_id", "is_its_own"),
    [
        (INCIDENT.workflow_id, True),
        (INCIDENT.model_copy(update={"cluster": "renamed-12345678"}).workflow_id, True),
        (f"{INCIDENT.workflow_id}0", False),
        (f"{INCIDENT.workflow_id}/more", False),
        (INCIDENT.workflow_id.replace("remediation/", "upgrade/"), False),
        ("", False),
        ("remediation", False),
    ],
)
def test_workflow_id_is_compared_whole_but_for_the_name_of_the_cluster(
    workflow_id: str, *, is_its_own: bool
) -> None:
    assert is_id_of(workflow_id, INCIDENT) is is_its_own


def test_request_for_another_target_of_the_same_workflow_id_is_another_incidents() -> None:
    """A workflow id has but a part of the uid."""
    signs = {INCIDENT_ANNOTATION: INCIDENT.workflow_id}
    assert _request(signs).names(INCIDENT)
    assert _request(signs | {TARGET_UID: INCIDENT.target.uid}).names(INCIDENT)
    assert not _request(signs | {TARGET_UID: f"{INCIDENT.target.uid}-of-another"}).names(INCIDENT)


def _request(annotations: dict[str, str]) -> RemediationRequest:
    metadata = {
        "name": "node-1",
        "uid": "u",
        "creationTimestamp": stamp(NOW),
        "annotations": annotations,
    }
    return RemediationRequest.model_validate({"metadata": metadata})
