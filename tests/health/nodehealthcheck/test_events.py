"""Events of a NodeHealthCheck (semantics 1.5): once per transition, and the same again after a restart."""

from datetime import timedelta
from typing import Any

import pytest

from health.gate.check_sight import CheckSight
from health.gate.threshold import Allowance
from health.kinds.nodehealthcheck.events import announcements
from health.model.announcement import Severity
from tests.health.reporter import Reporter
from tests.health.samples import (
    BLOCKED,
    INVALID,
    NO_SUCH_KIND,
    NOW,
    check,
    expired,
    request_sight,
    sight,
    waiting,
)

NORMAL, WARNING = Severity.NORMAL, Severity.WARNING
PAUSED = check(pauseRequests=["update"])
SKIPPED = (
    "[remediation] Skipped remediation because the number of healthy nodes selected by the selector is 5 "
    "and should equal or exceed 6"
)


@pytest.fixture
def reporter() -> Reporter:
    """One that has told of an enabled check."""
    one = Reporter()
    one.sees(sight())
    return one


@pytest.mark.rule("NHC 1.5/Enabled", "decision 15")
def test_check_that_works_is_told_as_enabled_once() -> None:
    reporter = Reporter()

    assert reporter.sees(sight()) == [
        (NORMAL, "Enabled", "[remediation] No issues found, NodeHealthCheck is enabled.")
    ]
    assert reporter.sees(sight()) == []
    reporter.restarts()
    assert reporter.sees(sight()) == []


@pytest.mark.rule("NHC 1.5/Disabled/template", "decision 15")
@pytest.mark.parametrize(
    ("seen", "message"),
    [
        pytest.param(
            sight(around=NO_SUCH_KIND),
            "Reason: RemediationTemplateNotFound, "
            'Message: Remediation template not found: "No kind Reboot in example.com/v1."',
            id="no such kind",
        ),
        pytest.param(
            sight(of=INVALID),
            "Reason: InvalidSpec, Message: spec.minHealthy: minHealthy must not be negative: -1",
            id="cannot be read",
        ),
    ],
)
def test_check_that_is_disabled_is_told_with_its_reason(
    reporter: Reporter, seen: CheckSight, message: str
) -> None:
    assert reporter.sees(seen) == [(WARNING, "Disabled", f"[remediation] Disabling NHC. {message}")]
    assert reporter.sees(seen) == []
    reporter.restarts()
    assert reporter.sees(seen) == []


def test_check_that_is_disabled_for_another_reason_is_told_again(reporter: Reporter) -> None:
    reporter.sees(sight(of=INVALID))

    ((_, reason, message),) = reporter.sees(sight(around=NO_SUCH_KIND))
    assert reason == "Disabled"
    assert "RemediationTemplateNotFound" in message


@pytest.mark.rule("NHC 1.5/Enabled", "NHC 2.1/6", "decision 15")
def test_check_that_is_enabled_and_disabled_again_is_told_each_time(reporter: Reporter) -> None:
    reasons = []
    for hour, seen in enumerate([sight(of=INVALID), sight(), sight(of=INVALID), sight()], start=1):
        reasons += [reason for _, reason, _ in reporter.sees(seen, NOW + timedelta(hours=hour))]

    assert reasons == ["Disabled", "Enabled", "Disabled", "Enabled"]


@pytest.mark.rule("NHC 1.5/RemediationSkipped/pause", "decision 15")
def test_pause_is_told_once(reporter: Reporter) -> None:
    paused = [
        (
            NORMAL,
            "RemediationSkipped",
            "[remediation] Postponing potential remediations because of pause requests",
        )
    ]

    assert reporter.sees(sight(of=PAUSED)) == paused
    assert reporter.sees(sight(of=PAUSED)) == []
    reporter.restarts()
    assert reporter.sees(sight(of=PAUSED)) == []


@pytest.mark.rule("decision 15")
def test_next_pause_is_told_again(reporter: Reporter) -> None:
    reporter.sees(sight(of=PAUSED))
    reporter.sees(sight())
    next_pause = PAUSED.model_copy(update={"metadata": PAUSED.metadata.model_copy(update={"generation": 5})})

    assert len(reporter.sees(sight(of=next_pause))) == 1


@pytest.mark.rule("NHC 1.5/RemediationSkipped/threshold", "decision 15")
def test_broken_threshold_is_told_once_with_its_numbers(reporter: Reporter) -> None:
    blocked = sight(expired("node-1"), allowance=BLOCKED)

    assert reporter.sees(blocked) == [(WARNING, "RemediationSkipped", SKIPPED)]
    assert reporter.sees(blocked) == []
    reporter.restarts()
    assert reporter.sees(blocked) == []


@pytest.mark.rule("decision 6")
def test_thousand_held_nodes_are_one_event() -> None:
    reporter = Reporter()
    names = [f"node-{number:04}" for number in range(1000)]
    numbers = Allowance(allowed=False, total=1000, healthy=0, required=510)
    reporter.sees(sight())
    told = [
        note
        for count in (1, 400, 1000)
        for note in reporter.sees(sight(*map(expired, names[:count]), allowance=numbers))
    ]

    assert [reason for _, reason, _ in told] == ["RemediationSkipped"]


@pytest.mark.rule("decision 6")
@pytest.mark.parametrize(
    "held",
    [
        pytest.param({"of": PAUSED}, id="paused"),
        pytest.param({"around": NO_SUCH_KIND}, id="no such kind"),
    ],
)
def test_check_that_holds_all_its_nodes_tells_of_none(reporter: Reporter, held: dict[str, Any]) -> None:
    nodes = [expired(f"node-{number}") for number in range(1000)]

    assert len(reporter.sees(sight(*nodes, **held))) == 1
    reporter.restarts()
    assert reporter.sees(sight(*nodes, **held)) == []


def test_nodes_that_were_held_are_told_when_the_hold_is_lifted(reporter: Reporter) -> None:
    reporter.sees(sight(expired("node-1"), allowance=BLOCKED))

    assert [reason for _, reason, _ in reporter.sees(sight(expired("node-1")))] == ["DetectedUnhealthy"]


def test_timer_that_runs_below_the_threshold_is_not_told(reporter: Reporter) -> None:
    assert reporter.sees(sight(waiting("node-1"), allowance=BLOCKED)) == []


@pytest.mark.rule("decision 15")
@pytest.mark.parametrize("another", ["DiskPressure", "Ready"])
def test_threshold_that_breaks_again_is_told_again(reporter: Reporter, another: str) -> None:
    stays = expired("node-1")
    reporter.sees(sight(stays, expired("node-2"), allowance=BLOCKED))
    reporter.sees(sight(stays))
    later = expired("node-3", since=NOW + timedelta(hours=1))
    assert later.verdict.fact is not None
    fact = later.verdict.fact.model_copy(update={"condition": another})
    breaks = type(later)(later.name, later.uid, type(later.verdict)(later.verdict.health, "", fact), ())

    assert reporter.sees(sight(stays, breaks, allowance=BLOCKED)) == [
        (WARNING, "RemediationSkipped", SKIPPED)
    ]


@pytest.mark.rule("NHC 1.5/DetectedUnhealthy", "decision 15")
def test_unhealthy_node_is_told_once_for_each_time_that_it_fails(reporter: Reporter) -> None:
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

    assert reporter.sees(sight(waiting("node-1"))) == []
    assert reporter.sees(sight(expired("node-1"))) == detected
    assert reporter.sees(sight(expired("node-1"))) == []
    reporter.restarts()
    assert reporter.sees(sight(expired("node-1"))) == []
    assert reporter.sees(sight()) == []
    assert reporter.sees(sight(expired("node-1", since=NOW + timedelta(hours=1)))) == detected


@pytest.mark.rule("NHC 1.5/DetectedUnhealthy", "decision 15")
def test_node_that_is_a_target_again_and_has_not_recovered_is_told_each_time(reporter: Reporter) -> None:
    failed = sight(expired("node-1"))
    told = [reporter.sees(failed)]
    for minutes in (1, 2):
        assert reporter.sees(sight()) == []  # its label goes, and comes back
        told.append(reporter.sees(failed, NOW + timedelta(minutes=minutes)))

    assert told == [told[0]] * 3
    assert len(told[0]) == 1
    reporter.restarts()
    assert reporter.sees(failed, NOW + timedelta(minutes=3)) == []


@pytest.mark.rule("decision 15")
def test_failure_that_nobody_saw_begin_again_is_not_told_again(reporter: Reporter) -> None:
    reporter.sees(sight(expired("node-1")))
    for between in (
        sight(waiting("node-1")),  # longer durations, and back
        sight(expired("node-1"), allowance=BLOCKED),
        sight(of=INVALID),
    ):
        reporter.sees(between)
        told = reporter.sees(sight(expired("node-1")))
        assert "DetectedUnhealthy" not in [reason for _, reason, _ in told]


@pytest.mark.rule("decision 15")
def test_seeds_of_two_checks_never_meet() -> None:
    one = sight(expired("node-1", request_sight()), of=PAUSED)
    other = CheckSight(one.check, "another-uid", one.allowance, one.targets)
    seeds = [{note.seed for note in announcements(None, seen, {}, NOW)} for seen in (one, other)]

    assert not seeds[0] & seeds[1]
