"""`python -m tests.workflows.worker_in_the_middle ADDRESS NAMESPACE CLUSTER`: a worker to kill.

It says `acting` when it is in the middle of an act, and stays there.
"""

import asyncio
import sys
from datetime import UTC, datetime

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.workflows.fake_cluster import FakeCluster
from worker.worker import STICKY
from workflows.contracts import ACT, worker_queue
from workflows.remediation import Remediation


async def main(address: str, namespace: str, cluster_name: str) -> None:
    client = await Client.connect(address, namespace=namespace, data_converter=pydantic_data_converter)
    cluster = FakeCluster(_wall_clock)
    cluster.gates[ACT.name].close()
    async with Worker(
        client,
        task_queue=worker_queue(cluster_name),
        workflows=[Remediation],
        activities=cluster.worker,
        workflow_runner=UnsandboxedWorkflowRunner(),
        sticky_queue_schedule_to_start_timeout=STICKY,
    ):
        await cluster.gates[ACT.name].entered.wait()
        sys.stdout.write("acting\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def _wall_clock() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
