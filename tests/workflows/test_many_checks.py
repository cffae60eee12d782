"""Upgrade pauses of thousands of checks, through a real Temporal server."""

from collections.abc import AsyncIterator

import pytest
from temporalio.testing import WorkflowEnvironment

from detector.upgrade.pause_state import CheckChanges
from health.upgrade.memory import CheckPauseState
from tests.support.story.upgrading import Handle, Upgrading, upgrading_cluster
from workflows.upgrade_contracts import MOST_IN_RESULT
from workflows.upgrade_pause import STATE_PAGE, UpgradePause

MANY, FEW = 2_000, 5
BLOB_WARNING = 256 * 1024


@pytest.fixture
async def upgrading(time_skipping: WorkflowEnvironment) -> AsyncIterator[Upgrading]:
    async with upgrading_cluster(time_skipping) as one:
        yield one


async def largest_payload(upgrading: Upgrading) -> int:
    """The largest payload of an event in any run, in bytes."""
    return max(event.ByteSize() for history in await upgrading.histories() for event in history.events)


async def all_handled(handle: Handle) -> dict[str, CheckPauseState | str]:
    """By uid, page by page, as the command reads them."""
    found: dict[str, CheckPauseState | str] = {}
    state = await handle.query(UpgradePause.state, "")
    while True:
        assert len(state.handled) <= STATE_PAGE
        found |= {row.uid: row.how for row in state.handled}
        if not state.next_after:
            return found
        state = await handle.query(UpgradePause.state, state.next_after)


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/end", "rule 34")
async def test_thousands_of_checks_are_paused_and_unpaused_in_small_payloads(upgrading: Upgrading) -> None:
    for number in range(MANY - len(upgrading.checks)):
        upgrading.create(f"check-{number}")
    unpaused = upgrading.checks["check-7"].uid
    await upgrading.start()
    state = await upgrading.rests()
    assert f"{MANY} of {MANY} checks are paused" in state.details
    assert set(upgrading.annotations().values()) == {"PM"}
    assert upgrading.changes.progress.handled == {check.uid for check in upgrading.checks.values()}
    upgrading.edit("check-7", is_paused=False, is_marked=False)
    await upgrading.wake()
    await upgrading.rests()
    assert await all_handled(upgrading.handle) == {
        check.uid: CheckPauseState.UNPAUSED_BY_OTHERS if check.uid == unpaused else CheckPauseState.PAUSED
        for check in upgrading.checks.values()
    }
    upgrading.end()
    await upgrading.handle.signal(UpgradePause.wake)
    result = await upgrading.result()

    assert set(upgrading.annotations().values()) == {""}
    assert (len(result.checks), result.left_out) == (MOST_IN_RESULT, MANY - MOST_IN_RESULT)
    assert result.checks[0].uid == unpaused
    assert await largest_payload(upgrading) < BLOB_WARNING


@pytest.mark.rule("rule 46")
async def test_checks_above_the_bound_are_held_by_the_upgrade_and_never_annotated(
    upgrading: Upgrading,
) -> None:
    upgrading.changes = CheckChanges(FEW)
    for number in range(FEW):
        upgrading.create(f"check-{number}")
    await upgrading.start()
    state = await upgrading.rests()
    paused = {check.uid for check in upgrading.checks.values() if check.is_paused}

    assert len(paused) == FEW
    # The detector holds the checks that the pause has not handled yet.
    assert upgrading.changes.progress.handled == paused
    assert "2 more are above the bound of 5000: the upgrade itself holds them" in state.details
    upgrading.end()
    await upgrading.handle.signal(UpgradePause.wake)
    await upgrading.result()
    assert set(upgrading.annotations().values()) == {""}
