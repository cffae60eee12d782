"""Finds upgrade pauses and queries their state.

Temporal's lists may be a second late. Each function that lists raises RPCError if Temporal cannot be asked.
"""

import dataclasses
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from pydantic import ValidationError
from temporalio.client import Client, WorkflowFailureError, WorkflowQueryFailedError
from temporalio.service import RPCError

from cli.incidents.state_queries import (
    NO_ANSWER,
    NO_WORKER,
    OTHER_VERSION,
    QUERY_TIMEOUT,
    query_state,
    task_failure_words,
)
from cli.shared.connection import RPC_TIMEOUT
from cli.shared.errors import NotFoundError
from cli.shared.parameters import is_cluster_called
from cli.shared.terminal import error_sentence, plain
from cli.upgrade.summary import UpgradeSummary
from runtime.payload_codec import UnreadablePayload
from workflows.upgrade_contracts import (
    UPGRADE_PAUSE,
    UpgradePauseResult,
    UpgradePauseState,
    upgrade_pause_id,
)

_OF_TYPE = f"WorkflowType = '{UPGRADE_PAUSE}'"


async def open_upgrades(client: Client, cluster: str) -> list[UpgradeSummary]:
    """The open upgrade pauses of a cluster, or of all."""
    query = f"{_OF_TYPE} AND ExecutionStatus = 'Running'"
    summaries = [
        summary async for summary in _list(client, query) if is_cluster_called(cluster, summary.cluster)
    ]
    return sorted(summaries, key=lambda summary: summary.cluster)


async def last_upgrades(client: Client, cluster: str) -> list[UpgradeSummary]:
    """The last closed upgrade pause of each cluster."""
    query = f"{_OF_TYPE} AND ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"
    newest: dict[str, UpgradeSummary] = {}
    async for summary in _list(client, query):
        if not is_cluster_called(cluster, summary.cluster):
            continue
        latest = newest.setdefault(summary.cluster, summary)
        if latest.started < summary.started:
            newest[summary.cluster] = summary
    return [newest[name] for name in sorted(newest)]


async def find_one(client: Client, cluster: str) -> UpgradeSummary | None:
    """The open upgrade pause; None if there is none.

    Raises:
        NotFoundError: there is more than one.

    """
    found = await open_upgrades(client, cluster)
    if len(found) > 1:
        clusters = ", ".join(summary.cluster for summary in found)
        raise NotFoundError(f"several clusters are upgraded, say which with --cluster: {clusters}")
    return found[0] if found else None


async def with_state(client: Client, summary: UpgradeSummary) -> UpgradeSummary:
    """The summary with its present or last state; if that is unknown, `problem` says why."""
    handle = client.get_workflow_handle(summary.workflow_id, run_id=summary.run_id)
    state: UpgradePauseState | None = None
    try:
        if summary.is_open:
            state = await query_state(handle, UpgradePauseState)
        elif summary.status == "Completed":
            ended = client.get_workflow_handle(
                handle.id, run_id=handle.run_id, result_type=UpgradePauseResult
            )
            result = await ended.result(follow_runs=False, rpc_timeout=QUERY_TIMEOUT)
            state = UpgradePauseState(details=result.reason, memory=result.memory)
    except (WorkflowQueryFailedError, WorkflowFailureError) as error:
        return dataclasses.replace(summary, problem=error_sentence(error))
    except UnreadablePayload as error:
        return dataclasses.replace(summary, problem=plain(str(error)), is_unreadable=True)
    except ValidationError:
        return dataclasses.replace(summary, problem=OTHER_VERSION)
    except RPCError as error:
        problem = error_sentence(error)
        if error.status in NO_ANSWER:
            problem = await task_failure_words(client, summary.workflow_id, summary.run_id) or NO_WORKER
        return dataclasses.replace(summary, problem=problem)
    return dataclasses.replace(summary, state=state)


async def _list(client: Client, query: str) -> AsyncIterator[UpgradeSummary]:
    async for execution in client.list_workflows(query, rpc_timeout=RPC_TIMEOUT):
        if not execution.id.isprintable():  # our ids are printable, others could control the terminal
            continue
        closed = execution.close_time
        yield UpgradeSummary(
            cluster=execution.id.removeprefix(upgrade_pause_id("")),
            workflow_id=execution.id,
            run_id=execution.run_id,
            status=execution.status.name.title().replace("_", "") if execution.status else "Unknown",
            started=execution.start_time.astimezone(UTC),
            closed=closed.astimezone(UTC) if isinstance(closed, datetime) else None,
        )
