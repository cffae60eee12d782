"""How an order that is sent as an update ends where no answer comes, or a refusal."""

import asyncio
from datetime import timedelta

import pytest
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError

from cli.shared.errors import CommandError
from cli.shared.workflow_update import answered
from health.upgrade.decision import PauseRefusal
from workflows.messages import ORDER_REFUSED


async def _unanswered() -> str:
    """Waits as the SDK does; a cancelled wait looks as if no worker had answered."""
    try:
        return await asyncio.Future[str]()
    except asyncio.CancelledError as error:
        raise WorkflowUpdateRPCTimeoutOrCancelledError from error


async def test_order_whose_person_gave_up_is_not_taken_for_one_that_no_worker_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    order = asyncio.create_task(answered("remediation/1", "abort", _unanswered()))
    await asyncio.sleep(0)
    order.cancel()
    with pytest.raises(asyncio.CancelledError):
        await order
    assert capsys.readouterr().err == "paramedic: interrupted: remediation/1 may have got abort already\n"


@pytest.mark.parametrize("waits", [_unanswered, asyncio.Future[str]])
async def test_order_that_is_accepted_and_never_carried_out_is_not_waited_for_without_limit(
    waits: type[asyncio.Future[str]],
) -> None:
    with pytest.raises(WorkflowUpdateRPCTimeoutOrCancelledError):
        await answered("remediation/1", "abort", waits(), within=timedelta(milliseconds=1))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ApplicationError("no", type=PauseRefusal.NOT_OURS), "upgrade/prod refuses it: no"),
        (ApplicationError("no", "", type=ORDER_REFUSED), "upgrade/prod refuses it: no"),
        (ApplicationError("no", "step", type=ORDER_REFUSED), "upgrade/prod refuses it: --step: no"),
    ],
)
async def test_refusal_is_reported_in_the_words_of_the_workflow_with_the_option_that_is_refused(
    error: ApplicationError, said: str
) -> None:
    async def refused() -> str:
        raise WorkflowUpdateFailedError(error)

    with pytest.raises(CommandError) as told:
        await answered("upgrade/prod", "it", refused())
    assert str(told.value) == said
