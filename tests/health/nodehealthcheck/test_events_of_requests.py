"""Events of a NodeHealthCheck about its requests (NHC 1.5): what became of them, and what it means."""

from dataclasses import replace
from datetime import timedelta

import pytest

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.model.request_snapshot import RequestChange, RequestSnapshot
from objects.event import Severity
from tests.support.values.builders import (
    INVALID,
    NOW,
    check,
    escalation,
    expired,
    recovered,
    request_snapshot,
    snapshot,
    waiting,
)
from tests.support.values.reporter import Reporter

NORMAL, WARNING = Severity.NORMAL, Severity.WARNING
REQUEST = request_snapshot()
DYING = request_snapshot(is_being_deleted=True)
CREATED = (NORMAL, "RemediationCreated", "[remediation] Created remediation object for node node-1")
REMOVED = (
    NORMAL,
    "RemediationRemoved",
    "[remediation] Deleted remediation CR of kind Reboot with name node-1",
)
INTERRUPTED = (
    WARNING,
    "RemediationInterrupted",
    (
        "[remediation] Node node-1 is still unhealthy, but its remediation CR of kind Reboot "
        "with name node-1 was deleted"
    ),
)


def made(request: RequestSnapshot) -> RequestChange:
    return RequestChange("node-1", None, request)


def gone(request: RequestSnapshot) -> RequestChange:
    return RequestChange("node-1", request, None)


def after(seen: CheckSnapshot, *changes: RequestChange) -> CheckSnapshot:
    """The snapshot of a node with these requests and the results of earlier ones."""
    return replace(seen, request_changes=changes)


@pytest.fixture
def reporter() -> Reporter:
    """A reporter that has emitted the Event of a failed node."""
    one = Reporter()
    one.sees(snapshot(expired("node-1")))
    return one


@pytest.mark.rule("NHC 1.5/RemediationCreated", "NHC 1.5/RemediationRemoved")
def test_request_is_reported_when_it_is_made_and_when_its_deletion_is_ordered(reporter: Reporter) -> None:
    assert reporter.sees(after(snapshot(expired("node-1", REQUEST)), made(REQUEST))) == [CREATED]

    kept = snapshot(recovered("node-1", DYING))
    assert reporter.sees(after(kept, RequestChange("node-1", REQUEST, DYING))) == [REMOVED]
    assert reporter.sees(after(snapshot(), gone(DYING))) == []


@pytest.mark.rule("NHC 1.5/RemediationRemoved")
@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(snapshot(), id="recovered, or no target any more, and nothing hangs on a finalizer"),
        pytest.param(snapshot(waiting("node-1", since=NOW + timedelta(hours=1))), id="recovered, fails anew"),
    ],
)
def test_request_that_goes_at_once_is_reported_as_removed(reporter: Reporter, seen: CheckSnapshot) -> None:
    reporter.sees(after(snapshot(expired("node-1", REQUEST)), made(REQUEST)))

    assert reporter.sees(after(seen, gone(REQUEST))) == [REMOVED]


@pytest.mark.rule("NHC 1.5/RemediationRemoved")
@pytest.mark.parametrize(
    "unhealthy", [pytest.param(expired(), id="expired"), pytest.param(waiting(), id="waiting")]
)
def test_request_that_goes_while_its_node_is_unhealthy_is_not_reported_as_removed_by_us(
    reporter: Reporter, unhealthy: TargetSnapshot
) -> None:
    reporter.sees(after(snapshot(expired("node-1", REQUEST)), made(REQUEST)))

    assert reporter.sees(after(snapshot(unhealthy), gone(REQUEST))) == [INTERRUPTED]


@pytest.mark.rule("NHC 1.5/RemediationCreated")
def test_request_that_another_client_deletes_and_that_is_made_anew_is_reported_as_both(
    reporter: Reporter,
) -> None:
    one, two = request_snapshot("one"), request_snapshot("two")
    reporter.sees(after(snapshot(expired("node-1", one)), made(one)))

    told = reporter.sees(after(snapshot(expired("node-1", two)), gone(one), made(two)))
    assert told == [INTERRUPTED, CREATED]


@pytest.mark.rule("NHC 1.5/RemediationCreated", "NHC 1.5/RemediationRemoved")
def test_request_that_came_and_went_between_two_looks_is_reported(reporter: Reporter) -> None:
    assert reporter.sees(after(snapshot(), made(REQUEST), gone(REQUEST))) == [CREATED, REMOVED]


def test_request_that_changes_but_stays_is_not_reported(reporter: Reporter) -> None:
    failed = request_snapshot(succeeded=True)
    reporter.sees(after(snapshot(expired("node-1", REQUEST)), made(REQUEST)))

    change = RequestChange("node-1", REQUEST, failed)
    assert reporter.sees(after(snapshot(expired("node-1", failed)), change)) == []


@pytest.mark.rule("NHC 1.5/RemediationRemoved")
def test_request_that_is_no_longer_the_checks_but_was_not_deleted_is_not_reported(reporter: Reporter) -> None:
    reporter.sees(after(snapshot(expired("node-1", REQUEST)), made(REQUEST)))

    assert reporter.sees(snapshot()) == []


@pytest.mark.rule("rule 15")
@pytest.mark.parametrize(
    ("age", "told"),
    [
        pytest.param(timedelta(minutes=10), [CREATED], id="young"),
        pytest.param(timedelta(minutes=10, seconds=1), [], id="old"),
    ],
)
@pytest.mark.parametrize(
    "restarting", [True, False], ids=["after a start", "of a kind that was not seen yet"]
)
def test_of_requests_that_are_seen_first_only_young_ones_are_reported(
    reporter: Reporter,
    restarting: bool,  # noqa: FBT001  a column of the table
    age: timedelta,
    told: list[object],
) -> None:
    request = request_snapshot(created=NOW - age)
    there = snapshot(expired("node-1", request))
    if restarting:
        reporter.restarts()

    assert reporter.sees(there if restarting else after(there, made(request))) == told


@pytest.mark.rule("rule 39", "rule 15", "NHC 1.5/RemediationCreated", "NHC 1.5/DetectedUnhealthy")
def test_requests_that_the_operator_reported_are_not_reported_again() -> None:
    theirs = request_snapshot("theirs", is_of_operator=True)
    orphan = request_snapshot("orphan", is_of_operator=True)
    taken_over, reporter = snapshot(expired("node-1", theirs), recovered("node-2", orphan)), Reporter()

    assert [reason for _, reason, _ in reporter.sees(taken_over)] == ["Enabled"]
    freed = after(snapshot(expired("node-1", theirs)), RequestChange("node-2", orphan, None))
    assert reporter.sees(freed) == [REMOVED]
    ours = request_snapshot("ours", template="second")
    assert reporter.sees(after(snapshot(expired("node-1", theirs, ours)), made(ours))) == [CREATED]
    reporter.restarts()
    assert reporter.sees(snapshot(expired("node-1", theirs, ours))) == []


@pytest.mark.rule("rule 39", "NHC 1.5/DetectedUnhealthy")
def test_node_of_a_request_of_the_operator_that_fails_anew_is_reported() -> None:
    reporter = Reporter()
    reporter.sees(snapshot(expired("node-1", request_snapshot(is_of_operator=True))))
    reporter.sees(snapshot())

    told = reporter.sees(snapshot(expired("node-1", since=NOW + timedelta(hours=1))))
    assert [reason for _, reason, _ in told] == ["DetectedUnhealthy"]


def test_requests_of_a_check_that_cannot_be_read_are_not_reported(reporter: Reporter) -> None:
    reporter.sees(after(snapshot(expired("node-1", REQUEST)), made(REQUEST)))

    told = reporter.sees(after(snapshot(of=INVALID), gone(REQUEST)))
    assert [reason for _, reason, _ in told] == ["Disabled"]
    told = reporter.sees(snapshot(expired("node-1")))
    assert [reason for _, reason, _ in told] == ["Enabled"]


@pytest.mark.rule("rule 22", "rule 15")
def test_remediator_that_gives_up_on_the_only_step_is_reported_once() -> None:
    reporter = Reporter()
    reporter.sees(snapshot(expired("node-1", request_snapshot())))
    failed = snapshot(expired("node-1", request_snapshot(succeeded=False)))

    message = "[remediation] Remediation of node node-1 failed: Reboot node-1 reports Succeeded=False"
    assert reporter.sees(failed) == [(WARNING, "RemediationFailed", message)]
    assert reporter.sees(failed) == []
    succeeded = snapshot(expired("node-1", request_snapshot(succeeded=True)))
    assert reporter.sees(succeeded) == []


@pytest.mark.rule("rule 22")
def test_step_of_an_escalation_that_fails_is_followed_and_not_told() -> None:
    escalating = check(remediationTemplate=None, escalatingRemediations=[escalation(1), escalation(2)])
    reporter = Reporter()
    reporter.sees(snapshot(expired("node-1", request_snapshot()), of=escalating))
    failed = snapshot(expired("node-1", request_snapshot(succeeded=False)), of=escalating)
    assert reporter.sees(failed) == []


@pytest.mark.rule("rule 53", "NHC 1.5/RemediationCreated")
def test_request_that_was_made_while_no_detector_led_is_reported_by_the_next_leader(
    reporter: Reporter,
) -> None:
    later = NOW + timedelta(hours=2)
    reporter.restarts_much_later(led_until=NOW - timedelta(minutes=5))
    seen = reporter.sees(snapshot(expired("node-1", REQUEST)), later)
    assert CREATED in seen
    reporter.restarts_much_later(led_until=later)
    assert CREATED not in reporter.sees(snapshot(expired("node-1", REQUEST)), later)
