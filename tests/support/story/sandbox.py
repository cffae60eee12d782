"""The sandbox in which tests run workflows: it raises an error where a workflow is not deterministic.

The worker itself runs without it (ADR 15).
"""

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions


def workflow_runner() -> SandboxedWorkflowRunner:
    """The sandbox; values pass through, so that they keep their types."""
    restrictions = SandboxRestrictions.default.with_passthrough_modules("health", "pydantic")
    return SandboxedWorkflowRunner(restrictions=restrictions)
