"""What a workflow answers to an order that is sent as an update, or one sentence on why it does not obey."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta

from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from cli.errors import CommandError, NotFoundError, UsageError, is_interrupted, say
from runtime.payload_codec import UnreadablePayload
from runtime.retrying import one_sentence
from workflows.messages import UNKNOWN_STEP

RPC_TIMEOUT = timedelta(seconds=5)
ANSWER_TIMEOUT = timedelta(seconds=20)
"""For the whole of an order: for an update that was accepted the SDK waits without a limit, also where its
worker died meanwhile."""


async def answered(
    workflow_id: str, order: str, updating: Awaitable[str], within: timedelta = ANSWER_TIMEOUT
) -> str:
    """The answer to the order of this name.

    Raises:
        CommandError: the workflow refuses, has ended, or what it answers is not for us to read.
        WorkflowUpdateRPCTimeoutOrCancelledError: no worker answered in time.
        CancelledError: the person gave up, which must not be taken for a worker that does not answer.
        RPCError: Temporal refuses.

    """
    try:
        async with asyncio.timeout(within.total_seconds()):
            return await updating
    except (WorkflowUpdateRPCTimeoutOrCancelledError, TimeoutError) as error:
        if is_interrupted():
            say(f"interrupted: {workflow_id} may have got {order} already")
            raise asyncio.CancelledError from error
        raise WorkflowUpdateRPCTimeoutOrCancelledError from error
    except UnreadablePayload as error:
        raise UsageError(f"{workflow_id} got {order}, and its answer cannot be read: {error}") from error
    except WorkflowUpdateFailedError as error:
        raise CommandError(f"{workflow_id} refuses {order}: {_reason(error)}") from error
    except RPCError as error:
        raise ended(workflow_id, error) from error


def ended(workflow_id: str, error: RPCError) -> Exception:
    """The error that a person is told: a workflow that Temporal does not find was found a moment ago."""
    if error.status is RPCStatusCode.NOT_FOUND:
        return NotFoundError(f"{workflow_id} has ended meanwhile")
    return error


def _reason(error: WorkflowUpdateFailedError) -> str:
    """Why it refuses, with the option that is refused."""
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return one_sentence(cause)
    return f"--step: {cause.message}" if cause.type == UNKNOWN_STEP else cause.message
