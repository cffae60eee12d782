"""Runs: the identity of a workflow, and how its memory passes from run to run.

Rule: continue-as-new happens while no call is in progress, right before the workflow rests; the next run
begins with the memory of this one. Its input names the run that it continues: a copy made in the Temporal UI
continues no run, and begins with an empty memory.

Rule: one workflow for each subject. The id of a workflow names its subject, and Temporal keeps ids unique. A
workflow under another id (a copy with a new id) fails in its first task, before any effect.
"""

from typing import NoReturn

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from objects.frozen import Frozen


WRONG_ID = "WrongWorkflowId"
"""The type of the failure of a workflow whose id does not match its subject."""


class RunInput(Frozen):
    """The input of a workflow that continues in new runs; a subclass adds its key and its memory."""

    continues: str = ""
    """The previous run; "" for the first one."""

    def is_handed_over(self) -> bool:
        """True if the previous run created this input, and it is not a copy."""
        return self.continues == (workflow.info().continued_run_id or "")


def refuse_other_id(expected: str) -> None:
    """Fail this workflow permanently if its id does not match its subject.

    Raises:
        ApplicationError: it has another id.

    """
    own = workflow.info().workflow_id
    if own != expected:
        message = f"nothing was done: the workflow of this subject is {expected}, and this one is {own}"
        raise ApplicationError(message, type=WRONG_ID, non_retryable=True)


def is_new_run_due() -> bool:
    """True if the server suggests a new run because of the length of the history."""
    return workflow.info().is_continue_as_new_suggested()


def begin_a_new_run(handed_over: RunInput) -> NoReturn:
    """End this run; the next one begins with `handed_over`, marked as its continuation."""
    continued = handed_over.model_copy(update={"continues": workflow.info().run_id})
    workflow.continue_as_new(continued)
