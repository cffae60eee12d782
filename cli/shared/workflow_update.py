"""Sends an order as a workflow update; returns the answer, or raises an error with one sentence."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta

from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError, RPCStatusCode

from cli.shared.errors import CommandError, NotFoundError, UsageError, is_interrupted, print_error
from health.model.order import Refusal
from runtime.payload_codec import UnreadablePayload
from workflows.orders import refusal_in

ORDER_RPC_TIMEOUT = timedelta(seconds=5)
ANSWER_TIMEOUT = timedelta(seconds=20)
"""The limit for the whole order: for an accepted update the SDK waits without a limit, even if the worker
dies."""


async def answered(
    workflow_id: str, order: str, updating: Awaitable[str], within: timedelta = ANSWER_TIMEOUT
) -> str:
    """The workflow's answer to the order.

    Raises:
        CommandError: the workflow refuses or has ended, or its answer cannot be read.
        WorkflowUpdateRPCTimeoutOrCancelledError: no worker answered in time.
        CancelledError: the person interrupted the command, which does not mean that no worker answers.
        RPCError: Temporal refuses.

    """
    try:
        async with asyncio.timeout(within.total_seconds()):
            return await updating
    except (WorkflowUpdateRPCTimeoutOrCancelledError, TimeoutError) as error:
        if is_interrupted():
            print_error(f"interrupted: {workflow_id} may have got {order} already")
            raise asyncio.CancelledError from error
        raise WorkflowUpdateRPCTimeoutOrCancelledError from error
    except UnreadablePayload as error:
        raise UsageError(f"{workflow_id} got {order}, and its answer cannot be read: {error}") from error
    except WorkflowUpdateFailedError as error:
        raise refused(workflow_id, order, refusal_in(error.cause)) from error
    except RPCError as error:
        raise ended(workflow_id, error) from error


def ended(workflow_id: str, error: RPCError) -> Exception:
    """The error for a person: a workflow that Temporal no longer finds existed a moment ago."""
    if error.status is RPCStatusCode.NOT_FOUND:
        return has_ended(workflow_id)
    return error


def has_ended(workflow_id: str) -> NotFoundError:
    return NotFoundError(f"{workflow_id} has ended meanwhile, and a later one does not get the order")


def refused(workflow_id: str, order: str, refusal: Refusal) -> CommandError:
    """The error for a refused order; it names the option that was refused, if it was one."""
    why = f"--{refusal.field}: {refusal.why}" if refusal.field else refusal.why
    return CommandError(f"{workflow_id} refuses {order}: {why}")
