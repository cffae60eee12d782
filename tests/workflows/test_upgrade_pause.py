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

from health.upgrade.memory import CheckPauseState, PauseMemory
from health.upgrade.orders import OrderName
from health.upgrade.packed_memory import packed
from health.upgrade.pausable_check import PauseAction
from objects.brief import LONGEST_LINE
from tests.support.api.eventually import eventually
from tests.support.story.runs import summaries_of
from tests.support.story.upgrading import Upgrading, upgrading_cluster
from workflows.contracts import worker_queue
from workflows.upgrade_contracts import (
    WAKE_UPGRADE_PAUSE,
    ForgetOrder,
    PauseOrder,
    UnpauseOrder,
    UpgradePauseInput,
)
from workflows.upgrade_orders import NO_UPGRADE, NOT_OURS, UNKNOWN_CHECK
from workflows.upgrade_pause import MEMORY_UNREADABLE, UpgradePause

SPOILT = "bm8gbWVtb3J5"
"""Base64 of what no run has packed."""
HOUR = timedelta(hours=1)
TWELVE_HOURS, EDITS, EDITS_AT_ONCE = 12 * HOUR, 40, 10
NOT_TO_BE_UNPAUSED = {"none": UNKNOWN_CHECK, "theirs": NOT_OURS}
PAUSE, UNPAUSE, UNPAUSE_MARKED = PauseAction.PAUSE, PauseAction.UNPAUSE, PauseAction.UNPAUSE_MARKED
SETTLE = PauseAction.SETTLE


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


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/found paused", "MHC C.2/end", "rule 38", "rule 46")
async def test_upgrade_pauses_each_check_once_and_unpauses_its_own(upgrading: Upgrading) -> None:
    upgrading.create("theirs", is_paused=True)
    since = upgrading.since
    await upgrading.start()
    await upgrading.becomes(a="PM", b="PM", theirs="P")
    await upgrading.rests()
    # The detector learns of a check after it has seen its pause.
    assert upgrading.questions[0].handled == ()
    assert upgrading.changes.progress.handled == {check.uid for check in upgrading.checks.values()}
    assert list(upgrading.questions[-1].transitions) == [since]
    upgrading.also_since = (second,) = (since + HOUR,)
    await upgrading.handle.signal(WAKE_UPGRADE_PAUSE, args=[{}, 2])  # values do no harm
    await upgrading.rests()
    # The pause knows the handled checks of both signals, so the second one holds nothing.
    assert list(upgrading.questions[-1].transitions) == [since, second]
    await ends(upgrading)
    result = await upgrading.result()

    assert upgrading.annotations() == {"a": "", "b": "", "theirs": "P"}
    assert upgrading.done("a") == [PAUSE, UNPAUSE]
    assert upgrading.done("theirs") == []
    how = {check.reference.name: check for check in result.checks}
    assert {name: one.how for name, one in how.items()} == {
        "a": CheckPauseState.UNPAUSED,
        "b": CheckPauseState.UNPAUSED,
        "theirs": CheckPauseState.FOUND_PAUSED,
    }
    assert how["a"].paused_at is not None
    assert how["a"].unpaused_at is not None
    assert result.upgrading_since == since


@pytest.mark.rule("rule 47", "MHC C.2/restart")
async def test_failed_write_is_retried_and_not_reported_as_done_and_a_write_of_a_lost_worker_is_found(
    upgrading: Upgrading,
) -> None:
    upgrading.refusing = 2
    await upgrading.start()
    state = await upgrading.rests()
    assert state.handled == ()
    assert len(state.failed) == len(upgrading.checks)
    assert {write.why for write in state.failed} == {"the server is away"}
    assert "\n" not in state.details
    upgrading.losing = 1
    while len(state.handled) < len(upgrading.checks):
        await upgrading.environment.fast_forward(upgrading.handle, timedelta(seconds=3))
        state = await upgrading.rests()

    assert upgrading.annotations() == {"a": "PM", "b": "PM"}
    assert {row.how for row in state.handled} == {CheckPauseState.PAUSED}
    await ends(upgrading)
    await upgrading.result()
    assert upgrading.annotations() == {"a": "", "b": ""}


@pytest.mark.rule("rule 34", "rule 35", "rule 47")
async def test_unpause_that_a_frozen_worker_writes_in_the_next_upgrade_is_refused(
    upgrading: Upgrading,
) -> None:
    await upgrading.start()
    await upgrading.rests()
    upgrading.freezing = 1
    await ends(upgrading)
    await eventually(lambda: upgrading.frozen)
    upgrading.begin_again()
    await upgrading.wake()
    assert (await upgrading.rests()).handled == ()
    await upgrading.passes(timedelta(seconds=3))
    state = await upgrading.rests()
    assert {row.how for row in state.handled} == {CheckPauseState.PAUSED}
    upgrading.thaw()
    await upgrading.wake()
    state = await upgrading.rests()

    assert upgrading.annotations() == {"a": "PM", "b": "PM"}
    assert {row.how for row in state.handled} == {CheckPauseState.PAUSED}
    assert upgrading.done("a") == [PAUSE, SETTLE, UNPAUSE]
    assert all(write.seen_at is not None for write in upgrading.written)


@pytest.mark.rule("MHC C.2/stuck")
async def test_long_upgrade_is_reported_once_and_no_call_is_made_meanwhile(upgrading: Upgrading) -> None:
    await upgrading.start()
    await upgrading.rests()
    looks, patches = len(upgrading.questions), len(upgrading.patches)
    await upgrading.environment.fast_forward(upgrading.handle, 5 * HOUR)
    assert len(upgrading.questions) == looks
    await upgrading.environment.fast_forward(upgrading.handle, 7 * HOUR)
    await eventually(lambda: upgrading.warnings)
    state = await upgrading.rests()

    (warning,) = upgrading.warnings
    assert "takes longer than 6h" in warning.message
    assert {check.reference.name for check in warning.checks} == {"a", "b"}
    assert state.wakes_at is None
    assert "takes long" in state.details
    assert state.warned_at is not None
    assert len(upgrading.questions) <= looks + 2
    assert len(upgrading.patches) == patches


async def test_people_unpause_pause_and_have_it_forgotten_but_not_what_could_never_be_obeyed(
    upgrading: Upgrading,
) -> None:
    upgrading.create("theirs", is_paused=True)
    await upgrading.start()
    await upgrading.rests()
    for check, type_ in ((f"machines/{name}", type_) for name, type_ in NOT_TO_BE_UNPAUSED.items()):
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await upgrading.handle.execute_update(UpgradePause.unpause, UnpauseOrder(check=check))
        assert getattr(refused.value.cause, "type", None) == type_
    order = UnpauseOrder(check="machines/a", reason="it is broken", identity="ann")
    answer = await upgrading.handle.execute_update(UpgradePause.unpause, order)
    assert "it is broken" in answer
    await upgrading.becomes(a="M", b="PM", theirs="P")
    await upgrading.handle.execute_update(UpgradePause.pause, PauseOrder(check="machines/a"))
    await upgrading.becomes(a="PM", b="PM", theirs="P")
    upgrading.edit("b", is_paused=False, is_marked=False)
    await upgrading.wake()
    await upgrading.handle.execute_update(UpgradePause.forget, ForgetOrder(check="machines/b"))
    await upgrading.becomes(a="PM", b="PM", theirs="P")
    await ends(upgrading)
    result = await upgrading.result()

    assert [(record.order, record.identity) for record in result.orders] == [
        ("unpause", "ann"),
        ("pause", ""),
        ("forget", ""),
    ]
    assert upgrading.annotations() == {"a": "", "b": "", "theirs": "P"}


async def test_order_that_is_sent_again_is_obeyed_once_and_answered_as_before(upgrading: Upgrading) -> None:
    await upgrading.start()
    await upgrading.rests()
    order = UnpauseOrder(check="a", order_id="sent")
    answer = await upgrading.handle.execute_update(UpgradePause.unpause, order)
    await upgrading.becomes(a="M", b="PM")
    upgrading.edit("a", is_paused=True, is_marked=False)
    await upgrading.wake()
    await upgrading.rests()
    assert await upgrading.handle.execute_update(UpgradePause.unpause, order) == answer
    with pytest.raises(WorkflowUpdateFailedError):
        await upgrading.handle.execute_update(UpgradePause.unpause, UnpauseOrder(check="a", order_id="other"))
    await upgrading.becomes(a="P", b="PM")
    await ends(upgrading)
    assert [record.order_id for record in (await upgrading.result()).orders] == ["sent"]


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


async def test_person_pauses_a_check_for_a_time_while_no_upgrade_is_under_way(upgrading: Upgrading) -> None:
    upgrading.end()
    answer = await begun_by(upgrading, PauseOrder(check="a", reason="it reboots", for_seconds=3600))
    assert answer == "pauses MachineHealthCheck/machines/a: it reboots"
    await upgrading.becomes(a="PM", b="")
    assert (await upgrading.rests()).wakes_at is not None
    await upgrading.environment.fast_forward(upgrading.handle, HOUR)
    result = await upgrading.result()

    assert upgrading.annotations() == {"a": "", "b": ""}
    assert [order.check for order in result.orders] == ["MachineHealthCheck/machines/a"]


async def test_order_that_begins_a_pause_in_vain_is_refused_and_the_pause_ends(upgrading: Upgrading) -> None:
    upgrading.end()
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await begun_by(upgrading, PauseOrder(check="a"))
    result = await upgrading.result()

    assert getattr(refused.value.cause, "type", None) == NO_UPGRADE
    assert upgrading.patches == []
    assert "no upgrade is under way" in result.reason


async def test_order_waits_until_the_checks_could_be_read(upgrading: Upgrading) -> None:
    upgrading.end()
    upgrading.unread = "they have not been read yet"
    pausing = asyncio.create_task(begun_by(upgrading, PauseOrder(check="a", for_seconds=3600)))
    await eventually(lambda: upgrading.questions)
    await upgrading.rests()
    upgrading.unread = ""
    await upgrading.handle.signal(UpgradePause.wake)

    assert "machines/a" in await pausing
    await upgrading.becomes(a="PM", b="")


async def test_cancel_unpauses_and_pauses_nothing_more_in_this_upgrade(upgrading: Upgrading) -> None:
    await upgrading.start()
    await upgrading.rests()
    await upgrading.handle.cancel()
    await upgrading.becomes(a="M", b="M")
    upgrading.create("new")
    await upgrading.wake()
    await upgrading.rests()
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


@pytest.mark.rule("rule 34")
async def test_history_stays_small_over_twelve_hours_and_forty_edits_and_the_memory_lives_on(
    short_histories: WorkflowEnvironment,
) -> None:
    upgrading = Upgrading(short_histories)
    async with upgrading.detector(), upgrading.worker(max_cached_workflows=1):
        first = await upgrading.start()
        await upgrading.rests()
        order = UnpauseOrder(check="machines/a", reason="it is broken", identity="ann")
        await upgrading.handle.execute_update(UpgradePause.unpause, order)
        await upgrading.becomes(a="M", b="PM")
        upgrading.edit("a", is_paused=False, is_marked=False)
        for edit in range(EDITS):
            upgrading.edit("b", is_paused=bool(edit % 2), is_marked=True)
            await upgrading.wake()
            if not edit % EDITS_AT_ONCE:
                await upgrading.rests()
                await upgrading.passes(TWELVE_HOURS * EDITS_AT_ONCE / EDITS)
        state = await upgrading.rests()
        described = await upgrading.handle.describe()

        assert described.run_id != first.first_execution_run_id
        assert described.history_length < 100
        assert [(record.reason, record.identity) for record in state.orders] == [("it is broken", "ann")]
        assert upgrading.done("a") == [PAUSE, UNPAUSE_MARKED]
        assert upgrading.done("b") == [PAUSE]
        assert len(upgrading.warnings) == 1
        await ends(upgrading)
        result = await upgrading.result()
        await replay(*await upgrading.histories())

    assert upgrading.annotations() == {"a": "", "b": ""}
    assert result.ended - result.started >= TWELVE_HOURS


async def test_sender_of_a_malformed_order_reads_which_field_and_value_are_wrong(
    short_histories: WorkflowEnvironment,
) -> None:
    upgrading = Upgrading(short_histories)
    words = {}
    async with upgrading.detector(), upgrading.worker():
        await upgrading.start()
        for name, value in {"pause": {"for_seconds": -1}, "unpause": "now", "forget": {"chek": "a"}}.items():
            with pytest.raises(WorkflowUpdateFailedError) as refused:
                await upgrading.handle.execute_update(name, value)
            assert isinstance(refused.value.cause, ApplicationError)
            words[name] = refused.value.cause.message
        await upgrading.handle.terminate()
    assert words == {
        "pause": "for_seconds: must be more than 0 (found -1)",
        "unpause": "must be a mapping (found 'now')",
        "forget": "it has no field 'chek'; the fields are check, identity, reason",
    }


@pytest.mark.rule("rule 36")
async def test_memory_that_cannot_be_read_changes_nothing_and_the_next_run_gets_it_as_it_is(
    short_histories: WorkflowEnvironment,
) -> None:
    upgrading = Upgrading(short_histories)
    async with upgrading.detector(), upgrading.worker(max_cached_workflows=1):
        first = await upgrading.start(SPOILT)
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await upgrading.handle.execute_update(UpgradePause.pause, PauseOrder())
        await upgrading.handle.cancel()
        for _ in range(EDITS):
            await upgrading.wake()
        state = await upgrading.rests()
        later = (await upgrading.handle.describe()).run_id
        inputs = [history.events[0] for history in await upgrading.histories()]
        await upgrading.handle.terminate()

    command = f"`temporal workflow terminate --workflow-id {upgrading.workflow_id}`"
    assert f"the memory of the run before cannot be read. {command} ends this workflow" in state.details
    assert state.details.startswith("changes nothing; it was cancelled, and obeys once ")
    assert [(order.order, order.reason) for order in state.orders] == [
        (OrderName.UNPAUSE, "cancelled in Temporal")
    ]
    assert " The cause: it is damaged: " in state.unreadable
    assert getattr(refused.value.cause, "type", "") == MEMORY_UNREADABLE
    assert later != first.first_execution_run_id
    assert all(SPOILT.encode() in start.SerializeToString() for start in inputs)
    assert (upgrading.patches, upgrading.annotations()) == ([], {"a": "", "b": ""})
    assert upgrading.changes.progress.handled == frozenset()


async def test_run_that_can_read_the_memory_obeys_the_cancel_of_the_run_that_could_not(
    upgrading: Upgrading,
) -> None:
    upgrading.edit("a", is_paused=True, is_marked=True)
    await upgrading.start(packed(PauseMemory()), cancelled_at=upgrading.since)
    await upgrading.becomes(a="M", b="")
    await ends(upgrading)
    await upgrading.result()
    assert upgrading.annotations() == {"a": "", "b": ""}


async def test_pause_survives_a_worker_and_a_detector_that_are_away(
    time_skipping: WorkflowEnvironment,
) -> None:
    upgrading = Upgrading(time_skipping)
    async with upgrading.detector(), upgrading.worker():
        await upgrading.start()
        await upgrading.rests()
    upgrading.edit("a", is_paused=False, is_marked=False)
    await ends(upgrading)
    async with upgrading.worker():
        await upgrading.asks()
    async with upgrading.worker(), upgrading.detector():
        await upgrading.result()

    assert upgrading.done("a") == [PAUSE]
    assert upgrading.done("b") == [PAUSE, UNPAUSE]
