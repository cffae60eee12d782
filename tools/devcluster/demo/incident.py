"""Reads the state of an incident from Temporal, and polls for facts on behalf of the scenarios.

A failed call counts as "not yet": servers of a new devcluster may not answer yet. The caller limits the wait.
Functions that call Temporal raise RPCError, and `state` also WorkflowQueryFailedError.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar
from urllib.parse import quote

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError

from devcluster.demo.dev_description import DevDescription
from devcluster.demo.facts import MachineSeen, NodeSeen, Run
from devcluster.demo.fixtures import CHECK, CHECKS, NAMESPACE
from devcluster.errors import DemoFailedError
from devcluster.simulation.resources import MACHINES, NODE_HEALTH_CHECKS
from health.model.incident_result import IncidentResult
from health.model.references import CheckReference, IncidentReference, TargetReference
from kube.errors import KubernetesError
from kube.resource import NODES
from workflows.messages import State

T = TypeVar("T")
INTERVAL = timedelta(milliseconds=200)
LOG = logging.getLogger(__name__)


async def seen(look: Callable[[], Awaitable[T | None]]) -> T:
    """Poll `look` until it returns a value; the value."""
    while (view := await _look(look)) is None:  # noqa: ASYNC110  the change comes from other processes
        await asyncio.sleep(INTERVAL.total_seconds())
    return view


async def _look(look: Callable[[], Awaitable[T | None]]) -> T | None:
    try:
        return await look()
    except (KubernetesError, RPCError, WorkflowQueryFailedError) as error:
        LOG.debug("looking again: %s", error)
        return None


def workflow_id(cluster: str, target: NodeSeen | MachineSeen, check_of_nodes: str = CHECK) -> str:
    """The id of the workflow that the detector starts for that Node or Machine."""
    check = CheckReference(kind=NODE_HEALTH_CHECKS.kind, name=check_of_nodes)
    reference = TargetReference(kind=NODES.kind, name=target.name, uid=target.uid)
    if isinstance(target, MachineSeen):
        place = {"group": target.group, "namespace": NAMESPACE}
        check = CheckReference(kind=CHECKS.kind, name=CHECK, **place)
        reference = TargetReference(kind=MACHINES.kind, name=target.name, uid=target.uid, **place)
    return IncidentReference(cluster=cluster, check=check, target=reference).workflow_id


def page(dev: DevDescription, run: Run) -> str:
    """The address of that workflow in the Temporal UI."""
    workflow = quote(run.workflow_id, safe="")
    return f"{dev.temporal_ui}/namespaces/{dev.temporal_namespace}/workflows/{workflow}/{run.run_id}/history"


async def started(temporal: Client, id_: str, since: datetime) -> Run | None:
    """The run that began after `since`; None if there is none."""
    description = await temporal.get_workflow_handle(id_).describe()
    return Run(description.id, description.run_id) if description.start_time >= since else None


async def state(temporal: Client, run: Run) -> State:
    """The workflow's answer to the query `state`; it needs a worker."""
    found: State = await _handle(temporal, run).query("state", result_type=State)
    return found


async def outcome(temporal: Client, run: Run) -> str | None:
    """The outcome of the workflow, None while it is open; raises DemoFailedError if it did not complete."""
    handle = _handle(temporal, run)
    status = (await handle.describe()).status
    if status is None or status is WorkflowExecutionStatus.RUNNING:
        return None
    if status is not WorkflowExecutionStatus.COMPLETED:
        raise DemoFailedError(f"The workflow {run.workflow_id} did not complete, it is {status.name}.")
    result: IncidentResult = await handle.result()
    return result.outcome


def _handle(temporal: Client, run: Run) -> WorkflowHandle[object, IncidentResult]:
    return temporal.get_workflow_handle(run.workflow_id, run_id=run.run_id, result_type=IncidentResult)
