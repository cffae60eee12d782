"""Companions: workflows that a workflow starts and does not wait for, so nothing that they do delays it."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from temporalio import workflow
from temporalio.common import TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from objects.brief import Brief
    from objects.frozen import Frozen
    from workflows.kit.summaries import in_summary


@dataclass(frozen=True, kw_only=True)
class Companion:
    """A workflow that this one starts and does not wait for; it goes on when this one ends."""

    workflow: str
    argument: Frozen
    workflow_id: str
    """Starts nothing if a workflow of this id exists, open or closed."""
    summary: str | Brief
    search_attributes: TypedSearchAttributes

    async def start(self, obey_cancel: Callable[[], None]) -> None:
        """Return when it has started, also after a cancel: Temporal would not start it after our end."""
        starting = asyncio.ensure_future(self._start())
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            obey_cancel()
            await starting

    async def _start(self) -> None:
        with contextlib.suppress(WorkflowAlreadyStartedError):
            await workflow.start_child_workflow(
                self.workflow,
                self.argument,
                id=self.workflow_id,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                search_attributes=self.search_attributes,
                static_summary=in_summary(self.summary),
            )
