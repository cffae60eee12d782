"""One scenario each for upgrade pauses, as in tests/workflows/scenarios.py."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tests.support.story.upgrading import Upgrading
from workflows.upgrade_contracts import PauseOrder, UnpauseOrder
from workflows.upgrade_pause import UpgradePause

UpgradeScenario = Callable[[Upgrading], Awaitable[None]]


async def upgrade_with_orders_and_edits(upgrading: Upgrading) -> None:
    """A write fails, an admin and an order unpause, a check is added, and the upgrade takes long."""
    upgrading.create("theirs", "P")
    upgrading.refused = ("a",)
    await upgrading.start()
    await upgrading.becomes(a="", b="PM", theirs="P")
    upgrading.refused = ()
    await upgrading.wake()
    upgrading.edit("a", "")
    upgrading.create("later")
    await upgrading.wake()
    await upgrading.becomes(a="", b="PM", later="PM", theirs="P")
    await upgrading.handle.execute_update(UpgradePause.unpause, UnpauseOrder(check="machines/b"))
    await upgrading.becomes(a="", b="M", later="PM", theirs="P")
    await upgrading.handle.execute_update(UpgradePause.pause, PauseOrder(check="machines/b", for_seconds=60))
    await upgrading.becomes(a="", b="PM", later="PM", theirs="P")
    upgrading.long_upgrade = timedelta(0)
    await upgrading.wake()
    await upgrading.passes(timedelta(minutes=2))
    await _ends(upgrading)


async def upgrade_cancelled_while_writing(upgrading: Upgrading) -> None:
    upgrading.gate.close()
    await upgrading.start()
    await upgrading.gate.entered.wait()
    await upgrading.handle.cancel()
    upgrading.gate.open()
    await upgrading.becomes(a="M", b="M")
    await upgrading.rests()
    await _ends(upgrading)


async def upgrade_continued_as_new(upgrading: Upgrading) -> None:
    """It continues as new while one check is unpaused by order, and another one by another user."""
    await upgrading.start()
    await upgrading.rests()
    await upgrading.handle.execute_update(UpgradePause.unpause, UnpauseOrder(check="machines/a"))
    await upgrading.becomes(a="M", b="PM")
    upgrading.edit("b", "")
    while len(await upgrading.histories()) == 1:
        await upgrading.wake()
    upgrading.create("later")
    await upgrading.wake()
    await upgrading.becomes(a="M", b="", later="PM")
    await _ends(upgrading)


async def _ends(upgrading: Upgrading) -> None:
    upgrading.end()
    await upgrading.handle.signal(UpgradePause.wake)
    await upgrading.result()


UPGRADE_SCENARIOS: dict[str, UpgradeScenario] = {
    "upgrade-with-orders-and-edits": upgrade_with_orders_and_edits,
    "upgrade-cancelled-while-writing": upgrade_cancelled_while_writing,
}
LONG_UPGRADE_SCENARIOS: dict[str, UpgradeScenario] = {"upgrade-continued-as-new": upgrade_continued_as_new}
