"""Events of a NodeHealthCheck (NHC 1.5): once per transition, and the same again after a restart."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.threshold import Allowance
from health.kinds.nodehealthcheck.events import events
from health.model.observation import Hold, HoldReason
from objects.event import Severity
from tests.support.values.builders import (
    ALLOWED,
    BLOCKED,
    INVALID,
    NO_SUCH_KIND,
    NOW,
    check,
    expired,
    recovered,
    request_snapshot,
    snapshot,
    waiting,
)
from tests.support.values.reporter import Reporter

NORMAL, WARNING = Severity.NORMAL, Severity.WARNING
PAUSED = check(pauseRequests=["update"])
SKIPPED = (
    "[remediation] Skipped remediation because the number of healthy nodes selected by the selector is 5 "
    "and should equal or exceed 6"
)
EXCLUDED = "node has Exclude from Remediation label"


@pytest.fixture
def reporter() -> Reporter:
    """A reporter that has emitted the Event of an enabled check."""
    one = Reporter()
    one.sees(snapshot())
    return one


@pytest.mark.rule("NHC 1.5/Enabled", "rule 15")
def test_check_that_works_is_reported_as_enabled_once() -> None:
    reporter = Reporter()

    assert reporter.sees(snapshot()) == [
        (NORMAL, "Enabled", "[remediation] No issues found, NodeHealthCheck is enabled.")
    ]
    assert reporter.sees(snapshot()) == []
    reporter.restarts()
    assert reporter.sees(snapshot()) == []


@pytest.mark.rule("NHC 1.5/Disabled/template", "rule 15")
@pytest.mark.parametrize(
    ("seen", "message"),
    [
        pytest.param(
            snapshot(holds=NO_SUCH_KIND),
            "Reason: RemediationTemplateNotFound, "
            'Message: Remediation template not found: "No kind Reboot in example.com/v1."',
            id="no such kind",
        ),
        pytest.param(
            snapshot(of=INVALID),
            "Reason: InvalidSpec, Message: spec.minHealthy: minHealthy must not be negative: -1",
            id="cannot be read",
        ),
    ],
)
def test_check_that_is_disabled_is_reported_with_its_reason(
    reporter: Reporter, seen: CheckSnapshot, message: str
) -> None:
    assert reporter.sees(seen) == [(WARNING, "Disabled", f"[remediation] Disabling NHC. {message}")]
    assert reporter.sees(seen) == []
    reporter.restarts()
    assert reporter.sees(seen) == []


def test_check_that_is_disabled_for_another_reason_is_reported_again(reporter: Reporter) -> None:
    reporter.sees(snapshot(of=INVALID))

    ((_, reason, message),) = reporter.sees(snapshot(holds=NO_SUCH_KIND))
    assert reason == "Disabled"
    assert "RemediationTemplateNotFound" in message


@pytest.mark.rule("NHC 1.5/Enabled", "NHC 2.1/6", "rule 15")
def test_check_that_is_enabled_and_disabled_again_is_reported_each_time(reporter: Reporter) -> None:
    reasons = []
    for hour, seen in enumerate(
        [snapshot(of=INVALID), snapshot(), snapshot(of=INVALID), snapshot()], start=1
    ):
        reasons += [reason for _, reason, _ in reporter.sees(seen, NOW + timedelta(hours=hour))]

    assert reasons == ["Disabled", "Enabled", "Disabled", "Enabled"]


@pytest.mark.rule("NHC 1.5/RemediationSkipped/pause", "rule 15")
def test_pause_is_reported_once(reporter: Reporter) -> None:
    paused = [
        (
            NORMAL,
            "RemediationSkipped",
            "[remediation] Postponing potential remediations because of pause requests",
        )
    ]

    assert reporter.sees(snapshot(of=PAUSED)) == paused
    assert reporter.sees(snapshot(of=PAUSED)) == []
    reporter.restarts()
    assert reporter.sees(snapshot(of=PAUSED)) == []


@pytest.mark.rule("rule 15")
def test_next_pause_is_reported_again(reporter: Reporter) -> None:
    reporter.sees(snapshot(of=PAUSED))
    reporter.sees(snapshot())
    next_pause = PAUSED.model_copy(update={"metadata": PAUSED.metadata.model_copy(update={"generation": 5})})

    assert len(reporter.sees(snapshot(of=next_pause))) == 1


@pytest.mark.rule("NHC 1.5/RemediationSkipped/threshold", "rule 15")
def test_broken_threshold_is_reported_once_with_its_numbers(reporter: Reporter) -> None:
    blocked = snapshot(expired("node-1"), allowance=BLOCKED)

    assert reporter.sees(blocked) == [(WARNING, "RemediationSkipped", SKIPPED)]
    assert reporter.sees(blocked) == []
    reporter.restarts()
    assert reporter.sees(blocked) == []


@pytest.mark.rule("rule 6")
def test_thousand_held_nodes_are_one_event() -> None:
    reporter = Reporter()
    names = [f"node-{number:04}" for number in range(1000)]
    numbers = Allowance.of_required(510, total=1000, healthy=0)
    reporter.sees(snapshot())
    told = [
        note
        for count in (1, 400, 1000)
        for note in reporter.sees(snapshot(*map(expired, names[:count]), allowance=numbers))
    ]

    assert [reason for _, reason, _ in told] == ["RemediationSkipped"]


@pytest.mark.rule("rule 6")
@pytest.mark.parametrize(
    "held",
    [
        pytest.param({"of": PAUSED}, id="paused"),
        pytest.param({"holds": NO_SUCH_KIND}, id="no such kind"),
    ],
)
def test_check_that_holds_all_its_nodes_tells_of_none(reporter: Reporter, held: dict[str, Any]) -> None:
    nodes = [expired(f"node-{number}") for number in range(1000)]

    assert len(reporter.sees(snapshot(*nodes, **held))) == 1
    reporter.restarts()
    assert reporter.sees(snapshot(*nodes, **held)) == []


def test_nodes_that_were_held_are_reported_when_the_hold_is_lifted(reporter: Reporter) -> None:
    reporter.sees(snapshot(expired("node-1"), allowance=BLOCKED))

    assert [reason for _, reason, _ in reporter.sees(snapshot(expired("node-1")))] == ["DetectedUnhealthy"]


def test_timer_that_runs_below_the_threshold_is_not_reported(reporter: Reporter) -> None:
    assert reporter.sees(snapshot(waiting("node-1"), allowance=BLOCKED)) == []


@pytest.mark.rule("rule 15")
@pytest.mark.parametrize("another", ["DiskPressure", "Ready"])
def test_threshold_that_breaks_again_is_reported_again(reporter: Reporter, another: str) -> None:
    stays = expired("node-1")
    reporter.sees(snapshot(stays, expired("node-2"), allowance=BLOCKED))
    reporter.sees(snapshot(stays))
    later = expired("node-3", since=NOW + timedelta(hours=1))
    assert later.verdict.fact is not None
    fact = later.verdict.fact.model_copy(update={"condition": another})
    breaks = replace(later, verdict=replace(later.verdict, reason="", fact=fact, deadline=None), requests=())

    assert reporter.sees(snapshot(stays, breaks, allowance=BLOCKED)) == [
        (WARNING, "RemediationSkipped", SKIPPED)
    ]


@pytest.mark.rule("NHC 1.5/RemediationSkipped/threshold", "rule 15")
def test_edit_of_the_threshold_that_holds_the_same_nodes_again_is_reported_again(reporter: Reporter) -> None:
    failed = expired("node-1")
    told = [reporter.sees(snapshot(failed, allowance=BLOCKED)), reporter.sees(snapshot(failed))]
    assert reporter.sees(snapshot(failed, allowance=BLOCKED), NOW + timedelta(seconds=1)) == told[0]
    reporter.restarts()
    assert reporter.sees(snapshot(failed, allowance=BLOCKED), NOW + timedelta(seconds=2)) == []


@pytest.mark.rule("NHC 1.5/DetectedUnhealthy", "rule 15")
@pytest.mark.parametrize(
    "then", [recovered("node-1", request_snapshot()), expired("node-1", request_snapshot())]
)
def test_node_that_was_unhealthy_when_its_request_was_created_is_reported_once(
    reporter: Reporter, then: TargetSnapshot
) -> None:
    acted_on = replace(snapshot(then), requested=(expired("node-1", request_snapshot()),))
    assert [reason for _, reason, _ in reporter.sees(acted_on)] == ["DetectedUnhealthy"]
    assert reporter.sees(snapshot(then)) == []


@pytest.mark.rule("NHC 1.5/DetectedUnhealthy", "rule 15")
@pytest.mark.parametrize("allowance", [ALLOWED, BLOCKED])
def test_failure_with_a_request_is_reported_also_if_the_node_fails_again_before_the_report(
    reporter: Reporter, allowance: Allowance
) -> None:
    again = snapshot(expired("node-1", since=NOW + timedelta(seconds=1)), allowance=allowance)
    told = reporter.sees(replace(again, requested=(expired("node-1", request_snapshot()),)))
    detected = [reason for _, reason, _ in told if reason == "DetectedUnhealthy"]
    assert len(detected) == (2 if allowance is ALLOWED else 1)


@pytest.mark.rule("NHC 1.5/DetectedUnhealthy", "rule 15")
def test_unhealthy_node_is_reported_once_for_each_time_that_it_fails(reporter: Reporter) -> None:
    detected = [
        (
            NORMAL,
            "DetectedUnhealthy",
            (
                '[remediation] Node matches unhealthy condition. Node "node-1", '
                'condition type "Ready", condition status "Unknown"'
            ),
        )
    ]

    assert reporter.sees(snapshot(waiting("node-1"))) == []
    assert reporter.sees(snapshot(expired("node-1"))) == detected
    assert reporter.sees(snapshot(expired("node-1"))) == []
    reporter.restarts()
    assert reporter.sees(snapshot(expired("node-1"))) == []
    assert reporter.sees(snapshot()) == []
    assert reporter.sees(snapshot(expired("node-1", since=NOW + timedelta(hours=1)))) == detected


@pytest.mark.rule("rule 15")
def test_pause_that_lasts_is_not_reported_again_by_the_next_detector(reporter: Reporter) -> None:
    reporter.sees(snapshot(of=PAUSED))
    reporter.restarts_much_later()
    assert reporter.sees(snapshot(of=PAUSED), NOW + timedelta(hours=2)) == []


@pytest.mark.rule("rule 15")
def test_nodes_that_failed_while_the_check_could_not_be_read_are_reported_when_it_can(
    reporter: Reporter,
) -> None:
    reporter.sees(snapshot(of=INVALID))
    told = reporter.sees(snapshot(expired("node-1")), NOW + timedelta(hours=2))
    assert "DetectedUnhealthy" in [reason for _, reason, _ in told]


@pytest.mark.rule("rule 15")
def test_failure_whose_new_beginning_was_not_seen_is_not_reported_again(reporter: Reporter) -> None:
    reporter.sees(snapshot(expired("node-1")))
    for between in (
        snapshot(waiting("node-1")),  # longer durations, and back
        snapshot(expired("node-1"), allowance=BLOCKED),
        snapshot(of=INVALID),
    ):
        reporter.sees(between)
        told = reporter.sees(snapshot(expired("node-1")))
        assert "DetectedUnhealthy" not in [reason for _, reason, _ in told]


@pytest.mark.rule("NHC 1.5/RemediationSkipped/excluded", "rule 15")
def test_node_that_its_label_excludes_is_reported_once_also_while_it_has_a_request(
    reporter: Reporter,
) -> None:
    hold = Hold(reason=HoldReason.EXCLUDED, message="by its label")
    skipped = [
        (WARNING, "RemediationSkipped", f"[remediation] Remediation skipped on node {name}: {EXCLUDED}")
        for name in ("node-1", "node-2")
    ]
    at_work = request_snapshot(created=NOW - timedelta(hours=1))
    excluded = (expired("node-1"), expired("node-2", at_work))
    reporter.sees(snapshot(*excluded))
    held = snapshot(*(replace(excluded_node, hold=hold) for excluded_node in excluded))

    assert reporter.sees(held) == skipped
    assert reporter.sees(held) == []
    reporter.restarts()
    assert reporter.sees(held) == []


@pytest.mark.rule("NHC 1.5/InvalidNodeLabel", "rule 15")
def test_empty_label_that_excludes_no_node_is_reported_once(reporter: Reporter) -> None:
    reporter.sees(snapshot(expired()))
    mislabelled = snapshot(replace(expired(), has_empty_exclusion=True))

    assert reporter.sees(mislabelled) == [
        (
            WARNING,
            "InvalidNodeLabel",
            (
                "[remediation] Node node-1 has exclude-from-remediation label with empty value, label will "
                "be ignored. Set value to 'true' to exclude node from remediation"
            ),
        )
    ]
    assert reporter.sees(mislabelled) == []
    reporter.restarts()
    assert reporter.sees(mislabelled) == []


@pytest.mark.rule("rule 15")
def test_seeds_of_two_checks_never_meet() -> None:
    one = snapshot(expired("node-1", request_snapshot()), of=PAUSED)
    other = CheckSnapshot(parsed=one.parsed, uid="another-uid", allowance=one.allowance, targets=one.targets)
    seeds = [{note.seed for note in events(None, seen, {}, NOW)} for seen in (one, other)]

    assert not seeds[0] & seeds[1]


@pytest.mark.rule("rule 53")
def test_request_that_the_next_leader_reads_late_is_no_new_failure(reporter: Reporter) -> None:
    reporter.restarts_much_later(led_until=NOW)
    failed = expired("node-1", since=NOW - timedelta(hours=5))
    assert reporter.sees(replace(snapshot(failed), requested=(failed,))) == []
