"""Which checks an upgrade holds, depending on the progress of its pause."""

from datetime import datetime, timedelta

import pytest

from health.cluster.upgrade import PauseProgress, Upgrade, UpgradePhase, upgrade_hold
from health.model.observation import HoldReason
from objects.metadata import ObjectMetadata
from tests.support.values.builders import NOW

UNDER_WAY = Upgrade(phase=UpgradePhase.UNDER_WAY, since=NOW, sign="ClusterVersion/version: Progressing=True")
LATER = NOW + timedelta(hours=1)
HANDLED = PauseProgress(transitions=(NOW,), handled_until=NOW, pending=("failed",))


def check(uid: str = "ours", created: datetime = NOW - timedelta(days=1)) -> ObjectMetadata:
    return ObjectMetadata(name="workers", uid=uid, creation_timestamp=created)


@pytest.mark.rule("rule 46")
def test_check_that_the_pause_has_handled_is_held_by_its_annotation_alone() -> None:
    hold = upgrade_hold(UNDER_WAY)
    assert hold is not None
    assert hold.reason is HoldReason.UPGRADING
    assert hold.message.endswith("Progressing=True")

    assert upgrade_hold(UNDER_WAY, is_handled=True) is None


@pytest.mark.rule("rule 46", "rule 35")
@pytest.mark.parametrize(
    ("one", "transitions", "is_handled"),
    [
        pytest.param(check(), {NOW}, True, id="it was there"),
        pytest.param(check("failed"), {NOW}, False, id="its write failed"),
        pytest.param(check(created=NOW), {NOW}, False, id="it was created later"),
        pytest.param(check(), {LATER}, False, id="the next upgrade"),
        pytest.param(check(), set(), False, id="an upgrade without a time"),
    ],
)
def test_check_is_handled_in_one_upgrade_if_it_was_there(
    one: ObjectMetadata, transitions: set[datetime], *, is_handled: bool
) -> None:
    assert HANDLED.has_handled(one, transitions) is is_handled
    assert not PauseProgress().has_handled(one, transitions)


@pytest.mark.rule("rule 38", "rule 46")
def test_handled_check_stays_handled_while_a_signal_joins_or_another_ends() -> None:
    both = HANDLED.model_copy(update={"transitions": (NOW, LATER)})

    assert HANDLED.has_handled(check(), {NOW, LATER})
    assert both.has_handled(check(), {LATER})
    assert PauseProgress(handled_until=NOW).has_handled(check(), frozenset())


@pytest.mark.rule("rule 36")
@pytest.mark.parametrize("is_handled", [True, False])
def test_unknown_upgrade_state_holds_every_check(*, is_handled: bool) -> None:
    unknown = Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="it cannot be read")
    hold = upgrade_hold(unknown, is_handled=is_handled)

    assert hold is not None
    assert hold.reason is HoldReason.UPGRADE_UNKNOWN
