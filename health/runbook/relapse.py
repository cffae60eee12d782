"""Relapse: a failure that comes back soon after a remediation (rule 64). Pure.

With `paramedic.dev/relapse` a failure within that time goes on with the step after those that the earlier
remediation took; a relapse of a relapse with the step after that one. A step counts as taken if the check
still lists its template. An order of a person is no failure, and begins with the first step.

Without it, remediations that take the first step alone are counted, and said from the third one on.
"""

from datetime import timedelta

from health.check.ordered import is_by_order
from health.model.ended_remediation import IN_A_ROW
from health.model.observation import Observation
from health.runbook.state import Memory


def with_relapse(memory: Memory, observation: Observation) -> Memory:
    """The memory with the steps that count as taken, until the first step; the check may change till then.

    An earlier remediation that ended too long ago is forgotten.
    """
    earlier, fact = memory.earlier, observation.fact
    if earlier is None or fact is None or not observation.is_unhealthy or not memory.is_before_the_first_step:
        return memory
    relapse = timedelta(seconds=observation.relapse_seconds)
    if is_by_order(fact):
        return memory.model_copy(update={"relapsed": ()})
    if not earlier.is_within(max(IN_A_ROW, relapse), fact.since):
        return memory.model_copy(update={"earlier": None, "relapsed": ()})
    is_relapse = bool(relapse) and earlier.is_within(relapse, fact.since)
    return memory.model_copy(update={"relapsed": earlier.taken if is_relapse else ()})
