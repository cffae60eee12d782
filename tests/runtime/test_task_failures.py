"""Which workflows are looked at for code that fails.

tests/cli/test_failing_code.py covers Temporal's reports about them.
"""

from temporalio import workflow

from runtime.task_failures import EVERY_WORKFLOW
from worker.worker import WORKFLOWS


def test_every_workflow_of_the_worker_is_looked_at() -> None:
    definitions = map(workflow._Definition.must_from_class, WORKFLOWS)  # noqa: SLF001  no other way
    assert {definition.name for definition in definitions} == {*EVERY_WORKFLOW}
