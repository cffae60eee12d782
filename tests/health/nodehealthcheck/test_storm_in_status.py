"""A storm in status, conditions and Events of a NodeHealthCheck (NHC 1.3 and NHC 1.5)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from health.check.check_snapshot import CheckSnapshot
from health.check.storm import Storm
from health.kinds.nodehealthcheck.events import events
from health.kinds.nodehealthcheck.status import status_patch, stored_storm, storm_conditions
from objects.event import Severity
from tests.support.values.builders import BLOCKED, INVALID, NOW, check, expired, snapshot
from tests.support.values.held import with_holds

NORMAL, WARNING = Severity.NORMAL, Severity.WARNING
MINUTE = timedelta(minutes=1)
RAGING = Storm(is_active=True, turned=NOW, is_cooling=False, cooldown_turned=NOW)
COOLING = replace(RAGING, is_cooling=True, cooldown_turned=NOW + MINUTE)
OVER = Storm(is_active=False, turned=NOW + 5 * MINUTE, is_cooling=False, cooldown_turned=NOW + 5 * MINUTE)

STARTED = (
    WARNING,
    "StormRecoveryStarted",
    "[remediation] Storm recovery mode activated - delaying remediation until threshold is reached",
)
COOLDOWN_STARTED = (
    WARNING,
    "StormRecoveryCooldownStarted",
    "[remediation] Storm recovery mode will exit after cooldown delay",
)
ENDED = (
    NORMAL,
    "StormRecoveryEnded",
    "[remediation] Storm recovery mode deactivated - normal remediation resumed",
)
SKIPPED = (
    WARNING,
    "RemediationSkipped",
    "[remediation] Storm recovery active: skipping creation of new remediations",
)

in_storm = replace(snapshot(expired(), allowance=BLOCKED), storm=RAGING)
in_cooldown = replace(snapshot(expired()), storm=COOLING)
recovered_in_cooldown = replace(snapshot(), storm=COOLING)
after_storm = replace(snapshot(expired()), storm=OVER)


def twice(seen: CheckSnapshot) -> tuple[CheckSnapshot, CheckSnapshot]:
    return seen, seen


class Reporter:
    """Tells, and then writes status, as the status reporter does."""

    def __init__(self) -> None:
        self.before: CheckSnapshot | None = None
        self.stored: dict[str, Any] = {}
        self.seeds: set[str] = set()

    def sees(self, after: CheckSnapshot, now: datetime = NOW) -> list[tuple[Severity, str, str]]:
        """The Events about the storm that are new."""
        told = events(self.before, after, self.stored, now)
        new = [note for note in told if note.seed not in self.seeds and "torm" in note.message]
        self.seeds |= {note.seed for note in told}
        self.before = after
        self.stored |= status_patch(after, self.stored, now)
        return [(note.severity, note.reason, note.message) for note in new]

    @property
    def conditions(self) -> list[tuple[str, str]]:
        return [(condition["type"], condition["status"]) for condition in self.stored["conditions"]]


@pytest.fixture
def reporter() -> Reporter:
    """A reporter that has seen a check without a hold."""
    made = Reporter()
    made.sees(snapshot())
    return made


@pytest.mark.rule("NHC 2.3/conditions", "NHC 1.3/StormActive", "NHC 1.3/StormCooldownActive")
def test_conditions_of_a_storm_stand_beside_disabled_from_the_first_storm_on(reporter: Reporter) -> None:
    assert reporter.conditions == [("Disabled", "False")]
    for seen, storm, cooldown in (
        (in_storm, "True", "False"),
        (in_cooldown, "True", "True"),
        (after_storm, "False", "False"),
    ):
        reporter.sees(seen)
        assert reporter.conditions == [
            ("Disabled", "False"),
            ("StormActive", storm),
            ("StormCooldownActive", cooldown),
        ]


@pytest.mark.rule("rule 20/removed")
def test_conditions_of_a_storm_go_when_it_is_forgotten_and_nothing_is_reported(reporter: Reporter) -> None:
    reporter.sees(in_cooldown)

    assert reporter.sees(snapshot(expired())) == []
    assert reporter.conditions == [("Disabled", "False")]


def test_check_that_cannot_be_read_keeps_the_conditions_of_its_storm(reporter: Reporter) -> None:
    reporter.sees(in_cooldown)
    unreadable = replace(snapshot(of=INVALID), storm=COOLING)

    assert reporter.sees(unreadable) == []
    assert reporter.conditions == [
        ("Disabled", "True"),
        ("StormActive", "True"),
        ("StormCooldownActive", "True"),
    ]
    assert reporter.sees(in_cooldown) == []


@pytest.mark.rule("rule 6")
def test_storm_that_goes_on_writes_nothing(reporter: Reporter) -> None:
    reporter.sees(in_cooldown)

    assert status_patch(in_cooldown, reporter.stored, NOW + MINUTE) == {}


@pytest.mark.rule(
    "NHC 1.5/StormRecoveryStarted",
    "NHC 1.5/StormRecoveryCooldownStarted",
    "NHC 1.5/StormRecoveryEnded",
    "NHC 1.5/RemediationSkipped/storm",
    "rule 15",
)
@pytest.mark.parametrize("restarting", [False, True], ids=["one process", "a restart before every look"])
def test_each_transition_is_reported_once(reporter: Reporter, restarting: bool) -> None:  # noqa: FBT001  a column of the table
    told = []
    for seen in (
        in_storm,
        in_storm,
        in_cooldown,
        in_cooldown,
        recovered_in_cooldown,
        after_storm,
        after_storm,
    ):
        if restarting:
            reporter.before = None
        told.append(reporter.sees(seen))

    assert told == [[STARTED], [], [COOLDOWN_STARTED, SKIPPED], [], [], [ENDED], []]


def test_storm_that_began_and_cooled_down_between_two_looks_is_reported_completely(
    reporter: Reporter,
) -> None:
    assert reporter.sees(recovered_in_cooldown) == [STARTED, COOLDOWN_STARTED]


@pytest.mark.rule("NHC 2.3/3", "rule 15")
def test_cooldown_that_starts_again_is_reported_again(reporter: Reporter) -> None:
    reporter.sees(in_cooldown)
    reporter.sees(replace(in_storm, storm=replace(COOLING, is_cooling=False)))
    again = replace(COOLING, cooldown_turned=NOW + 3 * MINUTE)

    assert reporter.sees(replace(in_cooldown, storm=again)) == [COOLDOWN_STARTED, SKIPPED]


@pytest.mark.rule("rule 15")
def test_next_storm_is_reported_again(reporter: Reporter) -> None:
    for seen in (in_storm, in_cooldown, after_storm):
        reporter.sees(seen)
    next_storm = replace(OVER, is_active=True, turned=NOW + timedelta(hours=1))

    assert reporter.sees(replace(in_storm, storm=next_storm)) == [STARTED]


def test_storm_and_cooldown_that_gave_way_to_others_between_two_looks_are_reported(
    reporter: Reporter,
) -> None:
    later = NOW + 3 * MINUTE
    reporter.sees(in_storm)
    assert reporter.sees(replace(in_storm, storm=replace(RAGING, turned=later))) == [STARTED]

    reporter.sees(in_cooldown)
    again = replace(COOLING, cooldown_turned=later)
    assert reporter.sees(replace(in_cooldown, storm=again)) == [COOLDOWN_STARTED]


@pytest.mark.rule("NHC 1.5/RemediationSkipped/storm", "rule 6")
def test_thousand_nodes_held_by_a_storm_are_one_event(reporter: Reporter) -> None:
    nodes = [expired(f"node-{number}") for number in range(1000)]
    held = with_holds(snapshot(*nodes, of=check(stormCooldownDuration="4m")), storm=COOLING)
    notes = events(reporter.before, held, reporter.stored, NOW)

    assert [note.reason for note in notes] == [
        "StormRecoveryStarted",
        "StormRecoveryCooldownStarted",
        "RemediationSkipped",
    ]


@pytest.mark.rule("rule 39")
def test_storm_that_the_operator_began_is_not_reported_again() -> None:
    reporter = Reporter()
    reporter.stored = status_patch(in_storm, {}, NOW)

    assert reporter.sees(in_storm) == []
    assert reporter.sees(in_cooldown) == [COOLDOWN_STARTED, SKIPPED]


BEGUN = NOW - timedelta(minutes=20)
STORED_COOLING = Storm(
    is_active=True, turned=BEGUN, is_cooling=True, cooldown_turned=NOW - timedelta(minutes=1)
)
STORED_RAGING = replace(STORED_COOLING, is_cooling=False)
STORED_OVER = replace(STORED_RAGING, is_active=False)

ACTIVATED = (
    "True",
    (
        "Storm mode is activated - preventing any new remediation until the storm is over and cooldown "
        "duration expired"
    ),
)
DEACTIVATED = ("False", "Storm mode is deactivated, remediation can occur normally")


def condition(type_: str, status: str, time: object = "2026-03-01T11:40:00Z") -> dict[str, Any]:
    return {"type": type_, "status": status, "lastTransitionTime": time}


@pytest.mark.rule("NHC 1.3/StormActive", "NHC 1.3/StormCooldownActive")
@pytest.mark.parametrize(
    ("storm", "active", "cooldown"),
    [
        pytest.param(
            STORED_RAGING, ACTIVATED, ("False", "Cooldown cleared - storm threshold triggered"), id="storm"
        ),
        pytest.param(
            STORED_COOLING,
            ACTIVATED,
            ("True", "Storm cooldown delay started - waiting before resuming normal remediation"),
            id="cooldown",
        ),
        pytest.param(STORED_OVER, DEACTIVATED, ("False", "Storm cooldown completed"), id="over"),
    ],
)
def test_conditions_are_those_of_the_operator(
    storm: Storm, active: tuple[str, str], cooldown: tuple[str, str]
) -> None:
    assert storm_conditions(storm) == [
        {
            "type": type_,
            "status": status,
            "reason": "HealthyNodeThresholdChange",
            "message": message,
            "lastTransitionTime": time,
        }
        for type_, (status, message), time in (
            ("StormActive", active, "2026-03-01T11:40:00Z"),
            ("StormCooldownActive", cooldown, "2026-03-01T11:59:00Z"),
        )
    ]


@pytest.mark.rule("NHC 2.3/conditions")
def test_without_a_storm_there_are_no_conditions() -> None:
    assert storm_conditions(None) == []
    assert stored_storm({}, NOW) is None
    assert stored_storm({"conditions": [condition("Disabled", "False")]}, NOW) is None


@pytest.mark.rule("rule 39", "NHC 2.7/restart")
@pytest.mark.parametrize(
    "storm", [STORED_RAGING, STORED_COOLING, STORED_OVER], ids=["storm", "cooldown", "over"]
)
def test_storm_is_taken_over_from_its_conditions_whatever_their_order(storm: Storm) -> None:
    conditions = [*storm_conditions(storm), condition("Disabled", "False")]

    assert stored_storm({"conditions": conditions}, NOW) == storm
    assert stored_storm({"conditions": conditions[::-1]}, NOW) == storm


@pytest.mark.parametrize(
    "time",
    [
        pytest.param("", id="missing"),
        pytest.param("yesterday", id="no time"),
        pytest.param("2026-03-01T11:40:00", id="of no time zone"),
        pytest.param("9999-12-31T23:59:59Z", id="in the future"),
    ],
)
def test_time_that_cannot_be_used_is_now_so_that_the_cooldown_is_not_cut_short(time: str) -> None:
    stored = {
        "conditions": [condition("StormActive", "True"), condition("StormCooldownActive", "True", time)]
    }

    assert stored_storm(stored, NOW) == replace(STORED_COOLING, cooldown_turned=NOW)


def test_cooldown_without_a_storm_holds_no_target() -> None:
    stored = {"conditions": [condition("StormActive", "False"), condition("StormCooldownActive", "True")]}

    assert stored_storm(stored, NOW) == replace(STORED_OVER, cooldown_turned=BEGUN)


def test_storm_without_a_cooldown_condition_has_no_cooldown_yet() -> None:
    stored = {"conditions": [condition("StormActive", "True")]}

    assert stored_storm(stored, NOW) == replace(STORED_RAGING, cooldown_turned=BEGUN)
