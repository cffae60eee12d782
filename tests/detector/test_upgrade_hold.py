"""Observations of a Machine's incident during an upgrade, with a paused or an unpaused check."""

from datetime import timedelta

import pytest

from detector.answers.judged_target import check_holds
from health.check.annotated_hold import PAUSED
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import PauseProgress, Upgrade, UpgradePhase
from health.model.observation import HoldReason, TargetState
from health.policy.policy_in_force import SHADOW
from tests.support.state.small_cluster import CHECK as NODES
from tests.support.state.small_cluster import SmallCluster
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import NOW

OF_UPGRADES = (HoldReason.UPGRADING, HoldReason.UPGRADE_UNKNOWN)
MARK = "machine.openshift.io/paused-for-upgrade"
OURS, UNPAUSED_BY_HAND = {PAUSED: "", MARK: ""}, {MARK: ""}
UNDER_WAY = Upgrade(phase=UpgradePhase.UNDER_WAY, since=NOW, sign="ClusterVersion/version: Progressing=True")
UNKNOWN = Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="there is no ClusterVersion")


HANDLED = PauseProgress(transitions=(NOW,), handled_until=NOW)


@pytest.fixture
def world() -> SmallMachines:
    """A Machine whose Node has been silent for an hour."""
    made = SmallMachines()
    made.check()
    made.node("m", ready="Unknown")
    made.machine("m", node="m")
    return made


def context(world: SmallMachines, upgrade: Upgrade, progress: PauseProgress | None) -> None:
    world.cluster_state.take_context(ClusterContext(upgrade=upgrade, upgrade_pause=progress))


def held(world: SmallMachines) -> str | None:
    hold = world.observe("m").hold
    return None if hold is None else hold.reason


@pytest.mark.rule("rule 46")
@pytest.mark.parametrize(
    ("annotations", "is_handled", "reason"),
    [
        pytest.param({}, False, HoldReason.UPGRADING, id="the first pass has not run yet"),
        pytest.param(UNPAUSED_BY_HAND, False, HoldReason.UPGRADING, id="the detector has just started"),
        pytest.param(OURS, False, HoldReason.PAUSED, id="paused, and not told so yet"),
        pytest.param(OURS, True, HoldReason.PAUSED, id="paused"),
        pytest.param({PAUSED: ""}, True, HoldReason.PAUSED, id="paused by somebody else"),
        pytest.param(UNPAUSED_BY_HAND, True, None, id="unpaused by an administrator"),
        pytest.param({}, True, None, id="both annotations removed by an administrator"),
    ],
)
def test_check_is_held_by_the_upgrade_until_it_is_handled_and_then_by_its_annotation_alone(
    world: SmallMachines, annotations: dict[str, str], reason: HoldReason | None, *, is_handled: bool
) -> None:
    world.check(annotations=annotations)
    context(world, UNDER_WAY, HANDLED if is_handled else PauseProgress())

    assert held(world) is reason


@pytest.mark.rule("rule 46")
def test_check_that_is_unpaused_in_mid_upgrade_learns_it_and_works_at_once(world: SmallMachines) -> None:
    context(world, UNDER_WAY, HANDLED)
    world.check(annotations=OURS)
    assert held(world) is HoldReason.PAUSED
    world.notified.clear()
    world.check(annotations=UNPAUSED_BY_HAND)

    assert "m" in world.notified
    assert world.observe("m").may_be_admitted


@pytest.mark.rule("rule 46", "rule 6")
def test_incidents_are_woken_when_the_pause_has_come_to_their_check(world: SmallMachines) -> None:
    context(world, UNDER_WAY, PauseProgress())
    world.notified.clear()
    context(world, UNDER_WAY, HANDLED)

    assert "m" in world.notified


@pytest.mark.rule("rule 38")
def test_without_an_upgrade_pause_the_upgrade_holds_checks_as_it_holds_others(world: SmallMachines) -> None:
    context(world, UNDER_WAY, None)

    assert held(world) is HoldReason.UPGRADING


@pytest.mark.rule("rule 36")
@pytest.mark.parametrize("is_paused_for_upgrades", [True, False])
def test_unknown_upgrade_state_holds_every_check(
    world: SmallMachines, *, is_paused_for_upgrades: bool
) -> None:
    context(world, UNKNOWN, HANDLED if is_paused_for_upgrades else None)

    assert held(world) is HoldReason.UPGRADE_UNKNOWN


@pytest.mark.rule("rule 43", "rule 46")
def test_check_in_shadow_is_held_by_the_upgrade_as_it_is_never_paused(world: SmallMachines) -> None:
    world.check(annotations={SHADOW: "true"})
    context(world, UNDER_WAY, HANDLED)

    assert held(world) is HoldReason.UPGRADING


@pytest.mark.rule("rule 46")
def test_status_of_a_check_that_is_about_to_be_paused_is_left_alone_as_once_it_is(
    world: SmallMachines,
) -> None:
    (check,) = world.cluster_state.checks
    for progress, is_frozen in ((PauseProgress(), True), (HANDLED, False), (None, False)):
        context(world, UNDER_WAY, progress)
        assert check_holds(world.cluster_state, check, NOW).is_fully_paused is is_frozen
    context(world, Upgrade(phase=UpgradePhase.OVER, since=NOW), PauseProgress())

    assert not check_holds(world.cluster_state, check, NOW).is_fully_paused


@pytest.mark.rule("rule 37", "MHC C.2/clocks")
def test_at_the_end_clocks_restart_also_of_a_check_that_was_paused(world: SmallMachines) -> None:
    context(world, UNDER_WAY, HANDLED)
    world.now = NOW + timedelta(hours=1)
    context(world, Upgrade(phase=UpgradePhase.OVER, since=world.now), HANDLED)

    seen = world.observe("m")
    assert (seen.state, round(seen.remaining_seconds)) == (TargetState.WAITING, 300)
    world.now += timedelta(minutes=6)
    assert world.observe("m").may_be_admitted


@pytest.mark.rule("rule 38", "NHC 2.1/10")
def test_node_health_check_is_held_by_the_upgrade_whatever_was_handled() -> None:
    world = SmallCluster()
    world.check()
    world.cluster_state.take_context(ClusterContext(upgrade=UNDER_WAY, upgrade_pause=HANDLED))

    assert held_of(world) is HoldReason.UPGRADING


def held_of(world: SmallCluster) -> str | None:
    found = check_holds(world.cluster_state, NODES, NOW).found
    return next((check.hold.reason for check in found if check.hold.reason in OF_UPGRADES), None)


@pytest.mark.rule("rule 55")
@pytest.mark.parametrize(("seconds", "is_left_alone"), [(0, True), (59, True), (60, False)])
def test_status_of_a_check_that_awaits_its_pause_is_left_alone_for_a_minute(
    world: SmallMachines, seconds: int, *, is_left_alone: bool
) -> None:
    context(world, UNDER_WAY, PauseProgress())
    holds = check_holds(world.cluster_state, world.named(), NOW + timedelta(seconds=seconds))
    assert holds.is_fully_paused is is_left_alone
    assert holds.reported_at == (NOW + timedelta(minutes=1) if is_left_alone else None)
    assert holds.first is not None
    assert holds.first.reason is HoldReason.UPGRADING
