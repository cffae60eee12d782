"""Runs: which workflow this is, and how it hands what it remembers from run to run.

Rule: continue-as-new comes where nothing is under way, right before the workflow rests; the next run begins
with what this one remembers. Its input says which run it continues: a copy that a person makes of it in the
Temporal UI continues none, and begins with an empty memory.

Rule: one workflow for each subject. The id of a workflow names its subject, and Temporal keeps ids unique. A
workflow under another id (a copy that a person gave a new id) fails in its first task, before any effect.
"""

from typing import NoReturn

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from objects.frozen import Frozen


WRONG_ID = "WrongWorkflowId"
"""The type of the failure of a workflow that has not the id of its subject."""


class RunInput(Frozen):
    """The input of a workflow that is carried on in new runs; a subclass adds its key and its memory."""

    continues: str = ""
    """The run that hands over; "" for the first one."""

    def is_handed_over(self) -> bool:
        """Whether the run before handed this over, and no copy of it was made."""
        return self.continues == (workflow.info().continued_run_id or "")


def refuse_other_id(expected: str) -> None:
    """Fail this workflow for good if its id is not that of its subject.

    Raises:
        ApplicationError: it has another id.

    """
    own = workflow.info().workflow_id
    if own != expected:
        message = f"nothing was done: the workflow of this subject is {expected}, and this one is {own}"
        raise ApplicationError(message, type=WRONG_ID, non_retryable=True)


def is_new_run_due() -> bool:
    """Whether the history has grown so long that the server wants a new run."""
    return workflow.info().is_continue_as_new_suggested()


def begin_a_new_run(handed_over: RunInput) -> NoReturn:
    """End this run; the next one begins with `handed_over`, which says that it continues this one."""
    continued = handed_over.model_copy(update={"continues": workflow.info().run_id})
    workflow.continue_as_new(continued)
