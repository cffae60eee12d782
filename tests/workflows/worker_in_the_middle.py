"""A worker for a test to kill; arguments: ADDRESS NAMESPACE CLUSTER.

It prints `acting` during an act, and stays in that act.
"""

import asyncio
import sys
from typing import NoReturn

from temporalio import activity
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from worker.worker import STICKY
from workflows.contracts import ACT, ActInput, ActResult, worker_queue
from workflows.remediation import Remediation


def run() -> NoReturn:
    asyncio.run(_work(*sys.argv[1:]))
    raise AssertionError


async def _work(address: str, namespace: str, cluster_name: str) -> None:
    client = await Client.connect(address, namespace=namespace, data_converter=pydantic_data_converter)
    async with Worker(
        client,
        task_queue=worker_queue(cluster_name),
        workflows=[Remediation],
        activities=[act],
        workflow_runner=UnsandboxedWorkflowRunner(),
        sticky_queue_schedule_to_start_timeout=STICKY,
    ):
        await asyncio.Event().wait()


@activity.defn(name=ACT.name)
async def act(asked: ActInput) -> ActResult:  # noqa: ARG001  it never comes to that
    sys.stdout.write("acting\n")
    sys.stdout.flush()
    await asyncio.Event().wait()
    raise AssertionError
