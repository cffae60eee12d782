"""Which workflows are looked at for code that fails.

tests/cli/test_failing_code.py covers Temporal's reports about them.
"""

from temporalio import workflow

from detector.metrics.failing_workflows import SERIES
from runtime.task_failures import EVERY_WORKFLOW
from worker.worker import WORKFLOWS


def test_every_workflow_of_the_worker_is_looked_at_and_has_a_series() -> None:
    definitions = [workflow._Definition.must_from_class(one) for one in WORKFLOWS]  # noqa: SLF001  no other way
    assert {definition.name for definition in definitions} == {*EVERY_WORKFLOW} == {*SERIES}
