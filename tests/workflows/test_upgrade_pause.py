"""An upgrade pause on a real Temporal server; afterwards its history is replayed, as after a restart."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import (
    WithStartWorkflowOperation,
    WorkflowHistory,
    WorkflowUpdateFailedError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from health.cluster.upgrade import UpgradePhase
from health.upgrade.decision import CheckPauseState, PauseRefusal
from health.upgrade.memory import MOST_NAMES
from health.upgrade.pausable_check import PauseAction
from objects.short_text import LONGEST_LINE
from tests.support.api.eventually import eventually
from tests.support.story.runs import summaries_of
from tests.support.story.upgrading import Loss, Upgrading, states, upgrading_cluster
from workflows.contracts import worker_queue
from workflows.upgrade_contracts import WAKE_UPGRADE_PAUSE, PauseOrder, UnpauseOrder, UpgradePauseInput
from workflows.upgrade_pause import UpgradePause

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
EDITS, MANY = 40, 2_000
BLOB_WARNING = 256 * 1024
NOT_TO_BE_UNPAUSED = {"none": PauseRefusal.UNKNOWN_CHECK, "theirs": PauseRefusal.NOT_OURS}
PAUSE, UNPAUSE, UNPAUSE_MARKED = PauseAction.PAUSE, PauseAction.UNPAUSE, PauseAction.UNPAUSE_MARKED
PAUSED, UNPAUSED, FOUND_PAUSED = (
    CheckPauseState.PAUSED,
    CheckPauseState.UNPAUSED,
    CheckPauseState.FOUND_PAUSED,
)


@pytest.fixture
async def upgrading(time_skipping: WorkflowEnvironment) -> AsyncIterator[Upgrading]:
    """An upgrade that has begun, with a detector and a worker of its cluster."""
    async with upgrading_cluster(time_skipping) as one:
        yield one
    await replay(await one.handle.fetch_history())


async def replay(*histories: WorkflowHistory) -> None:
    replayer = Replayer(
        workflows=[UpgradePause],
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=pydantic_data_converter,
    )
    for history in histories:
        await replayer.replay_workflow(history)
        assert [one for one in summaries_of(history) if not 0 < len(one) <= LONGEST_LINE] == []


async def ends(upgrading: Upgrading) -> None:
    upgrading.end()
    await upgrading.handle.signal(UpgradePause.wake)


async def begun_by(upgrading: Upgrading, order: PauseOrder) -> str:
    """The result of an update that starts a pause with this order."""
    beginning = WithStartWorkflowOperation(
        UpgradePause.run,
        UpgradePauseInput(cluster=upgrading.cluster),
        id=upgrading.handle.id,
        task_queue=worker_queue(upgrading.cluster),
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )
    return await upgrading.client.execute_update_with_start_workflow(
        UpgradePause.pause, order, start_workflow_operation=beginning
    )


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/found paused", "MHC C.2/end", "rule 38", "rule 46")
async def test_upgrade_pauses_each_check_once_and_unpauses_its_own(upgrading: Upgrading) -> None:
    upgrading.create("theirs", "P")
    since = upgrading.since
    await upgrading.start()
    await upgrading.becomes(a="PM", b="PM", theirs="P")
    assert upgrading.questions[0].progress.handled_until is None
    await upgrading.rests()
    upgrading.also_since = (second,) = (since + HOUR,)
    await upgrading.handle.signal(WAKE_UPGRADE_PAUSE, args=[{}, 2])  # values do no harm
    await eventually(lambda: len(upgrading.syncs) > 1)
    await upgrading.wake()
    # The detector learns of the handled checks after they were paused, and of both signals.
    progress = upgrading.questions[-1].progress
    assert progress.transitions == (since, second)
    assert progress.handled_until is not None
    assert upgrading.questions[-1].paused == 2
    await ends(upgrading)
    result = await upgrading.result()

    assert upgrading.annotations() == {"a": "", "b": "", "theirs": "P"}
    assert (upgrading.done("a"), upgrading.done("theirs")) == ([PAUSE, UNPAUSE], [])
    assert states(result) == {"a": UNPAUSED, "b": UNPAUSED, "theirs": FOUND_PAUSED}
    assert result.memory.upgrade is not None
    assert result.memory.upgrade.since == since
    assert all(sync.seen_at is not None for sync in upgrading.syncs)


@pytest.mark.rule("rule 6")
async def test_quiet_upgrade_is_synced_once_a_minute_and_writes_nothing(upgrading: Upgrading) -> None:
    await upgrading.start()
    await upgrading.rests()
    await upgrading.passes(2 * MINUTE)
    await upgrading.rests()
    syncs, patches = len(upgrading.syncs), len(upgrading.api.patches)
    await upgrading.passes(10 * MINUTE)
    await upgrading.rests()

    assert len(upgrading.syncs) - syncs in {9, 10, 11}
    assert len(upgrading.api.patches) == patches == 2


@pytest.mark.rule("rule 36/annotations", "MHC C.2/unknown")
async def test_unknown_state_changes_nothing_until_it_is_known(upgrading: Upgrading) -> None:
    await upgrading.start()
    await upgrading.rests()
    upgrading.phase = UpgradePhase.UNKNOWN
    upgrading.edit("a", "")
    questions, syncs = len(upgrading.questions), len(upgrading.syncs)
    await upgrading.handle.signal(UpgradePause.wake)
    await eventually(lambda: len(upgrading.questions) > questions)
    state = await upgrading.rests()
    assert state.details.startswith("changes nothing: it is unknown whether the cluster is being upgraded")
    assert len(upgrading.syncs) == syncs
    upgrading.phase = UpgradePhase.OVER
    await upgrading.handle.signal(UpgradePause.wake)
    await upgrading.result()

    assert upgrading.annotations() == {"a": "", "b": ""}


@pytest.mark.rule("rule 47", "MHC C.2/restart")
@pytest.mark.parametrize("loss", [Loss(before=2), Loss(answers=2), Loss(before=1, answers=1)])
async def test_sync_of_a_lost_worker_is_done_again_and_pauses_no_check_twice(
    upgrading: Upgrading, loss: Loss
) -> None:
    upgrading.loss = loss
    await upgrading.start()
    await eventually(lambda: upgrading.syncs)
    assert "the checks cannot be synced: " in (await upgrading.rests()).details
    await upgrading.passes(10 * MINUTE)
    assert states(await upgrading.rests()) == {"a": PAUSED, "b": PAUSED}
    upgrading.loss = Loss(answers=1)
    await ends(upgrading)
    await upgrading.becomes(a="", b="")
    await upgrading.rests()
    # A lost worker may still write: the pause looks again once it cannot.
    await upgrading.passes(2 * MINUTE)
    await upgrading.result()

    assert upgrading.done("a") == upgrading.done("b") == [PAUSE, UNPAUSE]


@pytest.mark.rule("rule 47")
async def test_refused_write_is_reported_and_tried_again_and_stops_no_other(upgrading: Upgrading) -> None:
    upgrading.refused = ("a",)
    await upgrading.start()
    await upgrading.becomes(a="", b="PM")
    state = await upgrading.rests()
    assert states(state) == {"a": CheckPauseState.AWAITED, "b": PAUSED}
    assert state.details.endswith(
        "1 of 1 checks are paused by it, 0 were unpaused; 1 could not be written: "
        "MachineHealthCheck/machines/a: the server is away"
    )
    upgrading.refused = ()
    await upgrading.wake()
    assert upgrading.annotations() == {"a": "PM", "b": "PM"}
    upgrading.refused = ("b",)
    await ends(upgrading)
    await upgrading.becomes(a="", b="PM")
    upgrading.refused = ()
    await upgrading.rests()
    await upgrading.passes(5 * MINUTE)
    await upgrading.result()

    assert upgrading.annotations() == {"a": "", "b": ""}


@pytest.mark.rule("MHC C.2/stuck")
async def test_long_upgrade_is_reported_once(upgrading: Upgrading) -> None:
    upgrading.long_upgrade = 5 * MINUTE
    await upgrading.start()
    await upgrading.rests()
    await upgrading.passes(3 * MINUTE)
    await upgrading.rests()
    assert upgrading.warnings == []
    await upgrading.passes(10 * MINUTE)
    state = await upgrading.rests()

    (warning,) = upgrading.warnings
    assert "takes longer than 5m" in warning
    assert "takes long" in state.details
    assert state.memory.warned_at is not None


async def test_people_unpause_and_pause_but_not_what_could_never_be_carried_out(upgrading: Upgrading) -> None:
    upgrading.create("theirs", "P")
    await upgrading.start()
    await upgrading.rests()
    for name, type_ in NOT_TO_BE_UNPAUSED.items():
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await upgrading.handle.execute_update(
                UpgradePause.unpause, UnpauseOrder(check=f"machines/{name}")
            )
        assert getattr(refused.value.cause, "type", None) == type_
    order = UnpauseOrder(check="a", reason="it is broken", identity="ann")
    answer = await upgrading.handle.execute_update(UpgradePause.unpause, order)
    assert answer == "unpauses MachineHealthCheck/machines/a until the upgrade is over: it is broken"
    assert upgrading.annotations() == {"a": "M", "b": "PM", "theirs": "P"}
    await upgrading.handle.execute_update(UpgradePause.pause, PauseOrder(check="machines/a"))
    assert upgrading.annotations() == {"a": "PM", "b": "PM", "theirs": "P"}
    await ends(upgrading)
    result = await upgrading.result()

    assert [(record.order, record.identity) for record in result.memory.orders] == [
        ("unpause", "ann"),
        ("pause", ""),
    ]
    assert upgrading.annotations() == {"a": "", "b": "", "theirs": "P"}


async def test_order_that_is_sent_again_is_carried_out_once_and_answered_as_before(
    upgrading: Upgrading,
) -> None:
    await upgrading.start()
    await upgrading.rests()
    order = UnpauseOrder(check="a", order_id="sent")
    answer = await upgrading.handle.execute_update(UpgradePause.unpause, order)
    upgrading.edit("a", "PM")
    await upgrading.wake()
    assert await upgrading.handle.execute_update(UpgradePause.unpause, order) == answer
    await upgrading.wake()
    assert upgrading.annotations() == {"a": "PM", "b": "PM"}
    await ends(upgrading)

    assert [record.order_id for record in (await upgrading.result()).memory.orders] == ["sent"]


async def test_order_that_no_sync_carries_out_in_time_stands_and_its_answer_says_so(
    upgrading: Upgrading,
) -> None:
    await upgrading.start()
    await upgrading.rests()
    upgrading.gate.close()
    unpausing = asyncio.create_task(
        upgrading.handle.execute_update(UpgradePause.unpause, UnpauseOrder(check="a"))
    )
    answer = await unpausing
    assert answer.endswith("; it is not carried out yet, see `paramedic upgrade`")
    upgrading.gate.open()

    await upgrading.becomes(a="M", b="PM")


async def test_person_pauses_a_check_for_a_time_while_no_upgrade_is_under_way(upgrading: Upgrading) -> None:
    upgrading.end()
    answer = await begun_by(upgrading, PauseOrder(check="a", reason="it reboots", for_seconds=300))
    assert answer == "pauses MachineHealthCheck/machines/a: it reboots"
    assert upgrading.annotations() == {"a": "PM", "b": ""}
    await upgrading.rests()
    await upgrading.passes(5 * MINUTE)
    result = await upgrading.result()

    assert upgrading.annotations() == {"a": "", "b": ""}
    assert [order.check for order in result.memory.orders] == ["MachineHealthCheck/machines/a"]


async def test_order_that_begins_a_pause_in_vain_is_refused_and_the_pause_ends(upgrading: Upgrading) -> None:
    upgrading.end()
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await begun_by(upgrading, PauseOrder(check="a"))
    result = await upgrading.result()

    assert getattr(refused.value.cause, "type", None) == PauseRefusal.NO_UPGRADE
    assert upgrading.api.patches == []
    assert "no upgrade is under way" in result.reason


async def test_pause_that_is_turned_off_takes_no_order_and_ends(upgrading: Upgrading) -> None:
    await upgrading.start()
    await upgrading.rests()
    upgrading.is_turned_off = True
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await upgrading.handle.execute_update(UpgradePause.pause, PauseOrder(check="a"))
    result = await upgrading.result()

    assert getattr(refused.value.cause, "type", None) == PauseRefusal.OFF
    assert result.reason.startswith("PARAMEDIC_UPGRADE_PAUSE is off: ")
    assert upgrading.annotations() == {"a": "", "b": ""}


async def test_cancel_unpauses_and_pauses_nothing_more_in_this_upgrade(upgrading: Upgrading) -> None:
    await upgrading.start()
    await upgrading.rests()
    await upgrading.handle.cancel()
    await upgrading.becomes(a="M", b="M")
    upgrading.create("new")
    await upgrading.wake()
    assert upgrading.annotations() == {"a": "M", "b": "M", "new": ""}
    await ends(upgrading)
    await upgrading.result()

    assert set(upgrading.annotations().values()) == {""}


async def test_cancel_while_it_writes_loses_nothing(upgrading: Upgrading) -> None:
    upgrading.gate.close()
    await upgrading.start()
    await upgrading.gate.entered.wait()
    await upgrading.handle.cancel()
    upgrading.gate.open()

    await upgrading.becomes(a="M", b="M")


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/end", "rule 34")
async def test_thousands_of_checks_are_paused_and_unpaused_in_small_payloads(upgrading: Upgrading) -> None:
    for number in range(MANY - len(upgrading.api.checks)):
        upgrading.create(f"check-{number}")
    await upgrading.start()
    await upgrading.becomes(**dict.fromkeys(upgrading.api.checks, "PM"))
    upgrading.edit("check-7", "")
    await upgrading.wake()
    state = await upgrading.rests()
    assert f"{MANY - 1} of {MANY} checks are paused by it, 1 were unpaused" in state.details
    assert (len(states(state)), states(state)["check-7"]) == (
        MOST_NAMES,
        CheckPauseState.UNPAUSED_BY_OTHERS,
    )
    await ends(upgrading)
    await upgrading.result()

    assert set(upgrading.annotations().values()) == {""}
    events = [event for history in await upgrading.histories() for event in history.events]
    assert max(event.ByteSize() for event in events) < BLOB_WARNING


@pytest.mark.rule("rule 34")
async def test_history_stays_small_over_many_edits_and_the_memory_lives_on(
    short_histories: WorkflowEnvironment,
) -> None:
    upgrading = Upgrading(short_histories)
    async with upgrading.detector(), upgrading.worker(max_cached_workflows=1):
        first = await upgrading.start()
        await upgrading.rests()
        order = UnpauseOrder(check="machines/a", reason="it is broken", identity="ann")
        await upgrading.handle.execute_update(UpgradePause.unpause, order)
        upgrading.edit("a", "")
        for edit in range(EDITS):
            upgrading.edit("b", "PM" if edit % 2 else "M")
            await upgrading.wake()
        state = await upgrading.rests()
        described = await upgrading.handle.describe()

        assert described.run_id != first.first_execution_run_id
        assert described.history_length < 150
        assert [(one.reason, one.identity) for one in state.memory.orders] == [("it is broken", "ann")]
        assert upgrading.done("a") == [PAUSE, UNPAUSE_MARKED]
        assert upgrading.done("b") == [PAUSE]
        await ends(upgrading)
        await upgrading.result()
        await replay(*await upgrading.histories())

    assert upgrading.annotations() == {"a": "", "b": ""}


async def test_sender_of_a_malformed_order_reads_which_field_and_value_are_wrong(
    short_histories: WorkflowEnvironment,
) -> None:
    upgrading = Upgrading(short_histories)
    words = []
    async with upgrading.detector(), upgrading.worker():
        await upgrading.start()
        for name, value in (("pause", {"for_seconds": -1}), ("unpause", "now"), ("unpause", {"chek": "a"})):
            with pytest.raises(WorkflowUpdateFailedError) as refused:
                await upgrading.handle.execute_update(name, value)
            assert isinstance(refused.value.cause, ApplicationError)
            words.append(refused.value.cause.message)
        await upgrading.handle.terminate()
    assert words == [
        "for_seconds: must be more than 0 (found -1)",
        "must be a mapping (found 'now')",
        "it has no field 'chek'; the fields are check, identity, reason",
    ]


async def test_pause_survives_a_worker_and_a_detector_that_are_away(
    time_skipping: WorkflowEnvironment,
) -> None:
    upgrading = Upgrading(time_skipping)
    async with upgrading.detector(), upgrading.worker():
        await upgrading.start()
        await upgrading.rests()
    upgrading.edit("a", "")
    await ends(upgrading)
    async with upgrading.worker():
        await upgrading.asks()
    async with upgrading.worker(), upgrading.detector():
        await upgrading.result()

    assert upgrading.done("a") == [PAUSE]
    assert upgrading.done("b") == [PAUSE, UNPAUSE]
