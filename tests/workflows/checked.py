"""Runs an incident of a test and then checks what must hold for all incidents."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio.client import WorkflowExecutionStatus
from temporalio.worker import Replayer

from objects.short_text import LONGEST_LINE
from tests.support.story.incident import IncidentDriver
from tests.support.story.runs import summaries_of
from tests.workflows.violations import violations


@asynccontextmanager
async def checked(driver: IncidentDriver, replayer: Replayer) -> AsyncIterator[IncidentDriver]:
    """Terminates the incident if it is still open, replays its histories, and checks its log."""
    yield driver
    histories = await driver.histories()
    has_ended = bool(histories) and (await driver.status()) is WorkflowExecutionStatus.COMPLETED
    if histories and not has_ended:
        await driver.handle.terminate()
    for history in histories:
        await replayer.replay_workflow(history)
        assert [one for one in summaries_of(history) if not 0 < len(one) <= LONGEST_LINE] == []
    assert violations(driver.cluster) == []
    assert not has_ended or (not driver.cluster.requests and not driver.cluster.is_leased)
