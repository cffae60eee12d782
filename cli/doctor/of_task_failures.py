"""Findings of incidents whose own code fails: how many, the first of them with why, and what to do."""

from collections.abc import Sequence
from datetime import timedelta

from temporalio.client import Client

from cli.doctor.finding import Finding, problem
from cli.task_failure import read_task_failure
from runtime import task_failures

RPC_TIMEOUT = timedelta(seconds=10)
NAMED = 3
"""How many are told by their workflow id."""
ADVICE = (
    "roll the worker back, or forward to one that goes on with them; until then nothing is done for these "
    "targets, and nothing is lost"
)


async def task_failure_findings(client: Client, clusters: Sequence[str]) -> list[Finding]:
    """What is wrong with the code of the incidents of these clusters, as far as Temporal reports that.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    if not await task_failures.are_reported(client, RPC_TIMEOUT):
        return []
    query = task_failures.failing(clusters)
    count = (await client.count_workflows(query, rpc_timeout=RPC_TIMEOUT)).count
    listed = client.list_workflows(query, limit=NAMED, rpc_timeout=RPC_TIMEOUT)
    named = [await _told(client, execution.id, execution.run_id) async for execution in listed]
    if not named:
        return []
    more = f"; and {count - len(named)} more" if count > len(named) else ""
    of = "1 incident" if count <= 1 else f"{count} incidents"
    return [problem("CodeFails", f"the code of {of} fails: {'; '.join(named)}{more}", ADVICE)]


async def _told(client: Client, workflow_id: str, run_id: str) -> str:
    failure = await read_task_failure(client, workflow_id, run_id, RPC_TIMEOUT)
    return f"{workflow_id} ({failure})" if failure else workflow_id
