"""Which checks an upgrade holds, depending on the progress of its pause."""

from datetime import datetime, timedelta

import pytest

from health.cluster.pause_progress import PauseProgress, PauseStage
from health.cluster.upgrade import Upgrade, UpgradePhase, upgrade_hold
from health.model.observation import HoldReason
from tests.support.values.builders import NOW

UNDER_WAY = Upgrade(phase=UpgradePhase.UNDER_WAY, since=NOW, sign="ClusterVersion/version: Progressing=True")
HANDLED = PauseProgress(frozenset({NOW}), frozenset({"ours"}))
LATER = NOW + timedelta(hours=1)


@pytest.mark.rule("rule 46")
def test_check_is_held_by_the_upgrade_until_the_pause_has_come_to_it() -> None:
    stage = PauseProgress().stage_of("ours", UNDER_WAY.transitions)
    hold = upgrade_hold(UNDER_WAY, stage)

    assert stage is PauseStage.AWAITED
    assert hold is not None
    assert hold.reason is HoldReason.UPGRADING
    assert hold.message.endswith("Progressing=True, until the upgrade pause has handled the check")


@pytest.mark.rule("rule 46")
def test_check_that_the_pause_has_come_to_is_held_by_its_annotation_alone() -> None:
    stage = HANDLED.stage_of("ours", UNDER_WAY.transitions)

    assert stage is PauseStage.HANDLED
    assert upgrade_hold(UNDER_WAY, stage) is None


@pytest.mark.rule("rule 46", "rule 35")
@pytest.mark.parametrize(
    ("uid", "transitions"),
    [("another of its name", {NOW}), ("ours", {LATER}), ("ours", set())],
)
def test_handled_check_is_one_object_in_one_upgrade(uid: str, transitions: set[datetime]) -> None:
    assert HANDLED.stage_of(uid, frozenset(transitions)) is PauseStage.AWAITED


@pytest.mark.rule("rule 38", "rule 46")
def test_handled_check_stays_handled_while_a_signal_joins_or_another_ends() -> None:
    both = PauseProgress(frozenset({NOW, LATER}), frozenset({"ours"}))

    assert HANDLED.stage_of("ours", both.transitions) is PauseStage.HANDLED
    assert both.stage_of("ours", frozenset({LATER})) is PauseStage.HANDLED
    assert PauseProgress(handled=both.handled).stage_of("ours", frozenset()) is PauseStage.HANDLED


@pytest.mark.rule("rule 36")
@pytest.mark.parametrize("stage", PauseStage)
def test_unknown_upgrade_state_holds_every_check(stage: PauseStage) -> None:
    hold = upgrade_hold(Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="it cannot be read"), stage)

    assert hold is not None
    assert hold.reason is HoldReason.UPGRADE_UNKNOWN
