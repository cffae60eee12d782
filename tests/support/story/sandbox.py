"""The sandbox in which tests run workflows: it raises an error where a workflow is not deterministic.

The worker itself runs without it (ADR 15).
"""

from temporalio import workflow
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

_VALIDATED: set[type] = set()


class _ValidatesOnce(SandboxedWorkflowRunner):
    """Validates a workflow for the first worker or replayer of the process, which takes as long as a run."""

    def prepare_workflow(self, defn: workflow._Definition) -> None:
        if defn.cls not in _VALIDATED:
            super().prepare_workflow(defn)
            _VALIDATED.add(defn.cls)


def workflow_runner() -> SandboxedWorkflowRunner:
    """The sandbox; values pass through, so that they keep their types.

    `workflows.calls` is named because a module that is imported from its package does not pass through
    by `imports_passed_through`.
    """
    passed = ("health", "pydantic", "workflows.calls")
    return _ValidatesOnce(restrictions=SandboxRestrictions.default.with_passthrough_modules(*passed))
