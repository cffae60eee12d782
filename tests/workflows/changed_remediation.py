"""The workflow after a possible change: one more timer before an act, unguarded and guarded.

`GuardedChange` shows the right way: an incident that began before the change continues without it.
"""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from health.model.incident_result import IncidentResult
    from workflows.calls import AdmittedStep
    from workflows.messages import WORKFLOW, RemediationInput

from workflows.remediation import Remediation

PAUSE = timedelta(seconds=1)


@workflow.defn(name=WORKFLOW)
class UnguardedChange(Remediation):
    @workflow.init
    def __init__(self, start: RemediationInput) -> None:
        super().__init__(start)

    @workflow.run
    async def run(self, start: RemediationInput) -> IncidentResult:
        return await super().run(start)

    async def _act(self, step: AdmittedStep) -> None:
        await workflow.sleep(PAUSE)
        await super()._act(step)


@workflow.defn(name=WORKFLOW)
class GuardedChange(Remediation):
    @workflow.init
    def __init__(self, start: RemediationInput) -> None:
        super().__init__(start)

    @workflow.run
    async def run(self, start: RemediationInput) -> IncidentResult:
        return await super().run(start)

    async def _act(self, step: AdmittedStep) -> None:
        if workflow.patched("pause-before-act"):
            await workflow.sleep(PAUSE)
        await super()._act(step)
