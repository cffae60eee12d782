"""When there should be an upgrade pause, and when an open one is to know of what is seen."""

from datetime import timedelta
from typing import Any

import pytest

from health.cluster.upgrade import UpgradePhase
from health.model.references import CheckReference
from health.upgrade.observation import UpgradeObservation, has_appeared, is_wanted, needs_wake_up
from health.upgrade.pausable_check import PausableCheck
from tests.support.values.builders import NOW

WORKERS = CheckReference(kind="MachineHealthCheck", namespace="machines", name="workers")


def check(**says: Any) -> PausableCheck:
    return PausableCheck(reference=WORKERS, **{"uid": "u", "resource_version": "1", **says})


def seen(phase: UpgradePhase, *checks: PausableCheck, **says: Any) -> UpgradeObservation:
    return UpgradeObservation(phase=phase, **{"since": NOW, "checks": checks, **says})


LATER = NOW + timedelta(hours=1)
MARKED = check(is_marked=True)
OURS = check(is_marked=True, is_paused=True)
ANOTHERS = check(is_paused=True)
UNDER_WAY, OVER = seen(UpgradePhase.UNDER_WAY, OURS), seen(UpgradePhase.OVER, OURS)


@pytest.mark.rule("rule 34", "rule 36")
@pytest.mark.parametrize(
    ("observed", "wanted"),
    [
        pytest.param(seen(UpgradePhase.UNDER_WAY), True, id="an upgrade goes on, without a check yet"),
        pytest.param(seen(UpgradePhase.UNDER_WAY, unread="too old"), True, id="it asks, and changes nothing"),
        pytest.param(seen(UpgradePhase.OVER, OURS), True, id="ours was left behind"),
        pytest.param(seen(UpgradePhase.OVER, MARKED), True, id="a mark was left behind"),
        pytest.param(seen(UpgradePhase.NEVER, OURS), True, id="left, and nothing tells of upgrades any more"),
        pytest.param(seen(UpgradePhase.OVER, check(is_marked=True, is_going=True)), False, id="deleted"),
        pytest.param(seen(UpgradePhase.OVER, ANOTHERS, check()), False, id="paused by somebody else"),
        pytest.param(seen(UpgradePhase.NEVER), False, id="nothing"),
        pytest.param(seen(UpgradePhase.UNKNOWN, OURS), False, id="nobody knows"),
        pytest.param(seen(UpgradePhase.UNDER_WAY, OURS, is_turned_off=True), False, id="turned off"),
        pytest.param(seen(UpgradePhase.OVER, OURS, is_turned_off=True), False, id="left, and turned off"),
    ],
)
def test_it_is_wanted_in_an_upgrade_and_for_what_one_left(
    observed: UpgradeObservation, *, wanted: bool
) -> None:
    assert is_wanted(observed) is wanted


@pytest.mark.parametrize(
    "news",
    [
        pytest.param(OVER, id="the upgrade ended"),
        pytest.param(seen(UpgradePhase.UNDER_WAY, OURS, since=LATER), id="another began"),
        pytest.param(seen(UpgradePhase.UNDER_WAY, OURS, also_since=(LATER,)), id="a signal joined"),
        pytest.param(seen(UpgradePhase.UNDER_WAY, MARKED), id="unpaused"),
        pytest.param(seen(UpgradePhase.UNDER_WAY, OURS, check(uid="v")), id="a check came"),
        pytest.param(seen(UpgradePhase.UNDER_WAY), id="a check went"),
        pytest.param(seen(UpgradePhase.UNDER_WAY, OURS, unread="too old"), id="nothing may be changed"),
    ],
)
def test_it_is_woken_when_the_upgrade_or_a_pause_is_another(news: UpgradeObservation) -> None:
    assert needs_wake_up(UNDER_WAY, news)


def test_pause_is_woken_when_the_reason_of_an_unknown_state_changes_so_that_users_read_the_current_one() -> (
    None
):
    silent = seen(UpgradePhase.UNKNOWN, OURS, why_unknown="ClusterVersion/version does not say")
    deleted = seen(UpgradePhase.UNKNOWN, OURS, why_unknown="there is no ClusterVersion")
    assert needs_wake_up(silent, deleted)
    assert not needs_wake_up(deleted, deleted)


@pytest.mark.rule("rule 6")
def test_it_is_not_woken_by_other_edits_of_checks_nor_as_time_goes_by() -> None:
    edited = check(is_marked=True, is_paused=True, resource_version="2")

    assert not needs_wake_up(
        UNDER_WAY, seen(UpgradePhase.UNDER_WAY, edited, seen_at=NOW + timedelta(hours=1))
    )
    assert not needs_wake_up(
        seen(UpgradePhase.UNDER_WAY, unread="read 31 s ago"),
        seen(UpgradePhase.UNDER_WAY, unread="read 32 s ago"),
    )


@pytest.mark.rule("rule 35")
def test_another_upgrade_and_another_mark_are_what_an_ended_one_did_not_know() -> None:
    assert has_appeared(OVER, seen(UpgradePhase.UNDER_WAY, since=LATER))
    assert has_appeared(UNDER_WAY, seen(UpgradePhase.UNDER_WAY, OURS, since=LATER))
    assert has_appeared(seen(UpgradePhase.OVER), OVER)
    assert not has_appeared(UNDER_WAY, seen(UpgradePhase.UNDER_WAY, MARKED, check(uid="v")))
    assert not has_appeared(OVER, seen(UpgradePhase.OVER))
