"""Which annotations are due on a request, and that what was written is remembered."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.moves import AnnotationPatch
from health.model.remediation_request import (
    EVER,
    GREW_OLD,
    GREW_OLD_FLAG,
    HEALTHY_DELAY,
    INCIDENT,
    TARGET_UID,
    TIMED_OUT,
    RemediationRequest,
)
from health.model.request_snapshot import RequestSnapshot
from health.runbook.deadlines import CLOCK_SKEW, OLD, healthy, old, timed_out, unhealthy
from health.runbook.failures import merged, patched
from objects.timestamps import stamp
from tests.support.values.builders import NOW, request, request_snapshot

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
        "annotations": {INCIDENT: "of-it", TARGET_UID: "of-its-target"}
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
